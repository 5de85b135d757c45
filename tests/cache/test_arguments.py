"""Keys from arguments: equal calls have equal keys, and different calls have different ones."""

import enum
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.cache.arguments import MAX_DEPTH, NoCanonicalForm, canonical
from holdfast.cache.signature import CallSignature


@dataclass
class Point:
    x: int
    y: Any = 0


@dataclass
class Place:
    x: int
    y: Any = 0


class Struct(msgspec.Struct):
    x: int
    y: Any = 0


class Model(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    x: int
    y: Any = 0


class Pair(NamedTuple):
    x: int
    y: Any = 0


class Color(enum.Enum):
    RED = 1
    GREEN = 2


class Level(enum.IntEnum):
    LOW = 1


class Rights(enum.Flag):
    READ = 1
    WRITE = 2


class Safe(str):
    """A str of another class, with a text of its own."""

    __slots__ = ()

    def __str__(self) -> str:
        return "shown"


VALUES = [
    *(None, True, False, 0, 1, -1, 2**70, 0.0, -0.0, 1.0, 0.1, float("inf"), float("nan")),
    *("", "1", "null", "é", '"', "[1]", b"", b"1", "31"),
    *(
        [],
        [1],
        [1, 2],
        [2, 1],
        [[1], 2],
        [[1, 2]],
        (),
        (1,),
        (1, 2),
        {},
        {1: 2},
        {"1": 2},
        {1: "2"},
    ),
    *({1, 2}, {3}, frozenset({1, 2}), set(), frozenset()),
    *(date(2000, 1, 2), datetime(2000, 1, 2), datetime(2000, 1, 2, tzinfo=UTC)),  # noqa: DTZ001
    *(time(1), timedelta(1), timedelta(0, 1), timedelta(0, 0, 1), Decimal(1), Decimal("1.0")),
    *(UUID(int=1), PurePosixPath("1"), int, str, Point, Model),
    *(
        Point(1),
        Point(1, 2),
        Point(2, 1),
        Place(1),
        Struct(1),
        Model(x=1),
        Model(x=1, z=2),
        Pair(1),
    ),
    *(Color.RED, Color.GREEN, Level.LOW, Rights.READ, Rights.READ | Rights.WRITE, Rights(0)),
]


def test_different_values_have_different_texts() -> None:
    texts = [canonical(value) for value in VALUES]
    assert len(set(texts)) == len(texts)


def test_texts_are_json() -> None:
    for value in VALUES:
        msgspec.json.decode(canonical(value))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({1, 2, 3}, {3, 2, 1}),
        (Point(1, {"a", "b"}), Point(1, {"b", "a"})),
        (Model(x=1, y={"b": 1, "a": 2}), Model(y={"a": 2, "b": 1}, x=1)),
        (Safe("a"), "a"),
        ([Level.LOW], [Level(1)]),
    ],
)
def test_equal_values_have_equal_texts(one: Any, other: Any) -> None:
    assert canonical(one) == canonical(other)


scalars = st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False)
trees = st.recursive(
    scalars | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
)


def typed(value: Any) -> Any:
    """Return what distinguishes a value, with the types of all its parts."""
    if isinstance(value, list | tuple):
        return type(value), [typed(each) for each in value]
    if isinstance(value, dict):
        return dict, {key: typed(each) for key, each in value.items()}
    return type(value), repr(value)


@given(trees, trees)
def test_texts_are_equal_exactly_if_values_are(one: Any, other: Any) -> None:
    assert (canonical(one) == canonical(other)) == (typed(one) == typed(other))


def test_what_has_no_form_is_refused() -> None:
    deep: list[Any] = []
    for _ in range(MAX_DEPTH + 1):
        deep = [deep]
    for value in (object(), lambda: 1, (n for n in "a"), [object()], deep, OrderedDict(a=1)):
        with pytest.raises(NoCanonicalForm):
            canonical(value)


def signature(function: Any, **options: Any) -> CallSignature:
    given: Any = {"key": None, "ignore": (), "tags": (), "version": 1} | options
    return CallSignature(function, "shop.price", **given)


def price(item: str, /, unit: str = "kg", *others: int, at: Any = None, **more: int) -> int:
    return len(item)


def test_defaults_and_keywords_are_equal() -> None:
    text = signature(price).text
    assert text(("a",), {}) == text(("a", "kg"), {}) == text(("a",), {"unit": "kg", "at": None})
    assert text(("a", "kg"), {"x": 1, "y": 2}) == text(("a",), {"y": 2, "x": 1})
    texts = {
        text(("a",), {}),
        text(("b",), {}),
        text(("a", "lb"), {}),
        text(("a", "kg", 1), {}),
        text(("a", "kg", 1, 2), {}),
        text(("a",), {"at": 1}),
        text(("a",), {"x": 1}),
        text(("a",), {"x": 2}),
    }
    assert len(texts) == 8


def test_ignored_parameters_do_not_count() -> None:
    text = signature(price, ignore=["at"]).text
    assert text(("a",), {"at": object()}) == text(("a",), {})


def test_a_key_function_decides() -> None:
    text = signature(price, key=lambda item, **_: item.lower()).text
    assert text(("A",), {"at": object()}) == text(("a",), {}) == '1:"a"'
    assert text(("b",), {}) != text(("a",), {})


def test_long_arguments_are_digested() -> None:
    text = signature(price, version=3).text
    assert text(("a",), {}) == '3:["a","kg",{"tuple":[]},null,{"dict":[]}]'
    long = text(("a" * 1000,), {})
    assert long.startswith("3:#")
    assert len(long) < 40
    assert long != text(("a" * 1001,), {})


def test_errors_name_the_parameter() -> None:
    with pytest.raises(TypeError, match=r"parameter 'at' of shop.price cannot .* a object has no"):
        signature(price).text(("a",), {"at": object()})
    with pytest.raises(TypeError, match=r"shop.price: missing a required argument: 'item'"):
        signature(price).text((), {})
    with pytest.raises(TypeError, match=r"the result of key of shop.price"):
        signature(price, key=lambda *_: object()).text(("a",), {})
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(TypeError, match="deeper than 64 levels"):
        signature(price).text(("a",), {"at": loop})
    with pytest.raises(TypeError, match="not valid Unicode at position 1"):
        signature(price).text(("a\ud800",), {})


def test_classes_of_one_name_are_kept_apart() -> None:
    def local() -> type:
        class Point:
            pass

        return Point

    assert canonical(local()) != canonical(Point)
