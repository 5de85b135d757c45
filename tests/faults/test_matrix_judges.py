"""The judges of the fault matrix accept a right history, and name what is wrong in a broken one."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any

import pytest

from faults.history import Operation
from faults.matrix.cell_result import Violation, counted
from faults.matrix.workloads import (
    answers,
    chats,
    counts,
    feeds,
    lines,
    names,
    places,
    queues,
    rates,
    rows,
    schedules,
)

Judge = Callable[[Sequence[Operation]], list[Violation]]

_moments = count(1)


def op(kind: str, key: str, value: Any = None, **fields: Any) -> Operation:
    """Return an operation that begins and ends after all before it."""
    at = 10 * next(_moments)
    return Operation("p", at, kind, key, at, at + 5, "ok", value, fields)


def unknown(operation: Operation) -> Operation:
    """Return the same with an unknown outcome."""
    return replace(operation, return_ns=None, outcome="unknown", value=None)


def late(operation: Operation) -> Operation:
    """Return the same, ended long after all others."""
    return replace(operation, return_ns=10**9)


def held(holder: str, fence: int) -> list[Operation]:
    until = 10 * next(_moments) + 10**12
    return [
        op("acquire", "lock", fence, holder=holder, until_ns=until),
        op("write", "lock", True, holder=holder, fence=fence),
        op("release", "lock", holder=holder),
    ]


def reading(holder: str, fence: int, *, shared: bool = True) -> list[Operation]:
    """Return a history in which a holder of a reader-writer lock does not release it."""
    until = 10 * next(_moments) + 10**12
    return [op("acquire", "lock", fence, holder=holder, until_ns=until, shared=shared)]


def late_write() -> list[Operation]:
    write = op("write", "lock", True, holder="a", fence=1)
    history = [*held("a", 1), *held("b", 2)]
    return [*history, replace(write, invoke_ns=history[-1].invoke_ns + 1, return_ns=10**9)]


def enqueued(key: str) -> Operation:
    return op("enqueue", key, f"id-{key}")


def run(key: str, token: int, enqueued: str = "monday") -> Operation:
    return op("complete", key, task_id=f"id-{key}", token=token, enqueued=enqueued)


def step(token: int, kind: str = "step") -> Operation:
    return op(kind, "a/1", token=token)


def queue(dead: set[str] = frozenset(), token: int = 1) -> Judge:
    return lambda history: queues.judge(history, set(dead), {"id-a": token})


def fired(*labels: str) -> list[Operation]:
    """Return a history in which tasks of a schedule ran; `t…` are triggered."""
    triggers = [op("trigger", each, f"s@{each}") for each in labels if each.startswith("t")]
    return [
        *triggers,
        *(op("complete", "s", task_id=f"s@{each}", token=1, enqueued="monday") for each in labels),
    ]


def SCHEDULE(history: Sequence[Operation]) -> list[Violation]:  # noqa: N802 (as the judges below)
    return schedules.judge(history, {"s": 5000})


def fetch(*seqs: int, body: int | None = None) -> Operation:
    bodies = [["s", body or seq] for seq in seqs]
    return op("fetch", "r", {"seqs": list(seqs), "bodies": bodies, "gap": None})


def read(*seqs: int) -> list[Operation]:
    handled = [op("handle", "r", seq=seq) for seq in seqs]
    return [fetch(*seqs), *handled, op("ack", "r", upto=seqs[-1])]


def sent(*numbers: int) -> list[Operation]:
    return [op("send", "s", number, number=number) for number in numbers]


def reported_gap() -> Operation:
    return op("gap", "r", gap=(2, 2, "reset"))


def mailbox(first: int, reason: str = "dropped", *, reported: bool = True) -> list[Operation]:
    """Return a history in which a reader gets five messages from *first* on, and a gap before."""
    seqs, gap = list(range(first, 6)), [1, first - 1, reason]
    bodies = [["s", seq] for seq in seqs]
    return [
        *sent(1, 2, 3, 4, 5),
        op("fetch", "r", {"seqs": seqs, "bodies": bodies, "gap": gap}),
        *([op("gap", "r", gap=gap)] if reported else []),
        *(op("handle", "r", seq=seq) for seq in seqs),
    ]


def named(before: str, *found: str) -> list[Operation]:
    return [*(op(*verb.split("=")) for verb in before.split(", ") if verb), search(*found)]


def search(*found: str) -> Operation:
    return op("search", "g", list(found))


def adds() -> list[Operation]:
    return [op("add", "hits", amount=1), op("add", "hits", amount=2)]


def total(*sums: int) -> Judge:
    return partial(counts.judge, sums=list(sums))


def row(value: int | None) -> list[Operation]:
    return [op("write", "1", 1), op("get", "1", value)]


def from_memory(later_ns: int) -> list[Operation]:
    """Return a write, and later a read from memory of the version before."""
    read = op("near", "1", 0, memory=True)
    at = read.invoke_ns + later_ns
    return [op("write", "1", 1), replace(read, invoke_ns=at, return_ns=at + 5)]


def failed(*ids: str) -> list[Operation]:
    each = (op("get", row_id, reason=rows.INDIGESTIBLE) for row_id in ids)
    return [replace(operation, outcome="fail") for operation in each]


def tally(**wrong: Any) -> Judge:
    return lambda history: lines.judge(history, lines.sums_of(["f", "g"])._replace(**wrong))


def counted_lines() -> list[Operation]:
    return [op("count", "daily", names=("f",)), op("count", "daily", names=("f", "g"))]


def day(*names: str, more: int = 0) -> Operation:
    of_first_day = lines.sums_of(names).days[lines.DAYS[0]] if names else 0
    return op("total", "day", of_first_day + more)


def wrong_sums(more: int) -> list[dict[str, Any]]:
    sums, word, first = lines.sums_of(["f", "g"]), (lines.DAYS[0], "sold"), lines.DAYS[0]
    return [
        {"words": {**sums.words, word: sums.words[word] + more}},
        {"days": {**sums.days, first: sums.days[first] + more}},
        {"rejected": sums.rejected + more},
    ]


def feed(sold: int = 0) -> Judge:
    words = feeds.contents("f").decode().split()[1::2]
    sums = {word: words.count(word) for word in feeds.WORDS}
    sums["sold"] += sold
    return lambda history: feeds.judge(history, sums)


def kept(data: bytes | None = None) -> list[Operation]:
    digest = hashlib.sha256(feeds.contents("f") if data is None else data).hexdigest()
    return [op("publish", "f"), op("keep", "f", digest)]


def passed(*grants: tuple[int, int]) -> list[Operation]:
    """Return calls that passed a limiter: instant and cost of each."""
    return [op("acquire", "api", at, cost=cost) for at, cost in grants]


LOCK = partial(places.judge, limit=1)
CHAT = partial(chats.judge, readers=["r"])
LOSSES = partial(chats.judge_losses, readers=["r"])
MAILBOX = partial(chats.judge, readers=["r"], keep=2)
KEEPER = partial(chats.judge, readers=["r"], keep=None)

CASES: dict[str, tuple[Judge, list[Operation], dict[str, int]]] = {
    "lock: one after the other": (LOCK, [*held("a", 1), *held("b", 2)], {}),
    "lock: two at once": (LOCK, [*held("a", 1)[:2], *held("b", 2)], {"overlap": 1}),
    "lock: a fence falls": (LOCK, held("a", 2) + held("b", 1), {"disordered": 1, "stale": 1}),
    "rw_lock: two readers": (LOCK, [*reading("a", 1), *reading("b", 2)], {}),
    "rw_lock: a reader and a writer": (
        LOCK,
        [*reading("a", 1), *reading("b", 2, shared=False)],
        {"overlap": 1},
    ),
    "lock: a late write": (LOCK, late_write(), {"stale": 1}),
    "limiter: as much as it allows": (rates.judge, passed((1000, 30), (1500, 30), (2000, 30)), {}),
    "limiter: too much in a period": (
        *(rates.judge, passed((1000, 30), (1500, 30), (1999, 1))),
        {"doubled": 1},
    ),
    "limiter: what was settled makes room": (
        *(rates.judge, [*passed((1000, 60), (1500, 20)), op("settle", "api", at=1000, excess=20)]),
        {},
    ),
    "limiter: perhaps settled": (
        rates.judge,
        [*passed((1000, 60), (1500, 20)), unknown(op("settle", "api", at=1000, excess=20))],
        {},
    ),
    "idempotency: one answer": (
        answers.judge,
        [op("call", "a", "x"), op("call", "a", "x"), op("call", "b", "y")],
        {},
    ),
    "idempotency: done again": (
        answers.judge,
        [op("call", "a", "x"), op("call", "a", "z"), unknown(op("call", "b", "y"))],
        {"doubled": 1},
    ),
    "queue: each ran": (queue(), [enqueued("a"), run("a", 1)], {}),
    "queue: not acknowledged": (queue(), [unknown(op("enqueue", "a")), run("a", 1)], {}),
    "queue: one is dead": (queue({"id-b"}), [enqueued("b"), enqueued("a"), run("a", 1)], {}),
    "queue: one never ran": (queue(), [enqueued("a"), enqueued("b"), run("a", 1)], {"lost": 1}),
    "queue: never enqueued": (queue(), [run("a", 1)], {"doubled": 1}),
    "queue: one claim ran twice": (
        *(queue(), [enqueued("a"), run("a", 1), run("a", 1)]),
        {"doubled": 1},
    ),
    "queue: one call was stored twice": (
        *(queue(token=2), [enqueued("a"), run("a", 1), run("a", 2, "tuesday")]),
        {"doubled": 1},
    ),
    "queue: a step ran twice, and was stored once": (
        *(queue(), [enqueued("a"), run("a", 1), step(1), step(2)]),
        {},
    ),
    "queue: a stored step ran again": (
        *(queue(), [enqueued("a"), run("a", 1), step(1, "passed"), step(2)]),
        {"doubled": 1},
    ),
    "queue: a worker that had lost the task ran a step": (
        *(queue(), [enqueued("a"), run("a", 1), step(2, "passed"), step(1)]),
        {},
    ),
    "queue: two claims": (queue(token=2), [enqueued("a"), run("a", 1), run("a", 2)], {}),
    "queue: an old claim settled": (
        *(queue(), [enqueued("a"), run("a", 1), run("a", 2)]),
        {"stale": 1},
    ),
    "schedules: each instant": (SCHEDULE, fired("3000", "4000", "5000", "t1"), {}),
    "schedules: an instant never ran": (SCHEDULE, fired("3000", "5000"), {"lost": 1}),
    "schedules: nothing was due": (SCHEDULE, fired("4000", "4100", "5000"), {"doubled": 1}),
    "schedules: one instant ran twice": (SCHEDULE, fired("5000", "5000"), {"doubled": 1}),
    "schedules: a trigger never ran": (
        *(SCHEDULE, [*fired("5000"), op("trigger", "t", "s@t1")]),
        {"lost": 1},
    ),
    "schedules: a trigger became two tasks": (
        *(SCHEDULE, [*fired("5000", "t1"), op("complete", "s", task_id="s@u", token=1)]),
        {"doubled": 1},
    ),
    "chat: read once": (CHAT, [*sent(1, 2), *read(1), *read(2)], {}),
    "chat: one is skipped": (
        *(CHAT, [*sent(1, 2, 3), *read(1), *read(3)]),
        {"lost": 1, "disordered": 1},
    ),
    "chat: one comes again": (CHAT, [*sent(1, 2), *read(1, 2), *read(2)], {"stale": 1}),
    "chat: one number twice": (
        *(CHAT, [*sent(1, 2), *read(1, 2), fetch(1, body=2)]),
        {"disordered": 1, "stale": 1},
    ),
    "losses: unreported": (LOSSES, [*sent(1, 2), *read(1)], {"lost": 1}),
    "losses: reported": (LOSSES, [*sent(1, 2), *read(1), reported_gap()], {"reported": 1}),
    "losses: read after all": (LOSSES, [*sent(1, 2), *read(1), reported_gap(), *read(2)], {}),
    "mailbox: what is too much may go": (MAILBOX, mailbox(4), {}),
    "mailbox: unreported": (MAILBOX, mailbox(4, reported=False), {"lost": 1}),
    "mailbox: there was room": (MAILBOX, mailbox(5), {"lost": 1}),
    "mailbox: lost by the server": (MAILBOX, mailbox(4, "reset"), {"lost": 1}),
    "mailbox: everything is kept": (KEEPER, mailbox(4), {"lost": 1}),
    "names: found": (
        *(names.judge, [*named("add=g a", "g a"), op("remove", "g a"), search()]),
        {},
    ),
    "names: either while it is added": (
        *(names.judge, [late(op("add", "g a")), search(), search("g a")]),
        {},
    ),
    "names: not found": (names.judge, named("add=g a"), {"lost": 1}),
    "names: found after removal": (
        *(names.judge, named("add=g a, remove=g a", "g a")),
        {"stale": 1},
    ),
    "names: never added": (names.judge, named("", "g a"), {"doubled": 1}),
    "names: twice": (names.judge, named("add=g a", "g a", "g a"), {"doubled": 1}),
    "names: another order": (
        *(names.judge, named("add=g a, add=g b", "g b", "g a")),
        {"disordered": 1},
    ),
    "counts: the sum": (total(3, 3), [*adds(), op("read", "hits", 3)], {}),
    "counts: without an unknown one": (
        *(total(3, 3), [*adds(), unknown(op("add", "hits", amount=5))]),
        {},
    ),
    "counts: with an unknown one": (
        *(total(8, 8), [*adds(), unknown(op("add", "hits", amount=5))]),
        {},
    ),
    "counts: one more": (
        *(total(9, 9), [*adds(), unknown(op("add", "hits", amount=5))]),
        {"doubled": 2},
    ),
    "counts: too little": (total(3, 3), [*adds(), op("read", "hits", 2)], {"lost": 1}),
    "counts: too much": (total(3, 3), [*adds(), op("read", "hits", 4)], {"doubled": 1}),
    "counts: precisions differ": (total(3, 2), adds(), {"disordered": 1, "lost": 1}),
    "rows: the version that was written": (rows.judge, [op("get", "1", 0), *row(1)], {}),
    "rows: either while it is written": (
        *(rows.judge, [late(op("write", "1", 1)), op("get", "1", 0), op("get", "1", 1)]),
        {},
    ),
    "rows: the version before": (rows.judge, row(0), {"stale": 1}),
    "rows: a version to come": (rows.judge, row(2), {"disordered": 1}),
    "rows: none": (rows.judge, row(None), {"lost": 1}),
    "rows: the version before, from memory": (rows.judge, from_memory(9 * 10**8), {}),
    "rows: the same a second later": (rows.judge, from_memory(11 * 10**8), {"stale": 1}),
    "rows: one fails by itself": (rows.judge, failed("0"), {}),
    "rows: one fails with another": (rows.judge, failed("0", "1"), {"lost": 1}),
    "tally: each line once": (
        *(tally(), [day(), counted_lines()[0], day("f"), counted_lines()[1], day("f", "g")]),
        {},
    ),
    **{
        f"tally: {more:+} in {', '.join(wrong)}": (
            *(tally(**wrong), counted_lines()),
            {"doubled" if more > 0 else "lost": 1},
        )
        for more in (-1, 1)
        for wrong in wrong_sums(more)
    },
    "tally: a sum falls behind": (tally(), [*counted_lines(), day("f")], {"stale": 1}),
    "tally: a sum is ahead": (
        *(tally(), [counted_lines()[0], day("f", more=1), counted_lines()[1]]),
        {"doubled": 1},
    ),
    "tally: either while it is unknown": (
        *(tally(), [counted_lines()[0], unknown(counted_lines()[1]), day("f")]),
        {},
    ),
    "feed: every byte and line": (feed(), kept(), {}),
    "feed: a file was not read": (feed(), kept()[:1], {"lost": 1}),
    "feed: other bytes": (feed(), kept(b"other"), {"disordered": 1}),
    "feed: a line is missing": (feed(-1), kept(), {"lost": 1}),
    "feed: a line counts twice": (feed(+1), kept(), {"doubled": 1}),
}


@pytest.mark.parametrize(("judge", "history", "found"), CASES.values(), ids=CASES)
def test_judge(judge: Judge, history: list[Operation], found: dict[str, int]) -> None:
    assert counted(judge(history)) == found


def test_a_loss_is_dated() -> None:
    history = [enqueued("a"), enqueued("b"), run("a", 1)]
    [lost] = queue()(history)
    assert (lost.kind, lost.at_ns) == ("lost", history[1].return_ns)


def test_the_time_until_a_task_runs_again() -> None:
    killed, again = unknown(run("a", 1)), run("a", 2)
    history = [killed, run("b", 1), again, run("b", 2)]
    waited_s = (again.invoke_ns - killed.invoke_ns) / 1e9
    assert queues.longest_until_again_s(history) == waited_s
    assert queues.longest_until_again_s(history[1:]) == 0
