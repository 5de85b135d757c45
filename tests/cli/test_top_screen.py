"""Test the screen of `holdfast top`, drawn from a snapshot that is made by hand."""

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
    ChatStatus,
    FeedStatus,
    LockState,
    QueueStats,
    Reader,
    RowCacheStatus,
    Sample,
    ServerFacts,
    WorkerStatus,
)
from holdfast.cli.top.screen import TopScreen, share_rows
from holdfast.cli.top.sections import VIEWS
from holdfast.cli.top.snapshot import LISTED, TopSnapshot
from holdfast.inspect.survey import CounterWindow, Kind, Survey

NOW = datetime(2026, 3, 14, 17, 0, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)

SERVER = ServerFacts(
    address="localhost:6379", software="valkey", version="9.1.2", uptime=9e5, memory=3 << 30,
    memory_peak=3 << 30, memory_limit=4 << 30, eviction="noeviction", evicted=0, clients=1_204,
    commands_per_second=123_456.0, keys=9_999_999, appends=True, fsync="always", persists=True,
    saved_at=NOW, replicas=(), slow=None,
)  # fmt: skip

NAME = "張" * 60

KINDS: list[Kind] = [
    "queue", "lock", "rw_lock", "semaphore", "mailbox", "chat", "counter", "row_cache", "file_feed",
]  # fmt: skip


def snapshot(of_each: int = LISTED, servers: int = 1) -> TopSnapshot:
    """Return a snapshot with *of_each* things of every kind, under long and wide names."""
    names = [f"{n}{NAME}" for n in range(of_each)]
    stats = QueueStats(10**6, 5, 7, 3, 0, oldest_at=NOW - MINUTE)
    worker = WorkerStatus("host:17:abc", {NAME: 3, "b": 1}, 50, 3, NOW, 31.0)
    reader = Reader(NAME, 1, 9_999, NOW, False, None)
    window = CounterWindow(1, [Sample(NOW, n) for n in range(60)])
    survey = Survey(
        at=NOW,
        namespace="fakegame",
        topology="standalone",
        servers=[SERVER] * servers,
        workers=[worker] * of_each,
        queues=dict.fromkeys(names, stats),
        throughputs={},
        locks=dict.fromkeys(names, LockState("host:17:1", 4, 9.0, ("a", "b", "c"))),
        chats=dict.fromkeys(names, ChatStatus(2, 1, 9, 99, 5, 0.0, NOW, (reader,))),
        counters=dict.fromkeys(names, window),
        row_caches=dict.fromkeys(names, RowCacheStatus(5, 4, 3, 2, 17.0, "no\nsource")),
        file_feeds={name: FeedStatus(name, "open", "share", 1 << 30, 1 << 20) for name in names},
        known=dict.fromkeys(KINDS, 999),
    )
    return TopSnapshot(survey, dict.fromkeys(names, 1234.5))


def lines(screen: TopScreen, columns: int, rows: int) -> list[str]:
    """Return the screen as a terminal of that size shows it."""
    out = Console(file=StringIO(), width=columns, height=rows, force_terminal=False)
    with out.capture() as shown:
        out.print(screen.draw(columns, rows))
    return shown.get().removesuffix("\n").split("\n")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (40, 10), (20, 24), (200, 60)])
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("problem", ["", "cannot use it " * 9])
def test_it_fits(columns: int, rows: int, view: str, problem: str) -> None:
    """Draw it in any size; the last line shows the keys."""
    for many in (snapshot(), snapshot(1), snapshot(0), snapshot(3, servers=5)):
        screen = TopScreen("redis://x", 2.0, view, many, problem, keys=True)
        shown = lines(screen, columns, rows)
        assert len(shown) == rows
        assert max(map(cell_len, shown)) <= columns
        assert shown[-1].startswith(" 1 all ")
        assert any("cannot use" in line for line in shown) == bool(problem)


def test_eighty_columns_show_what_matters() -> None:
    """Show rows of each kind, and how many there are."""
    shown = lines(TopScreen("redis://x", 2.0, snapshot=snapshot(), keys=True), 80, 24)
    totals = ("/999 ", "/1,998 ", "/2,997 ", "/40 ")
    titles = [line for line in shown if any(each in line for each in totals)]
    assert len(titles) == len(VIEWS["all"])
    assert "ready" in titles[0]
    assert "tasks/s" in titles[0]
    assert any("1,000,000" in line and "1,234.5" in line for line in shown)
    assert any("▁" in line and "█" in line for line in shown)


def test_columns_give_way_to_names() -> None:
    """Keep the most important columns."""
    shown = lines(TopScreen("redis://x", 2.0, "tasks", snapshot(2)), 40, 12)
    [title] = [line for line in shown if line.startswith("queues")]
    assert title.split() == ["queues", "2/999", "ready", "running"]


def test_before_the_first_snapshot() -> None:
    """Draw a screen before the first snapshot, with the problem."""
    shown = lines(TopScreen("redis://x", 2.0, problem="it is away", keys=True), 80, 24)
    assert "no data yet" in shown[0]
    assert "it is away; trying again" in shown[1]


@given(st.lists(st.integers(0, 50), max_size=8), st.integers(-3, 100))
def test_rows_are_shared(wanted: Sequence[int], room: int) -> None:
    """Share them fairly, at most as many as exist and as fit."""
    given_rows = share_rows(wanted, room)
    used = sum(n + 1 for n in given_rows if n)
    assert used <= max(0, room)
    assert all(0 <= got <= want for got, want in zip(given_rows, wanted, strict=True))
    short = [got for got, want in zip(given_rows, wanted, strict=True) if 0 < got < want]
    assert max(short, default=0) - min(short, default=0) <= 1
    if any(got < want for got, want in zip(given_rows, wanted, strict=True)):
        assert max(0, room) - used <= 1
