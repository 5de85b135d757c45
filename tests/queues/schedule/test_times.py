"""The instants of schedules."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast import Cron, Every, Once
from holdfast.queues.schedule.times import timing_of
from queues.schedule import calendar

ZONES = (
    *("Europe/Berlin", "America/New_York", "Australia/Lord_Howe"),
    *("America/Sao_Paulo", "Asia/Kolkata", "Africa/Casablanca"),
)
"""Whole and half hours of daylight saving, on both hemispheres; none; and one that is given up."""

EXPRESSIONS = (
    *("30 2 * * *", "0 3 * * *", "15 1,2 * * *", "0 0 1 * *", "45 23 * * 5", "0 12 13 * 5"),
    *("0 1-3 * * 0", "5 0 29 2 *"),
)
FREQUENT = ("*/7 2 * * *", "30 * * * *", "*/15 1-3 * * *")


def ms(instant: datetime) -> int:
    """Return *instant* in milliseconds since 1970."""
    return round(instant.timestamp()) * 1000


def walk(timing: Cron, begin: datetime, end: datetime) -> list[int]:
    """Return all instants, each computed from the one before alone, as the server does."""
    found: list[int] = []
    at = timing.next_after(ms(begin))
    while at is not None and at <= ms(end):
        found.append(at)
        at = timing.next_after(at)
    return found


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("first", "last"), [(2018, 2020), pytest.param(2016, 2025, marks=pytest.mark.long)]
)
@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_years_are_those_of_another_implementation(
    zone: str, expression: str, first: int, last: int
) -> None:
    """In the first years a zone gives up daylight saving, another keeps it; one is a leap year."""
    begin, end = datetime(first, 1, 1, tzinfo=UTC), datetime(last + 1, 1, 1, tzinfo=UTC)
    expected = [ms(each) for each in calendar.instants(expression, zone, begin, end)]
    assert walk(Cron(expression, zone), begin, end) == expected


@pytest.mark.sampled(4)
@pytest.mark.parametrize("zone", [zone for zone in ZONES if zone != "Australia/Lord_Howe"])
@pytest.mark.parametrize("expression", FREQUENT)
@pytest.mark.parametrize("month", [3, 10, 11])
def test_frequent_jobs_follow_the_time_that_passes(zone: str, expression: str, month: int) -> None:
    begin = datetime(2018, month, 1, tzinfo=UTC)
    end = begin + timedelta(days=31)
    expected = [ms(each) for each in calendar.instants(expression, zone, begin, end)]
    assert walk(Cron(expression, zone), begin, end) == expected


def test_a_shift_of_half_an_hour_leaves_out_its_own_instant() -> None:
    """As the docs say: cronsim misses 02:30, at which the clocks of Lord Howe arrive from 02:00."""
    begin, end = datetime(2018, 10, 6, tzinfo=UTC), datetime(2018, 10, 8, tzinfo=UTC)
    zone = "Australia/Lord_Howe"
    expected = [ms(each) for each in calendar.instants("30 * * * *", zone, begin, end)]
    shift = ms(datetime(2018, 10, 6, 15, 30, tzinfo=UTC))
    assert {*expected} - {*walk(Cron("30 * * * *", zone), begin, end)} == {shift}


@pytest.mark.parametrize(
    ("expression", "tz", "error"),
    [
        ("0 0 30 2 *", "UTC", "Bad day-of-month"),
        ("0 0 31 4 *", "UTC", "Bad day-of-month"),
        ("61 * * * *", "UTC", "Bad minute"),
        ("* * * *", "UTC", "Wrong number of fields"),
        ("", "UTC", "Wrong number of fields"),
        ("0 3 * * *", "Mars/Olympus", "unknown time zone 'Mars/Olympus'"),
        ("0 3 * * *", "../etc/passwd", "unknown time zone"),
        ("0 3 * * *", "", "unknown time zone"),
    ],
)
def test_a_wrong_expression_or_zone_is_named(expression: str, tz: str, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        Cron(expression, tz)


def test_an_expression_must_be_text() -> None:
    with pytest.raises(TypeError, match="must be a str"):
        Cron(5)  # type: ignore[arg-type]


def test_without_cronsim_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cronsim", None)
    with pytest.raises(ModuleNotFoundError, match=r"install `holdfast\[cron\]`"):
        Cron("0 3 * * *")
    for wrong in ({"cron": 5, "tz": "UTC"}, {"cron": "* * * * *", "tz": 5}):
        with pytest.raises(TypeError, match="must be a str, got 5"):
            timing_of(wrong)
    assert Every(60).next_after(0) == 60_000


@pytest.mark.parametrize("interval", [0, 0.5, -1, 0.999])
def test_an_interval_has_a_second_at_least(interval: float) -> None:
    with pytest.raises(ValueError, match="interval must be"):
        Every(interval)


def test_intervals_are_given_in_one_form() -> None:
    assert Every(hours=6) == Every(21600) == Every(timedelta(hours=6))
    assert Every(days=1, minutes=1) == Every(86_460)
    with pytest.raises(ValueError, match="Every takes an interval, or"):
        Every(60, hours=1)


@given(
    interval=st.integers(1000, 10**9),
    phase=st.none() | st.integers(0, 10**10),
    after=st.integers(0, 2 * 10**12),
    anchor=st.integers(0, 2 * 10**12),
    count=st.integers(0, 10_000),
)
def test_instants_of_an_interval(
    interval: int, phase: int | None, after: int, anchor: int, count: int
) -> None:
    timing = Every(interval / 1000, phase=None if phase is None else phase / 1000)
    first = timing.next_after(after, anchor)
    assert first is not None
    assert after < first <= after + interval
    assert (first - (anchor if phase is None else phase)) % interval == 0
    last, before = timing.last_until(first + count * interval + interval - 1, first)
    assert (last, before) == (first + count * interval, count)


def test_a_single_instant() -> None:
    at = datetime(2026, 12, 24, 18, tzinfo=UTC)
    assert Once(at).next_after(ms(at) - 1) == ms(at)
    assert Once(at).next_after(ms(at)) is None
    with pytest.raises(ValueError, match="aware datetime"):
        Once(datetime(2026, 12, 24))  # noqa: DTZ001 (that is the error)


@pytest.mark.parametrize("seconds", [0, 59, 61, 7 * 86_400])
def test_the_last_instant_of_an_expression(seconds: int) -> None:
    timing, first = Cron("* * * * * *"), ms(datetime(2026, 3, 1, tzinfo=UTC))
    last, before = timing.last_until(first + seconds * 1000 + 999, first)
    assert last == first + seconds * 1000
    assert before == min(seconds, 10_000)


@pytest.mark.parametrize(
    "timing",
    [Cron("0 3 * * 1-5", "Asia/Tokyo"), Every(90), Every(90, phase=5), Once(1_800_000_000)],
    ids=str,
)
def test_a_timing_survives_its_storage(timing: Cron | Every | Once) -> None:
    assert timing_of(timing.spec()) == timing


@pytest.mark.parametrize(
    "spec",
    [
        *({}, {"every": 10}, {"every": 1e999, "phase": None}, {"every": -5, "phase": None}),
        *({"every": True, "phase": None}, {"at": "x"}, {"cron": "* * * * *"}, {"at": 2**60}),
    ],
)
def test_a_damaged_timing_is_refused(spec: object) -> None:
    with pytest.raises((ValueError, TypeError, KeyError)):
        timing_of(spec)
