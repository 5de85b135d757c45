"""The formatters: one text for each value, on every screen."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from holdfast.inspect import formats

NOW = datetime(2026, 3, 14, 17, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("octets", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (12_595, "12.3 KiB"), (1 << 20, "1.0 MiB"),
     (3 << 30, "3.0 GiB"), (1 << 62, "4,096.0 PiB")],
)  # fmt: skip
def test_sizes_use_one_unit_system(octets: int, text: str) -> None:
    """Powers of 1,024, with the unit that says so."""
    assert formats.size(octets) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-1, "0 ms"), (0.746, "746 ms"), (0.9996, "1 s"), (3.24, "3.2 s"), (3.0, "3 s"),
     (9.94, "9.9 s"), (9.96, "10 s"), (119, "119 s"), (120, "2 min"), (7199, "120 min"),
     (7200, "2 h"), (172_800, "2 d"), (1e8, "1,157 d")],
)  # fmt: skip
def test_durations(seconds: float, text: str) -> None:
    """Short ones precisely, long ones in whole units."""
    assert formats.duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(90, "90 s"), (0.5, "0.5 s"), (60, "1 min"), (5400, "90 min"), (3600, "1 h"),
     (172_800, "2 d")],
)  # fmt: skip
def test_exact_durations(seconds: float, text: str) -> None:
    """A setting is shown as it was given, without rounding."""
    assert formats.exact_duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-180, "3 min ago"), (-0.3, "0 s ago"), (0.3, "0 s ago"), (0.6, "in 1 s"), (7200, "in 2 h")],
)
def test_distances(seconds: float, text: str) -> None:
    """The past and the future; clocks that differ by a bit make no future."""
    assert formats.distance(NOW + timedelta(seconds=seconds), NOW) == text


def test_instants_are_in_utc() -> None:
    at = NOW.astimezone(timezone(timedelta(hours=5)))
    assert formats.utc(at) == "2026-03-14 17:00:00"
    assert formats.iso(at) == "2026-03-14T17:00:00.000Z"
    assert formats.instant(datetime.now(UTC)).endswith(" UTC (0 s ago)")


@pytest.mark.parametrize(("count", "text"), [(0, "0 tasks"), (1, "1 task"), (1204, "1,204 tasks")])
def test_counts_have_their_noun(count: int, text: str) -> None:
    assert formats.counted(count, "task") == text
    assert formats.counted(2, "mailbox", "mailboxes") == "2 mailboxes"


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.931, "93.1 %"), (0.08, "8.0 %"), (0, "0.0 %"), (0.9999, "100 %"), (1, "100 %")],
)
def test_shares(share: float, text: str) -> None:
    assert formats.percent(share) == text


def test_numbers_have_separators() -> None:
    """Whole ones as they are, others with one digit."""
    assert [formats.number(1234), formats.number(19.84)] == ["1,234", "19.8"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (99_999, "99,999"), (100_000, "100k"), (999_499, "999k"), (999_500, "1.0M"),
     (3_140_000, "3.1M"), (-2_000_000_000, "-2.0G"), (2**63 - 1, "9.2E"), (-(2**63), "-9.2E")],
)  # fmt: skip
def test_short_numbers(value: int, text: str) -> None:
    """Seven characters at most."""
    assert formats.short_number(value) == text
