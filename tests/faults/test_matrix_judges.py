"""The judges of the fault matrix pass a right history, and bite on each kind of broken one."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any

import pytest

from faults.history import Operation
from faults.matrix.verdict import Violation, counted
from faults.matrix.workloads import (
    chats,
    counts,
    feeds,
    lines,
    names,
    places,
    queues,
    rows,
)

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

    def test_how_long_what_was_cut_short_lay_there(self) -> None:
        killed, again = self.run("a", 1), self.run("a", 2)
        killed = replace(killed, return_ns=None, outcome="unknown")
        history = [killed, self.run("b", 1), again, self.run("b", 2)]
        waited_s = (again.invoke_ns - killed.invoke_ns) / 1e9
        assert queues.longest_until_again_s(history) == waited_s
        assert queues.longest_until_again_s(history[1:]) == 0


class TestChats:
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


class TestMailboxes:
    judge = staticmethod(partial(chats.judge, readers=["r"], keep=2))

    def history(self, first: int, reason: str = "dropped") -> list[Operation]:
        """Of five messages those from *first* on were shown, and of the others it was told."""
        seqs, gap = list(range(first, 6)), [1, first - 1, reason]
        bodies = [["s", seq] for seq in seqs]
        return [
            *(op("send", "s", number, number=number) for number in range(1, 6)),
            op("fetch", "r", {"seqs": seqs, "bodies": bodies, "gap": gap}),
            op("told", "r", gap=gap),
            *(op("handle", "r", seq=seq) for seq in seqs),
        ]

    def test_what_is_too_much_may_go(self) -> None:
        assert kinds(self.judge, self.history(4)) == {}

    def test_not_without_a_word(self) -> None:
        history = [each for each in self.history(4) if each.kind != "told"]
        assert kinds(self.judge, history) == {"lost": 1}

    def test_not_what_there_was_room_for(self) -> None:
        assert kinds(self.judge, self.history(5)) == {"lost": 1}

    def test_not_by_the_server(self) -> None:
        assert kinds(self.judge, self.history(4, "reset")) == {"lost": 1}

    def test_nothing_where_all_is_kept(self) -> None:
        assert kinds(partial(self.judge, keep=None), self.history(4)) == {"lost": 1}


class TestNames:
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

    def test_one_that_fails_with_another(self) -> None:
        failed = [op("get", row, reason=rows.INDIGESTIBLE) for row in ("0", "1")]
        history = [replace(each, outcome="fail") for each in failed]
        assert kinds(self.judge, history[:1]) == {}
        assert kinds(self.judge, history) == {"lost": 1}


class TestTallies:
    def judge(self, history: Sequence[Operation], **wrong: Any) -> list[Violation]:
        return lines.judge(history, lines.sums_of(["f", "g"])._replace(**wrong))

    def count(self, *names: str) -> Operation:
        return op("count", "daily", names=names)

    def counted(self) -> list[Operation]:
        return [self.count("f"), self.count("f", "g")]

    def first_day(self, *names: str) -> int:
        return lines.sums_of(names).days[lines.DAYS[0]]

    def test_each_line_once(self) -> None:
        history = [
            op("total", "day", 0),
            self.count("f"),
            op("total", "day", self.first_day("f")),
            self.count("f", "g"),
            op("total", "day", self.first_day("f", "g")),
        ]
        assert kinds(self.judge, history) == {}

    @pytest.mark.parametrize(("more", "kind"), [(-1, "lost"), (1, "doubled")])
    def test_a_line_more_or_less_in_the_end(self, more: int, kind: str) -> None:
        sums = lines.sums_of(["f", "g"])
        word, day = (lines.DAYS[0], "sold"), lines.DAYS[0]
        for wrong in (
            {"words": {**sums.words, word: sums.words[word] + more}},
            {"days": {**sums.days, day: sums.days[day] + more}},
            {"rejected": sums.rejected + more},
        ):
            assert kinds(partial(self.judge, **wrong), self.counted()) == {kind: 1}

    def test_a_sum_that_falls_behind(self) -> None:
        history = [*self.counted(), op("total", "day", self.first_day("f"))]
        assert kinds(self.judge, history) == {"stale": 1}

    def test_a_sum_that_is_ahead(self) -> None:
        much = self.first_day("f") + 1
        history = [self.count("f"), op("total", "day", much), self.count("f", "g")]
        assert kinds(self.judge, history) == {"doubled": 1}

    def test_perhaps_while_nobody_knows(self) -> None:
        first, second = self.counted()
        history = [first, unknown(second), op("total", "day", self.first_day("f"))]
        assert kinds(self.judge, history) == {}


class TestFeeds:
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
