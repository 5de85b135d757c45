"""Times at the edge: seconds and datetimes in, whole milliseconds out, nonsense refused."""

import math
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.clock import (
    MAX_MS,
    Deadline,
    backoff_s,
    from_epoch_ms,
    since_boot,
    to_epoch_ms,
    to_ms,
    to_seconds,
)

Convert = Callable[..., float]
CONVERSIONS = [to_seconds, to_ms, to_epoch_ms]
NONSENSE = [math.nan, math.inf, -math.inf, -1, -0.001, 1e300, MAX_MS]
NO_NUMBERS = [True, False, None, "5", b"5", 5j, Decimal(5), [5]]


class Nowhere(tzinfo):
    """A time zone without an offset: a datetime with it is not aware."""

    def utcoffset(self, moment: datetime | None) -> None:
        """Return no offset."""


REFUSED: list[tuple[Convert, Any, type[Exception], str]] = [
    *((each, value, ValueError, "^at must be") for each in CONVERSIONS for value in NONSENSE),
    *((each, 10**400, ValueError, "must be") for each in CONVERSIONS),
    *(
        (each, value, TypeError, f"at must be .* got {type(value).__name__}")
        for each in CONVERSIONS
        for value in NO_NUMBERS
    ),
    *(
        (each, timedelta(microseconds=-1), ValueError, "at must be 0 seconds or more")
        for each in (to_seconds, to_ms)
    ),
    (to_epoch_ms, timedelta(minutes=5), TypeError, "got timedelta"),  # `delay` was meant
    *(
        (to_epoch_ms, moment, ValueError, "at must be an aware datetime")
        for moment in (datetime(2030, 1, 1), datetime(2030, 1, 1, tzinfo=Nowhere()))  # noqa: DTZ001
    ),
    *(
        (to_epoch_ms, moment, ValueError, "at must be 0 seconds or more")
        for moment in (datetime(1969, 12, 31, tzinfo=UTC), datetime.min.replace(tzinfo=UTC))
    ),
]


@pytest.mark.parametrize(("convert", "value", "error", "problem"), REFUSED)
def test_what_is_no_time_is_refused(
    convert: Convert, value: Any, error: type[Exception], problem: str
) -> None:
    with pytest.raises(error, match=problem):
        convert(value, "at")


@pytest.mark.parametrize("zero", [0, 0.0, -0.0, timedelta()])
def test_zero_is_a_wait_and_no_lease(zero: float) -> None:
    """`timeout=0` is not at all, but a lease of nothing would be lost before it began."""
    assert to_seconds(zero) == 0.0
    with pytest.raises(ValueError, match="lease must be longer than 0 seconds"):
        to_ms(zero, "lease")


@pytest.mark.parametrize("short", [1e-9, 0.0004, timedelta(microseconds=1), 5e-324])
def test_a_short_time_does_not_become_none(short: float) -> None:
    assert to_ms(short) == 1


@given(st.integers(1, MAX_MS - 1))
def test_whole_milliseconds_survive_as_seconds(ms: int) -> None:
    assert to_ms(ms / 1000) == ms
    assert to_epoch_ms(ms / 1000) == ms


@given(st.timedeltas(timedelta(milliseconds=1), timedelta(days=10**5)))
def test_a_timedelta_is_its_seconds(duration: timedelta) -> None:
    assert to_ms(duration) == to_ms(duration.total_seconds())
    assert isinstance(to_seconds(duration), float)


@given(
    st.datetimes(
        datetime(1971, 1, 1),  # noqa: DTZ001 (the strategy adds the zone)
        datetime(2200, 1, 1),  # noqa: DTZ001
        timezones=st.integers(-23, 23).map(lambda hours: timezone(timedelta(hours=hours))),
    )
)
def test_an_instant_comes_back_in_utc(moment: datetime) -> None:
    back = from_epoch_ms(to_epoch_ms(moment))
    assert back.tzinfo is UTC
    assert timedelta(microseconds=-1) <= back - moment <= timedelta(milliseconds=1)


@given(st.floats(0, 10**10))
def test_nothing_raises_within_the_range(seconds: float) -> None:
    assert 0 <= to_epoch_ms(seconds) <= 10**13
    assert -0.001 <= to_epoch_ms(seconds) - seconds * 1000 <= 1


def test_the_last_datetime_is_not_too_far() -> None:
    """The year 9999 is beyond the limit of 4,460 years since 1970; a thousand years are not."""
    with pytest.raises(ValueError, match="must be"):
        to_epoch_ms(datetime.max.replace(tzinfo=UTC))
    assert to_epoch_ms(datetime(2970, 1, 1, tzinfo=UTC)) > 0


@given(st.integers(0, 10**9), st.floats(0, 100), st.floats(0, 10**6))
def test_a_backoff_keeps_between_half_and_all(failures: int, first: float, longest: float) -> None:
    """Doubled each time, up to the longest; never more, and half of it for certain."""
    full = min(longest, first * 2.0 ** min(max(failures - 1, 0), 64))
    assert full / 2 <= backoff_s(failures, first, longest) <= full


def test_backoffs_spread() -> None:
    assert len({backoff_s(3, 1.0, 60.0) for _ in range(100)}) > 90


def test_a_deadline_passes() -> None:
    far = Deadline(600)
    assert 0 < far.left_s() <= 600
    assert not far.passed
    deadline = Deadline(0.01)
    time.sleep(0.02)
    assert deadline.passed
    assert deadline.left_s() == 0.0


def test_no_timeout_is_infinite() -> None:
    assert Deadline(None).left_s() == math.inf
    assert Deadline(3600, time.monotonic() - 3600).passed
    assert not Deadline(7200, time.monotonic() - 3600).passed
    assert not Deadline(None).passed


def test_a_timeout_of_zero_is_over_at_once() -> None:
    assert Deadline(0).passed


def test_time_since_boot_goes_on() -> None:
    def apart() -> float:
        """Return the difference of the clocks when nothing ran between the two readings."""
        return max(since_boot() - time.monotonic() for _ in range(100))

    before = apart()
    time.sleep(0.05)
    assert apart() == pytest.approx(before, abs=0.02)
    assert before > -0.001
