"""Numbers: arguments of calls, and values read from the server."""

from enum import Enum, IntEnum
from typing import Any

import pytest

from holdfast import DamagedData, DecodeError
from holdfast.core.attempt import Attempt, value
from holdfast.core.checks import checked_int
from holdfast.core.names import Namespace
from holdfast.core.stored import MAX_EXACT, stored_int, stored_score, stored_text
from holdfast.core.transport.outcome import Damaged, ErrorReply, Refused, outcome_of_all
from holdfast.core.transport.request import CallKind

# Whole numbers as users give them


@pytest.mark.parametrize("value", [1, 500, 1_000])
def test_a_whole_number_in_range_is_taken_as_it_is(value: int) -> None:
    assert checked_int(value, "limit", 1, 1_000) == value


class Few(IntEnum):
    THREE = 3


class Some(int, Enum):
    THREE = 3


@pytest.mark.parametrize("value", [Few.THREE, Some.THREE])
def test_a_number_of_a_kind_of_its_own_becomes_plain(value: int) -> None:
    plain = checked_int(value, "limit", 1, 5)
    assert (plain, type(plain)) == (3, int)
    with pytest.raises(ValueError, match=r"^limit must be 1 to 2, got 3$"):
        checked_int(value, "limit", 1, 2)


@pytest.mark.parametrize("value", [True, 1.0, "1", None])
def test_what_is_no_whole_number_is_refused(value: Any) -> None:
    kind = type(value).__name__
    with pytest.raises(TypeError, match=f"^limit must be an int, got {kind}$"):
        checked_int(value, "limit", 0, 1_000)


@pytest.mark.parametrize(
    ("value", "bounds", "unit", "problem"),
    [
        (0, (1, 1_000), "", "limit must be 1 to 1,000, got 0"),
        (2_000, (1, 1_000), "rows", "limit must be 1 to 1,000 rows, got 2,000"),
        (0, (1,), "", "limit must be 1 or more, got 0"),
    ],
)
def test_an_error_of_range_names_the_range(
    value: int, bounds: tuple[int, ...], unit: str, problem: str
) -> None:
    with pytest.raises(ValueError, match=f"^{problem}$"):
        checked_int(value, "limit", *bounds, unit=unit)


@pytest.mark.parametrize("value", [-5, 2**70])
def test_a_number_without_bounds_may_be_any(value: int) -> None:
    assert checked_int(value, "count") == value


# Numbers and texts from the server: what is none is a DecodeError

JUNK = [
    b"", b"x", b" 1", b"1 ", b"+1", b"1_0", b"0x10", b"nan", b"1" * 400, b"\xff", None, [], 1.5,
    "1", "١٢".encode(),
]  # fmt: skip


@pytest.mark.parametrize("junk", [*JUNK, b"inf", b"1e400", b"1.5", b"-1", b"11", -1, 11])
def test_what_is_no_number_in_range_is_refused(junk: Any) -> None:
    with pytest.raises(
        DecodeError, match=r"^the limit cannot be decoded: .* from 0 to 10; another program "
    ):
        stored_int(junk, "the limit", 0, 10)


@pytest.mark.parametrize(("stored", "number"), [(b"0", 0), (b"10", 10), (b"007", 7), (3, 3)])
def test_a_number_is_one(stored: Any, number: int) -> None:
    assert stored_int(stored, "the limit", 0, 10) == number


@pytest.mark.parametrize(
    ("score", "number"),
    [(b"1.5", 1), (b"-3", -3), (b"1795415835000", 1795415835000), (b"1.7e+3", 1700),
     (b"inf", MAX_EXACT), (b"-inf", -MAX_EXACT), (b"1e+300", MAX_EXACT), (2.0**70, MAX_EXACT)],
)  # fmt: skip
def test_a_score_is_a_number_within_limits(score: Any, number: int) -> None:
    assert stored_score(score, "a score") == number


@pytest.mark.parametrize("junk", JUNK)
def test_what_is_no_score_is_refused(junk: Any) -> None:
    if junk not in (1.5, b"1" * 400):  # no whole numbers, but numbers
        with pytest.raises(DecodeError, match="is not a number"):
            stored_score(junk, "a score")


def test_a_text_is_utf8() -> None:
    assert stored_text("é".encode(), "a name") == "é"
    with pytest.raises(
        DecodeError, match=r"^a name cannot be decoded: not valid UTF-8 at pos.* 1; "
    ):
        stored_text(b"a\xff", "a name")
    with pytest.raises(DecodeError, match="is not a text"):
        stored_text(None, "a name")


SHA1 = "0" * 40
ERRORS = [
    "WRONGTYPE Operation against a key holding the wrong kind of value",
    f"WRONGTYPE Operation against a key script: {SHA1}, on @user_script:4.",
    f"ERR user_script:7: attempt to compare number with nil script: {SHA1}, on @user_script:7.",
    f"ERR value is not a valid float script: {SHA1}, on @user_script:9.",
    f"ERR value is not an integer or out of range script: {SHA1}, on @user_script:9.",
    "ERR hash value is not an integer",
    "DAMAGED the limit of x is not what Holdfast writes script: on @user_script:9.",
    f"DAMAGED the limit of x is not what Holdfast writes script: {SHA1}, on @user_script:9.",
]


@pytest.mark.parametrize("error", ERRORS)
def test_an_error_that_only_damage_explains_is_reported_as_damage(error: str) -> None:
    outcome = outcome_of_all([ErrorReply(error)], ("localhost", 1), 0)
    assert isinstance(outcome, Damaged)
    assert "script: " not in outcome.reason
    unit = Namespace.of("n").unit("lock", "a")
    with pytest.raises(DecodeError) as raised:
        value(
            outcome,
            Attempt("locks/acquire", unit, CallKind.ORDINARY, 0.0, reading=False, harmless=False),
        )
    midway = "script: " in error and not error.startswith("DAMAGED")
    assert isinstance(raised.value, DamagedData) is not midway
    assert ("may have been applied in part" in str(raised.value)) is midway
    assert "lock 'a'" in str(raised.value)


@pytest.mark.parametrize(
    "error",
    [
        f"OOM command not allowed script: {SHA1}, on @user_script:4.",
        f"NOPERM no permission script: {SHA1}, on @user_script:4.",
        "ERR Script killed by user with SCRIPT KILL.",
    ],
)
def test_other_errors_are_not(error: str) -> None:
    outcome = outcome_of_all([ErrorReply(error)], ("localhost", 1), 0)
    assert isinstance(outcome, Refused)
    assert not isinstance(outcome, Damaged)
