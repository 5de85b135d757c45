"""Pure parts: the verdict, reasons that are alike, and words."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from holdfast import QueueStats, Replica, ServerFacts, WorkerStatus
from holdfast.web.dashboard.reasons import is_like, pattern_of
from holdfast.web.dashboard.sheet import Sheet
from holdfast.web.dashboard.verdict import verdict
from holdfast.web.dashboard.words import number, points, size, span, value

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


def test_all_is_well() -> None:
    """With nothing to look at."""
    assert verdict({"email": IDLE}, [WORKER], [SERVER], 0, NOW).text == "All is well."


@pytest.mark.parametrize(
    ("level", "told", "changed"),
    [
        ("bad", "no worker serves sms", {"sms": replace(IDLE, ready=1)}),
        ("warn", "wait in email, for 10 min", {"email": LATE}),
        ("warn", "email is paused", {"email": replace(IDLE, ready=1, paused=True)}),
        ("bad", "email is full", {"email": replace(IDLE, delayed=9, capacity=10)}),
        ("warn", "no sign of life", replace(WORKER, silent=31.0)),
        ("bad", "cannot write to its disk", replace(SERVER, persists=False)),
        ("warn", "drops what was acknowledged (allkeys-lru)", EVICTING),
        ("bad", "drops what was acknowledged", replace(EVICTING, evicted=1)),
        ("bad", "95 % used", replace(SERVER, memory=95)),
        ("warn", "6379: its replica 127.0.0.1:6380 does not", replace(SERVER, replicas=(REPLICA,))),
        ("warn", "7 tasks given up", 7),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(level: str, told: str, changed: object) -> None:
    """Each in a sentence, with its weight."""
    found = verdict(
        changed if isinstance(changed, dict) else {"email": IDLE},
        [changed if isinstance(changed, WorkerStatus) else WORKER],
        [changed if isinstance(changed, ServerFacts) else SERVER],
        changed if isinstance(changed, int) else 0,
        NOW,
    )
    assert found.level == level
    assert [told in finding.text for finding in found.findings] == [True]


def test_the_worst_comes_first() -> None:
    """And many queues are not all named."""
    queues = {f"q{n}": replace(IDLE, ready=1, paused=True) for n in range(9)}
    found = verdict(queues, [], [SERVER], 0, NOW)
    assert [finding.level for finding in found.findings] == ["bad", "warn"]
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


def test_words() -> None:
    """As people read them."""
    assert [span(each) for each in (None, 0.0, 0.25, 9.96, 59.0, 90.0, 7200.0, 172_800.0)] == [
        "—", "0 ms", "250 ms", "10 s", "59 s", "1.5 min", "2 h", "2 d",
    ]  # fmt: skip
    assert [size(each) for each in (None, 0, 999, 1500, 2_000_000)] == [
        "—", "0 B", "999 B", "1.5 kB", "2 MB",
    ]  # fmt: skip
    assert (number(1234567), number(1.25), number(None)) == ("1,234,567", "1.2", "—")
    assert points([0, 1, 2], 10, 12) == "0.0,11.0 5.0,6.0 10.0,1.0"
    assert value({"a": b"\x00"}) == '{"a":"AA=="}'
    assert value("x" * 30_000).endswith("(cut)")


@pytest.mark.parametrize(
    "sign", ["=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\ufe66"]
)
@pytest.mark.parametrize(
    "before", ["", " ", "  ", "\t", "\r", "\n", "\u00a0", "\u200b", "\ufeff", "\x00"]
)
def test_no_cell_is_a_formula(sign: str, before: str) -> None:
    """Whatever a spreadsheet ignores in front of it; in the header as in the rows."""
    cell = f"{before}{sign}1+1"
    header, row = Sheet((cell, "n"), [(cell, 3)]).csv().split("\r\n", 1)
    assert header == f'"\'{cell}","n"'
    assert row == f'"\'{cell}","3"\r\n'


@pytest.mark.parametrize("cell", ["", "a=b", "'=a", "1+1", "a\n=b", 'a"=b', "x,=y"])
def test_each_cell_is_quoted(cell: str) -> None:
    """So nothing in it ends it; and it is given back as it is."""
    text = Sheet(("a", "b"), [(cell, -2.5)]).csv()
    assert list(csv.reader(io.StringIO(text))) == [["a", "b"], [cell, "-2.5"]]
    assert text.startswith('"a","b"\r\n"')
    assert text.endswith('","-2.5"\r\n')
