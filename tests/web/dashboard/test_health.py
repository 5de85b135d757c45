"""Pure functions: health, similar reasons, filters and CSV."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from holdfast import (
    MailboxStatus,
    QueueStats,
    Replica,
    RowCacheStatus,
    ServerFacts,
    Throughput,
    WorkerStatus,
)
from holdfast.inspect.block_summary import block_summaries
from holdfast.inspect.survey import Survey
from holdfast.web.dashboard.csv_table import CsvTable
from holdfast.web.dashboard.filters import FILTERS, points, value
from holdfast.web.dashboard.health import health_of
from holdfast.web.dashboard.screens.failures import is_like, pattern_of

NOW = datetime(2030, 1, 1, tzinfo=UTC)
IDLE = QueueStats(0, 0, 0, 0, 0)
WORKER = WorkerStatus("host:1:a", {"email": 1}, 10, 0, NOW, 0.0)
SERVER = ServerFacts(
    address="127.0.0.1:6379", software="valkey", version="9.1.2", uptime=1.0, memory=10,
    memory_peak=10, memory_limit=100, eviction="noeviction", evicted=0, clients=1,
    commands_per_second=1.0, keys=1, appends=True, fsync="always", persists=True, saved_at=NOW,
    replicas=(), slow=(),
)  # fmt: skip
LATE = replace(IDLE, ready=1, oldest_at=NOW - timedelta(minutes=10))
EVICTING = replace(SERVER, eviction="allkeys-lru")
UUID = "5f0c1c9e-1111-2222-3333-444455556666"
REPLICA = Replica("127.0.0.1:6380", online=False, lag=1.0, behind=0)


def survey(*changes: object) -> Survey:
    """Return a survey in which all is well but for *changes*."""
    queues = next((each for each in changes if isinstance(each, dict)), {"email": IDLE})
    workers = [each for each in changes if isinstance(each, WorkerStatus)] or [WORKER]
    servers = [each for each in changes if isinstance(each, ServerFacts)] or [SERVER]
    return Survey(NOW, "holdfast", "standalone", servers, workers, queues, {})


def test_all_is_well() -> None:
    found = health_of(survey(), 0)
    assert (found.level, found.text, found.findings) == ("ok", "No problems.", ())


@pytest.mark.parametrize(
    ("level", "text", "changed"),
    [
        ("error", "no worker serves sms", {"sms": replace(IDLE, ready=1)}),
        ("warning", "waited in email for 10 min", {"email": LATE}),
        ("warning", "email is paused", {"email": replace(IDLE, ready=1, paused=True)}),
        ("error", "email is full", {"email": replace(IDLE, delayed=9, capacity=10)}),
        ("warning", "1 worker without a heartbeat", replace(WORKER, silent=31.0)),
        ("error", "cannot write to its disk", replace(SERVER, persists=False)),
        ("warning", "drops what was acknowledged (allkeys-lru)", EVICTING),
        ("error", "drops what was acknowledged", replace(EVICTING, evicted=1)),
        ("error", "95 % used", replace(SERVER, memory=95)),
        ("warning", "6379: its replica 127.0.0.1:6380 does", replace(SERVER, replicas=(REPLICA,))),
        ("warning", "7 tasks dead-lettered", 7),
    ],
)  # fmt: skip
def test_each_problem_is_a_finding(level: str, text: str, changed: object) -> None:
    """Each finding has a sentence and a severity."""
    found = health_of(survey(changed), changed if isinstance(changed, int) else 0)
    assert found.level == level
    assert [text in finding.text for finding in found.findings] == [True]


def test_each_block_that_needs_attention_is_a_finding() -> None:
    late = RowCacheStatus(50, 9, 0, 0, 61.0, "")
    seen = replace(
        survey(),
        row_caches={"stock": late},
        mailboxes={"jill": MailboxStatus(95, NOW, None, 0, 0, 100, "reject")},
        known={"row_cache": 1, "mailbox": 7, "counter": 20},
    )
    blocks = block_summaries(seen)
    assert [(each.title, each.amount, each.attention) for each in blocks] == [
        (
            "Mailboxes",
            "7 mailboxes, 95 unread messages in the 1 used last",
            "1 mailbox full or nearly full",
        ),
        ("Counters", "20 counters or more", ""),
        ("Row caches", "1 row cache, 50 scheduled rows", "rows are late by 61 s"),
    ]
    found = health_of(seen, 0, blocks, {"row_cache": "rows", "mailbox": "mailboxes"})
    assert [each.page for each in found.findings] == ["mailboxes", "rows"]
    failing = replace(seen, row_caches={"stock": replace(late, failing=2)})
    assert block_summaries(failing)[-1].attention == "2 rows failing"


def test_the_most_serious_finding_is_first() -> None:
    """A finding names at most three queues."""
    queues = {f"q{n}": replace(IDLE, ready=1, paused=True) for n in range(9)}
    found = health_of(survey(queues), 0)
    assert [finding.level for finding in found.findings] == ["error", "warning"]
    assert "q0, q1, q2 and 6 others" in found.findings[0].text


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("failed: smtp said 421 to 'a'", "failed: smtp said 450 to 'b b'", True),
        ('no "a" in 1,024', 'no "zz" in 3.5', True),
        (f"row {UUID}", f"row {UUID.replace('5', '0')}", True),
        ("at 0x7f00ab", "at 0x11", True),
        ("failed: a", "failed: b", False),
        ("it's 5", "it's 6", True),
        ("", "x", False),
    ],
)  # fmt: skip
def test_reasons_are_alike_but_for_values(one: str, other: str, alike: bool) -> None:
    """Numbers, addresses, ids and what is quoted."""
    assert is_like(one, pattern_of(other)) == alike


def test_filters() -> None:
    """None is a dash; the formats themselves are those of `holdfast.inspect`."""
    assert {FILTERS[name](None) for name in ("number", "duration", "size", "percent")} == {"—"}
    assert (FILTERS["duration"](90.0), FILTERS["size"](2048)) == ("90 s", "2.0 KiB")
    assert points([0, 1, 2], 10, 12) == "0.0,11.0 5.0,6.0 10.0,1.0"
    assert value({"a": b"\x00"}) == '{"a":"AA=="}'
    assert value("x" * 30_000).endswith("(cut)")


@pytest.mark.parametrize(
    ("done", "shown"),
    [([0, 0, 4, 6, 1], [0, 4, 6]), ([0, 0, 0, 2], [0, 2]), ([5, 0, 0], [5, 0]), ([0, 0], [])],
)
def test_a_chart_leaves_out_the_minute_that_is_not_over(done: list[int], shown: list[int]) -> None:
    """Unless tasks have ended only in this one. It begins just before the first task."""
    start = datetime(2026, 3, 14, 17, 0, tzinfo=UTC)
    minutes = [Throughput(start + n * timedelta(minutes=1), each) for n, each in enumerate(done)]
    assert [minute.done for minute in FILTERS["charted"](minutes)] == shown


@pytest.mark.parametrize(
    "sign", ["=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\ufe66"]
)
@pytest.mark.parametrize(
    "before", ["", " ", "  ", "\t", "\r", "\n", "\u00a0", "\u200b", "\ufeff", "\x00"]
)
def test_no_cell_is_a_formula(sign: str, before: str) -> None:
    """Whatever a spreadsheet ignores in front of it; in the header as in the rows."""
    cell = f"{before}{sign}1+1"
    header, row = CsvTable((cell, "n"), [(cell, 3)]).csv().split("\r\n", 1)
    assert header == f'"\'{cell}","n"'
    assert row == f'"\'{cell}","3"\r\n'


@pytest.mark.parametrize("cell", ["", "a=b", "'=a", "1+1", "a\n=b", 'a"=b', "x,=y"])
def test_each_cell_is_quoted(cell: str) -> None:
    """So nothing in it ends it; and it is given back as it is."""
    text = CsvTable(("a", "b"), [(cell, -2.5)]).csv()
    assert list(csv.reader(io.StringIO(text))) == [["a", "b"], [cell, "-2.5"]]
    assert text.startswith('"a","b"\r\n"')
    assert text.endswith('","-2.5"\r\n')
