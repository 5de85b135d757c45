"""Values to bytes and back: within limits, and never more than data."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast import DecodeError, PayloadTooLarge
from holdfast.core.codec import JSON, MAX_PAYLOAD_BYTES, check_size, decoded, encoded

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.floats(allow_nan=False, allow_infinity=False)
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)


class Sale(msgspec.Struct):
    item: str
    price: int


@dataclass
class Guild:
    name: str
    founded: datetime


@given(VALUES)
def test_a_json_value_comes_back_as_it_was(value: Any) -> None:
    assert decoded(JSON, encoded(JSON, value, "it"), Any, "it") == value


@pytest.mark.parametrize(
    "value",
    [
        Sale("itemX", 97),
        Guild("north", datetime(2030, 1, 1, tzinfo=UTC)),
        b"\x00\xff",
        {1, 2},
        (1, "a"),
        datetime(2030, 1, 1, tzinfo=UTC),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_typed_value_comes_back_as_its_type(value: Any) -> None:
    assert decoded(JSON, encoded(JSON, value, "it"), type(value), "it") == value


def test_the_limit_is_of_what_is_stored() -> None:
    fits = "x" * (MAX_PAYLOAD_BYTES - 2)  # and two quotes
    assert len(encoded(JSON, fits, "it")) == MAX_PAYLOAD_BYTES
    with pytest.raises(
        PayloadTooLarge, match=r"^task 'mail' takes 1,048,577 bytes, the limit is 1,048,576; store"
    ) as caught:
        encoded(JSON, fits + "x", "task 'mail'")
    assert (caught.value.size, caught.value.limit) == (MAX_PAYLOAD_BYTES + 1, MAX_PAYLOAD_BYTES)


def test_bytes_have_the_same_limit() -> None:
    check_size(bytes(MAX_PAYLOAD_BYTES), "it")
    with pytest.raises(PayloadTooLarge, match="it takes"):
        check_size(bytes(MAX_PAYLOAD_BYTES + 1), "it")


def cycle() -> list[Any]:
    """Return a list that contains itself."""
    cyclic: list[Any] = []
    cyclic.append(cyclic)
    return cyclic


@pytest.mark.parametrize(
    "value",
    [object(), lambda: 1, open, {object(): 1}, 1j, 10**5000, "\ud800", cycle()],
    ids=["object", "lambda", "function", "key", "complex", "endless", "surrogate", "cycle"],
)
def test_what_is_no_json_is_a_type_error(value: Any) -> None:
    with pytest.raises(TypeError, match=r"^task 'mail' cannot be stored: "):
        encoded(JSON, [value], "task 'mail'")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_lacks_is_not_changed_silently(value: float) -> None:
    """Refused, or stored so that it comes back: never another value."""
    try:
        data = encoded(JSON, [value], "it")
    except TypeError:
        return
    assert repr(decoded(JSON, data, Any, "it")) == repr([value])


@pytest.mark.parametrize(
    ("data", "into"),
    [
        (b"", Any),
        (b"{", Any),
        (b"nonsense", Any),
        (b"[1] [2]", Any),
        (b"\xff\xfe", Any),
        (b'"\xff"', str),
        (b'"\\ud800"', str),
        (b"[" * 500_000 + b"]" * 500_000, Any),
        (b'{"a":' * 150_000 + b"1" + b"}" * 150_000, Any),
        (b"1" * 10_000, int),
        (b"1e999", float),
        (b'{"item": "x"}', Sale),
        (b'{"item": "x", "price": "97"}', Sale),
        (b"[]", Sale),
        (b"NaN", Any),
        (b"\x80\x04\x95\x00.", Any),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_what_is_not_the_value_is_a_decode_error(data: bytes, into: Any) -> None:
    """Cut off, of another shape, or built to blow up: the reader goes on living."""
    with pytest.raises(DecodeError, match=r"^result of 'x' cannot be decoded: .") as caught:
        decoded(JSON, data, into, "result of 'x'")
    assert len(str(caught.value)) < 1000


def test_what_is_too_large_is_not_even_looked_at() -> None:
    with pytest.raises(DecodeError, match="1,048,577 bytes, the limit is 1,048,576"):
        decoded(JSON, b" " * MAX_PAYLOAD_BYTES + b"1", Any, "it")


@given(st.binary(max_size=200), st.sampled_from([Any, int, str, dict[str, int], Sale, datetime]))
def test_any_bytes_are_a_value_or_a_decode_error(data: bytes, into: Any) -> None:
    try:
        decoded(JSON, data, into, "it")
    except DecodeError:
        return
