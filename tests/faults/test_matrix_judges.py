"""The judges of the fault matrix pass a right history, and bite on each kind of broken one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any

import pytest

from faults.history import Operation
from faults.matrix.cell import LOSS_S, NS, judged
from faults.matrix.nemeses import FAULTS
from faults.matrix.table import CELLS, QUICK, Cell, chosen
from faults.matrix.verdict import KINDS, Violation, counted
from faults.matrix.workloads import WORKLOADS, chats, counts, feeds, names, places, queues, rows

Judge = Callable[[Sequence[Operation]], list[Violation]]

_moments = count(1)


def op(kind: str, key: str, value: Any = None, **fields: Any) -> Operation:
    """One that began and ended after all before it."""
    at = 10 * next(_moments)
    return Operation("p", at, kind, key, at, at + 5, "ok", value, fields)


def unknown(operation: Operation) -> Operation:
    """The same, but nobody heard how it ended."""
    return replace(operation, return_ns=None, outcome="unknown", value=None)


def late(operation: Operation) -> Operation:
    """The same, but it ended long after all others."""
    return replace(operation, return_ns=10**9)


def kinds(judge: Judge, history: Sequence[Operation]) -> dict[str, int]:
    """What is wrong with a history."""
    return counted(judge(history))


class TestPlaces:
    """Locks and semaphores."""

    judge = staticmethod(partial(places.judge, limit=1))

    def cycle(self, holder: str, fence: int) -> list[Operation]:
        until = 10 * next(_moments) + 10**12
        return [
            op("acquire", "lock", fence, holder=holder, until_ns=until),
            op("write", "lock", True, holder=holder, fence=fence),
            op("release", "lock", holder=holder),
        ]

    def test_one_after_the_other(self) -> None:
        assert kinds(self.judge, [*self.cycle("a", 1), *self.cycle("b", 2)]) == {}

    def test_two_at_once(self) -> None:
        assert kinds(self.judge, [*self.cycle("a", 1)[:2], *self.cycle("b", 2)]) == {"overlap": 1}

    def test_a_fence_that_falls(self) -> None:
        history = [*self.cycle("a", 2), *self.cycle("b", 1)]
        assert kinds(self.judge, history) == {"disordered": 1, "stale": 1}

    def test_a_late_write(self) -> None:
        late = op("write", "lock", True, holder="a", fence=1)
        history = [*self.cycle("a", 1), *self.cycle("b", 2)]
        late = replace(late, invoke_ns=history[-1].invoke_ns + 1, return_ns=10**9)
        assert kinds(self.judge, [*history, late]) == {"stale": 1}


class TestQueues:
    """What was put in line, and what ran."""

    def judge(
        self, history: Sequence[Operation], *, dead: set[str] = frozenset(), token: int = 1
    ) -> list[Violation]:
        return queues.judge(history, set(dead), {"id-a": token})

    def run(self, key: str, token: int, enqueued: str = "monday") -> Operation:
        return op("complete", key, task_id=f"id-{key}", token=token, enqueued=enqueued)

    def test_each_ran(self) -> None:
        assert kinds(self.judge, [op("enqueue", "a", "id-a"), self.run("a", 1)]) == {}

    def test_one_may_run_that_was_not_acknowledged(self) -> None:
        assert kinds(self.judge, [unknown(op("enqueue", "a")), self.run("a", 1)]) == {}

    def test_one_never_ran(self) -> None:
        history = [op("enqueue", "a", "id-a"), op("enqueue", "b", "id-b"), self.run("a", 1)]
        [lost] = self.judge(history)
        assert (lost.kind, lost.at_ns) == ("lost", history[1].return_ns)
        assert self.judge(history, dead={"id-b"}) == []

    def test_one_ran_that_nobody_enqueued(self) -> None:
        assert kinds(self.judge, [self.run("a", 1)]) == {"doubled": 1}

    def test_one_claim_ran_twice(self) -> None:
        history = [op("enqueue", "a", "id-a"), self.run("a", 1), self.run("a", 1)]
        assert kinds(self.judge, history) == {"doubled": 1}

    def test_one_call_was_stored_twice(self) -> None:
        history = [op("enqueue", "a", "id-a"), self.run("a", 1), self.run("a", 2, "tuesday")]
        assert kinds(partial(self.judge, token=2), history) == {"doubled": 1}

    def test_the_word_of_an_older_claim_counts(self) -> None:
        history = [op("enqueue", "a", "id-a"), self.run("a", 1), self.run("a", 2)]
        assert kinds(partial(self.judge, token=2), history) == {}
        assert kinds(self.judge, history) == {"stale": 1}


class TestChats:
    """What was said, and what was read."""

    judge = staticmethod(partial(chats.judge, readers=["r"]))

    def fetch(self, *seqs: int) -> Operation:
        value = {"seqs": list(seqs), "bodies": [["s", seq] for seq in seqs], "gap": None}
        return op("fetch", "r", value)

    def read(self, *seqs: int) -> list[Operation]:
        handled = [op("handle", "r", seq=seq) for seq in seqs]
        return [self.fetch(*seqs), *handled, op("ack", "r", upto=seqs[-1])]

    def said(self, *numbers: int) -> list[Operation]:
        return [op("send", "s", number, number=number) for number in numbers]

    def test_all_is_read_once(self) -> None:
        assert kinds(self.judge, [*self.said(1, 2), *self.read(1), *self.read(2)]) == {}

    def test_one_is_lost(self) -> None:
        found = kinds(self.judge, [*self.said(1, 2, 3), *self.read(1), *self.read(3)])
        assert found == {"lost": 1, "disordered": 1}  # and skipped

    def test_one_comes_again(self) -> None:
        found = kinds(self.judge, [*self.said(1, 2), *self.read(1, 2), *self.read(2)])
        assert found == {"stale": 1}

    def test_what_the_server_lost_is_told(self) -> None:
        history = [*self.said(1, 2), *self.read(1)]
        assert kinds(partial(chats.judge_losses, readers=["r"]), history) == {"lost": 1}
        history += [op("told", "r", gap=(2, 2, "reset"))]
        assert kinds(partial(chats.judge_losses, readers=["r"]), history) == {"told": 1}
        assert kinds(partial(chats.judge_losses, readers=["r"]), [*history, *self.read(2)]) == {}

    def test_two_have_the_same_number(self) -> None:
        other = replace(self.fetch(1), value={"seqs": [1], "bodies": [["s", 2]], "gap": None})
        history = [*self.said(1, 2), *self.read(1, 2), other]
        assert kinds(self.judge, history)["disordered"] == 1


class TestNames:
    """What is found."""

    judge = staticmethod(names.judge)

    def test_what_is_there_is_found(self) -> None:
        history = [
            op("add", "g a"),
            op("search", "g", ["g a"]),
            op("remove", "g a"),
            op("search", "g", []),
        ]
        assert kinds(self.judge, history) == {}

    def test_either_way_while_nobody_knows(self) -> None:
        adding = late(op("add", "g a"))
        history = [adding, op("search", "g", []), op("search", "g", ["g a"])]
        assert kinds(self.judge, history) == {}

    @pytest.mark.parametrize(
        ("before", "found", "kind"),
        [
            (["add"], [], "lost"),
            (["add", "remove"], ["g a"], "stale"),
            ([], ["g a"], "doubled"),
            (["add"], ["g a", "g a"], "doubled"),
        ],
    )
    def test_broken(self, before: list[str], found: list[str], kind: str) -> None:
        history = [*(op(verb, "g a") for verb in before), op("search", "g", found)]
        assert kinds(self.judge, history) == {kind: 1}

    def test_another_order(self) -> None:
        history = [op("add", "g a"), op("add", "g b"), op("search", "g", ["g b", "g a"])]
        assert kinds(self.judge, history) == {"disordered": 1}


class TestCounts:
    """Sums."""

    judge = staticmethod(partial(counts.judge, sums=[3, 3]))

    def adds(self) -> list[Operation]:
        return [op("add", "hits", amount=1), op("add", "hits", amount=2)]

    def test_the_sum(self) -> None:
        assert kinds(self.judge, [*self.adds(), op("read", "hits", 3)]) == {}

    def test_one_perhaps(self) -> None:
        history = [*self.adds(), unknown(op("add", "hits", amount=5))]
        assert kinds(self.judge, history) == {}
        assert kinds(partial(counts.judge, sums=[8, 8]), history) == {}
        assert kinds(partial(counts.judge, sums=[9, 9]), history) == {"doubled": 2}

    def test_too_little(self) -> None:
        assert kinds(self.judge, [*self.adds(), op("read", "hits", 2)]) == {"lost": 1}

    def test_too_much(self) -> None:
        assert kinds(self.judge, [*self.adds(), op("read", "hits", 4)]) == {"doubled": 1}

    def test_precisions_that_differ(self) -> None:
        judge = partial(counts.judge, sums=[3, 2])
        assert kinds(judge, self.adds()) == {"disordered": 1, "lost": 1}


class TestRows:
    """What is shown."""

    judge = staticmethod(rows.judge)

    def test_the_version_that_was_written(self) -> None:
        history = [op("get", "1", 0), op("write", "1", 1), op("get", "1", 1)]
        assert kinds(self.judge, history) == {}

    def test_the_one_before_while_it_is_written(self) -> None:
        writing = late(op("write", "1", 1))
        assert kinds(self.judge, [writing, op("get", "1", 0), op("get", "1", 1)]) == {}

    @pytest.mark.parametrize(("shown", "kind"), [(0, "stale"), (2, "disordered"), (None, "lost")])
    def test_broken(self, shown: int | None, kind: str) -> None:
        history = [op("write", "1", 1), op("get", "1", shown)]
        assert kinds(self.judge, history) == {kind: 1}


class TestFeeds:
    """What arrived, and what was counted."""

    def history(self, *, kept: bytes | None = None) -> list[Operation]:
        data = feeds.contents("f")
        digest = hashlib.sha256(data if kept is None else kept).hexdigest()
        return [op("publish", "f"), op("keep", "f", digest)]

    def sums(self) -> dict[str, int]:
        words = feeds.contents("f").decode().split()[1::2]
        return {word: words.count(word) for word in feeds.WORDS}

    def test_every_byte_and_line(self) -> None:
        assert feeds.judge(self.history(), self.sums()) == []

    def test_a_file_that_was_not_read(self) -> None:
        assert counted(feeds.judge(self.history()[:1], self.sums())) == {"lost": 1}

    def test_other_bytes(self) -> None:
        found = feeds.judge(self.history(kept=b"other"), self.sums())
        assert counted(found) == {"disordered": 1}

    @pytest.mark.parametrize(("more", "kind"), [(-1, "lost"), (1, "doubled")])
    def test_a_line_that_is_not_counted_once(self, more: int, kind: str) -> None:
        sums = self.sums()
        sums["sold"] += more
        assert counted(feeds.judge(self.history(), sums)) == {kind: 1}


class TestVerdict:
    """What a cell makes of violations."""

    began_ns = 10**12
    lost = Violation("lost", "a", at_ns=10**12)

    def cell(self, mark: str, *allows: Any, shows: bool = False) -> Cell:
        return Cell("F", "block", mark, frozenset(allows), shows=shows)

    @pytest.mark.parametrize("mark", ["S", "U", "B", "V"])
    def test_nothing_wrong(self, mark: str) -> None:
        assert judged(self.cell(mark), [], self.began_ns) == "held"

    def test_what_is_not_allowed(self) -> None:
        assert judged(self.cell("S"), [self.lost], self.began_ns) == "broken: lost: a"

    def test_what_is_documented(self) -> None:
        assert judged(self.cell("V", "lost"), [self.lost], self.began_ns) == "held"

    def test_what_is_beyond_the_bound(self) -> None:
        early = replace(self.lost, at_ns=round(self.began_ns - (LOSS_S + 1) * NS))
        assert judged(self.cell("B", "lost"), [self.lost], self.began_ns) == "held"
        assert judged(self.cell("B", "lost"), [early], self.began_ns).startswith("broken")

    def test_a_violation_that_must_be_seen(self) -> None:
        cell = self.cell("V", "lost", shows=True)
        assert judged(cell, [], self.began_ns).startswith("toothless")
        assert judged(cell, [self.lost], self.began_ns) == "held"


def test_the_table_speaks_of_what_there_is() -> None:
    """Every fault, every block, and a reason for whatever is not plainly safe."""
    assert set(CELLS) == {(fault, block) for fault in FAULTS for block in WORKLOADS}
    for cell in CELLS.values():
        assert cell.mark in {"S", "U", "B", "V", "-"}
        assert bool(cell.allows) == (cell.mark in {"B", "V"}), cell
        assert bool(cell.why) == (cell.mark in {"B", "V", "-"}), cell
        assert cell.allows <= KINDS.keys()
    assert QUICK <= chosen() <= {name for name, cell in CELLS.items() if cell.mark != "-"}
