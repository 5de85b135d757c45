"""The screen of `holdfast top`, drawn from a look that was made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from holdfast import (
    FeedStatus,
    Pace,
    QueueStats,
    RowCacheStatus,
    Sample,
    ServerFacts,
    WorkerStatus,
)
from holdfast.cli.top.frame import (
    CacheLine,
    CounterLine,
    Frame,
    PlacesLine,
    QueueLine,
    UnreadLine,
)
from holdfast.cli.top.picture import Picture, shared
from holdfast.cli.top.rates import Rates
from holdfast.cli.top.sections import VIEWS

NOW = datetime(2026, 3, 14, 17, 0, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)

SERVER = ServerFacts(
    address="localhost:6379", software="valkey", version="9.1.2", uptime=9e5, memory=3 << 30,
    memory_peak=3 << 30, memory_limit=4 << 30, eviction="noeviction", evicted=0, clients=1_204,
    commands_per_second=123_456.0, keys=9_999_999, appends=True, fsync="always", persists=True,
    saved_at=NOW, replicas=(), slow=None,
)  # fmt: skip

NAME = "張" * 60


def frame(of_each: int = 40, servers: int = 1) -> Frame:
    """So many of everything, under long and wide names."""
    numbers = range(of_each)
    stats = QueueStats(10**6, 5, 7, 3, 0, oldest_at=NOW - MINUTE)
    worker = WorkerStatus("host:17:abc", {NAME: 3, "b": 1}, 50, 3, NOW, 31.0)
    return Frame(
        at=NOW,
        namespace="fakegame",
        topology="standalone",
        servers=[SERVER] * servers,
        sums={"ready": 10**6, "running": 7, "delayed": 5, "dead": 3},
        per_second=1234.5,
        queues=[QueueLine(f"{n}{NAME}", stats, 1234.5, 60.0, 1) for n in numbers],
        workers=[worker] * of_each,
        places=[PlacesLine(NAME, "lock", 1, 1, "host:17:1", 9.0, 3)] * of_each,
        unread=[UnreadLine(NAME, "chat", 9_999, NAME, NOW)] * of_each,
        counters=[CounterLine(NAME, 1, [Sample(NOW, n) for n in range(60)])] * of_each,
        caches=[CacheLine(NAME, RowCacheStatus(5, 4, 3, 2, 17.0, "no\nsource"))] * of_each,
        feeds=[FeedStatus(NAME, "open", "share", 1 << 30, 1 << 20)] * of_each,
        known=dict.fromkeys(
            ("queue", "worker", "lock", "mailbox", "chat", "counter", "row cache", "feed"), 999
        ),
    )


def lines(picture: Picture, columns: int, rows: int) -> list[str]:
    """The picture as a terminal of that size shows it."""
    out = Console(file=StringIO(), width=columns, height=rows, force_terminal=False)
    with out.capture() as shown:
        out.print(picture.drawn(columns, rows))
    return shown.get().removesuffix("\n").split("\n")


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (40, 10), (20, 24), (200, 60)])
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("problem", ["", "cannot use it " * 9])
def test_it_fits(columns: int, rows: int, view: str, problem: str) -> None:
    """Whatever the size; the last line tells the keys."""
    for many in (frame(), frame(1), frame(0), frame(3, servers=5)):
        picture = Picture("redis://x", 2.0, view, many, problem, keys=True)
        shown = lines(picture, columns, rows)
        assert len(shown) == rows
        assert max(map(cell_len, shown)) <= columns
        assert shown[-1].startswith(" 1 all ")
        assert any("cannot use" in line for line in shown) == bool(problem)


def test_eighty_columns_show_what_matters() -> None:
    """Something of each kind, and how much there is of it."""
    shown = lines(Picture("redis://x", 2.0, frame=frame(), keys=True), 80, 24)
    titles = [line for line in shown if "/999 " in line or "/1,998 " in line]
    assert len(titles) == len(VIEWS["all"])
    assert "ready" in titles[0]
    assert "tasks/s" in titles[0]
    assert any("1,000,000" in line and "1,234.5" in line for line in shown)
    assert any("▁" in line and "█" in line for line in shown)


def test_columns_give_way_to_names() -> None:
    """The most important stay."""
    shown = lines(Picture("redis://x", 2.0, "tasks", frame(2)), 40, 12)
    [title] = [line for line in shown if line.startswith("queues")]
    assert title.split() == ["queues", "2/999", "ready", "running"]


def test_before_the_first_look() -> None:
    """There is a screen already, and it says what is wrong."""
    shown = lines(Picture("redis://x", 2.0, problem="it is away", keys=True), 80, 24)
    assert "no look yet" in shown[0]
    assert "it is away; trying again" in shown[1]


@given(st.lists(st.integers(0, 50), max_size=8), st.integers(-3, 100))
def test_rows_are_shared(wanted: Sequence[int], room: int) -> None:
    """Fairly, and as many as there are or there is room for."""
    given_rows = shared(wanted, room)
    used = sum(n + 1 for n in given_rows if n)
    assert used <= max(0, room)
    assert all(0 <= got <= want for got, want in zip(given_rows, wanted, strict=True))
    short = [got for got, want in zip(given_rows, wanted, strict=True) if 0 < got < want]
    assert max(short, default=0) - min(short, default=0) <= 1
    if any(got < want for got, want in zip(given_rows, wanted, strict=True)):
        assert max(0, room) - used <= 1


def pace(*done: int) -> list[Pace]:
    """Tasks done in the minutes up to `NOW`, the last of which has just begun."""
    return [Pace(NOW - (len(done) - 1 - n) * MINUTE, count) for n, count in enumerate(done)]


def test_a_rate_is_that_since_the_last_look() -> None:
    """Also where a minute has ended meanwhile."""
    rates = Rates()
    rates.all({"q": pace(0, 0, 0, 10, 20)[:-1]}, NOW - timedelta(seconds=1))
    assert rates.all({"q": pace(0, 0, 0, 14, 6)}, NOW + timedelta(seconds=1)) == {"q": 5.0}
    assert rates.all({"q": pace(0, 0, 0, 14, 6)}, NOW + timedelta(seconds=2)) == {"q": 0.0}
    assert rates.all({"q": pace(0, 0, 0, 0, 0)}, NOW + timedelta(seconds=3)) == {"q": 0.0}


@pytest.mark.parametrize(
    ("done", "rate"), [((0, 60, 120, 0), 1.5), ((0, 0, 0, 40), 4.0), ((0, 0, 0, 0), 0.0)]
)
def test_the_first_rate_is_that_of_the_last_minutes(done: Sequence[int], rate: float) -> None:
    """The whole ones since anything was done, or what there is of one; also after a long pause."""
    rates, at = Rates(), NOW + timedelta(seconds=10)
    rates.all({"q": pace(1, 1, 1, 1)}, at - 10 * MINUTE)
    assert rates.all({"q": pace(*done)}, at) == {"q": rate}
