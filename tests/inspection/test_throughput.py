"""Tasks done per second, from minutes that were made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from holdfast import Throughput
from holdfast.inspect.throughput import ThroughputMeter, done_per_second, failing_share, merged

NOW = datetime(2026, 3, 14, 17, 0, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def throughput(*done: int) -> list[Throughput]:
    """Return the throughput of the last minutes; the last minute begins at `NOW`."""
    first = NOW - (len(done) - 1) * MINUTE
    return [Throughput(first + n * MINUTE, count) for n, count in enumerate(done)]


def test_a_rate_covers_the_time_since_the_last_survey() -> None:
    """Also where a minute has ended since."""
    meter = ThroughputMeter()
    meter.measure({"q": throughput(0, 0, 0, 10, 20)[:-1]}, NOW - timedelta(seconds=1))
    assert meter.measure({"q": throughput(0, 0, 0, 14, 6)}, NOW + timedelta(seconds=1)) == {
        "q": 5.0
    }
    assert meter.measure({"q": throughput(0, 0, 0, 14, 6)}, NOW + timedelta(seconds=2)) == {
        "q": 0.0
    }
    assert meter.measure({"q": throughput(0, 0, 0, 0, 0)}, NOW + timedelta(seconds=3)) == {"q": 0.0}


@pytest.mark.parametrize(
    ("done", "rate"), [((0, 60, 120, 0), 1.5), ((0, 0, 0, 40), 4.0), ((0, 0, 0, 0), 0.0)]
)
def test_the_first_rate_covers_the_last_minutes(done: Sequence[int], rate: float) -> None:
    """The whole ones since the first busy one, or this one; also after a long pause."""
    meter, at = ThroughputMeter(), NOW + timedelta(seconds=10)
    meter.measure({"q": throughput(1, 1, 1, 1)}, at - 10 * MINUTE)
    assert meter.measure({"q": throughput(*done)}, at) == {"q": rate}


def test_paces_of_several_queues_become_one() -> None:
    """Minute by minute, also where one queue has a minute that the other lacks."""
    found = merged([throughput(1, 2, 3), throughput(10, 20)])
    assert [minute.done for minute in found] == [1, 12, 23]


def test_means_cover_five_whole_minutes() -> None:
    """The minute that has begun counts for failures only."""
    minutes = [
        Throughput(each.start, each.done, 1, 1) for each in throughput(600, 60, 60, 60, 60, 60, 60)
    ]
    assert done_per_second(minutes, minutes[-1].start) == 1.0
    assert failing_share(minutes) == 12 / (12 + 360)
    assert (done_per_second([], NOW), failing_share([]), done_per_second(throughput(0), NOW)) == (
        0.0,
        0.0,
        0.0,
    )


def test_a_mean_begins_with_the_first_task() -> None:
    """Minutes before it would make the mean too low."""
    minutes = throughput(0, 0, 0, 120, 60, 7)
    assert done_per_second(minutes, minutes[-1].start) == 180 / 120
    this = throughput(0, 0, 50)
    assert done_per_second(this, this[-1].start + timedelta(seconds=10)) == 5.0
    assert done_per_second(this, this[-1].start + timedelta(hours=1)) == 0.0
