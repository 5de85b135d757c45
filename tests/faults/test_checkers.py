"""Each checker passes a right history and bites on a broken one."""

import math
import random
from contextlib import nullcontext
from itertools import combinations, count, permutations
from typing import Any

import pytest

from faults.checkers import (
    Counter,
    FencedLock,
    FifoQueue,
    QueueCounts,
    Register,
    audit,
    interval_overlap,
    linearizability,
    read_keys,
    rising_fences,
    total_queue,
)
from faults.clusters import Cluster
from faults.history import Operation, Outcome
from faults.servers import Server

NS = 1_000_000_000
_numbers = count()


def op(
    kind: str,
    span: tuple[int, int | None],
    value: Any = None,
    *,
    key: str = "thing",
    process: str = "p1",
    outcome: Outcome = "ok",
    **fields: Any,
) -> Operation:
    """Make an operation of a history; times are short numbers."""
    return Operation(process, next(_numbers), kind, key, *span, outcome, value, fields)


def enqueued(key: str, outcome: Outcome = "ok") -> Operation:
    """Make an enqueue; its time does not matter."""
    return op("enqueue", (0, 1), key=key, outcome=outcome)


def completed(key: str, outcome: Outcome = "ok") -> Operation:
    """Make a run of a task's body; its time does not matter."""
    return op("complete", (2, 3), key=key, outcome=outcome)


class TestTotalQueue:
    """Nothing lost, nothing from nowhere; repeats and recoveries are counted."""

    def test_a_right_history_is_counted(self) -> None:
        history = [
            *(enqueued(key) for key in ("once", "twice", "dead", "waiting")),
            *(enqueued("unsure", "unknown"), enqueued("refused", "fail")),
            *(completed(key) for key in ("once", "twice", "twice", "unsure")),
        ]
        counts = total_queue(history, dead=["dead"], pending=["waiting"])
        assert counts == QueueCounts(acknowledged=4, completed=3, duplicated=1, recovered=1)

    def test_a_lost_task_is_named(self) -> None:
        with pytest.raises(AssertionError, match=r"1 acknowledged, but neither.*: gone"):
            total_queue([enqueued("gone"), enqueued("done"), completed("done")])

    def test_a_body_cut_short_is_no_completion(self) -> None:
        with pytest.raises(AssertionError, match="gone"):
            total_queue([enqueued("gone"), completed("gone", "unknown")])

    def test_a_task_from_nowhere_is_named(self) -> None:
        with pytest.raises(AssertionError, match=r"was never enqueued: ghost, refused"):
            total_queue([enqueued("refused", "fail"), completed("refused"), completed("ghost")])


class TestIntervalOverlap:
    def test_holders_in_turn_pass(self) -> None:
        interval_overlap(
            [
                op("acquire", (0, 1), 7, process="a"),
                op("release", (5, 9), True, process="a"),
                op("acquire", (0, 6), 8, process="b"),
                op("acquire", (6, 7), None, process="c"),
            ],
            lease=1.0,
        )

    def test_two_holders_of_a_lock_are_shown(self) -> None:
        history = [
            op("acquire", (0, 1), 7, process="a"),
            op("release", (5, 6), True, process="a"),
            op("acquire", (0, 4), 8, process="b"),
        ]
        with pytest.raises(AssertionError, match=r"2 holders at 4, the limit is 1:\n  a .*\n  b "):
            interval_overlap(history, lease=1.0)

    def test_a_semaphore_has_its_limit(self) -> None:
        history = [op("acquire", (0, n), n, process=str(n)) for n in (1, 2, 3)]
        interval_overlap(history, lease=1.0, limit=3)
        with pytest.raises(AssertionError, match="3 holders at 3, the limit is 2"):
            interval_overlap(history, lease=1.0, limit=2)

    def test_a_dead_holder_holds_for_its_lease(self) -> None:
        dead = op("acquire", (0, 1), 7, process="a")
        interval_overlap([dead, op("acquire", (NS, NS), 8, process="b")], lease=1.0)
        with pytest.raises(AssertionError, match="2 holders"):
            interval_overlap([dead, op("acquire", (0, NS - 1), 8, process="b")], lease=1.0)

    def test_a_renewal_holds_on(self) -> None:
        history = [
            op("acquire", (0, 1), 7, process="a"),
            op("renew", (NS // 2, NS // 2 + 1), True, process="a"),
            op("acquire", (NS, NS + 1), 8, process="b"),
        ]
        with pytest.raises(AssertionError, match="2 holders"):
            interval_overlap(history, lease=1.0)

    @pytest.mark.parametrize("notice", [op("lost", (3, 3)), op("renew", (2, 3), False)])
    def test_a_holder_that_was_notified_of_the_loss_holds_nothing(self, notice: Operation) -> None:
        history = [op("acquire", (0, 1), 7), notice, op("acquire", (0, 4), 8, process="b")]
        interval_overlap(history, lease=math.inf)

    def test_the_holders_own_reckoning_goes_first(self) -> None:
        """An acquire that waited longer than a lease still holds when it returns."""
        with pytest.raises(ValueError, match="note its until_ns"):
            interval_overlap([op("acquire", (0, 5 * NS), 7)], lease=1.0)
        history = [
            op("acquire", (0, 5 * NS), 7, process="a", until_ns=6 * NS),
            op("acquire", (0, 5 * NS + 1), 8, process="b", until_ns=6 * NS),
        ]
        with pytest.raises(AssertionError, match="2 holders"):
            interval_overlap(history, lease=1.0)

    def test_keys_and_holders_within_a_process_are_apart(self) -> None:
        a = op("acquire", (0, 1), 7, holder="thread-1")
        interval_overlap([a, op("acquire", (0, 1), 7, key="other")], lease=1.0)
        with pytest.raises(AssertionError, match="thread-1"):
            interval_overlap([a, op("acquire", (0, 1), 8, holder="thread-2")], lease=1.0)


class TestRisingFences:
    def test_fences_that_rise_pass(self) -> None:
        rising_fences(
            [
                op("acquire", (0, 5), 3),
                op("acquire", (1, 4), 2),
                op("acquire", (6, 7), None),
                op("acquire", (6, 8), 9),
                op("acquire", (6, 8), 1, key="other"),
            ]
        )

    def test_the_same_fence_twice_is_shown(self) -> None:
        with pytest.raises(AssertionError, match="the same fence twice"):
            rising_fences([op("acquire", (0, 5), 3), op("acquire", (1, 4), 3)])

    def test_a_lower_fence_later_is_shown(self) -> None:
        with pytest.raises(AssertionError, match="a later acquire has a lower fence"):
            rising_fences([op("acquire", (0, 1), 3), op("acquire", (2, 4), 2)])

    def test_the_highest_fence_returned_counts_and_not_the_last(self) -> None:
        history = [op("acquire", (0, 1), 9), op("acquire", (0, 2), 3), op("acquire", (3, 4), 5)]
        with pytest.raises(AssertionError, match="lower fence"):
            rising_fences(history)


def write(span: tuple[int, int | None], new: Any, outcome: Outcome = "ok") -> Operation:
    """Make a write to a register; its field has the same name as an attribute."""
    return Operation("p1", next(_numbers), "write", "thing", *span, outcome, None, {"value": new})


class TestLinearizability:
    def test_a_register_may_be_read_old_or_new_during_a_write(self) -> None:
        history = [write((0, 10), 1), op("read", (1, 2), None), op("read", (3, 4), 1)]
        linearizability(history, Register())

    def test_a_register_never_goes_back(self) -> None:
        history = [write((0, 10), 1), op("read", (1, 2), 1), op("read", (3, 4), None)]
        with pytest.raises(AssertionError, match="thing is not linearizable"):
            linearizability(history, Register())

    def test_a_stale_read_is_explained(self) -> None:
        history = [write((0, 1), 1), op("read", (2, 3), None)]
        with pytest.raises(AssertionError, match=r"explains 1 op(.|\n)*state is \(1,\)(.|\n)*read"):
            linearizability(history, Register())

    def test_only_one_of_two_swaps_succeeds(self) -> None:
        first = op("cas", (0, 3), True, old=None, new=1)
        linearizability([first, op("cas", (0, 3), False, old=None, new=2)], Register())
        with pytest.raises(AssertionError, match="not linearizable"):
            linearizability([first, op("cas", (0, 3), True, old=None, new=2)], Register())

    def test_an_unknown_write_takes_effect_late_or_never(self) -> None:
        unknown = write((0, None), 1, "unknown")
        linearizability([unknown, op("read", (5, 6), None), op("read", (7, 8), 1)], Register())
        linearizability([unknown, op("read", (5, 6), None)], Register())
        with pytest.raises(AssertionError, match="not linearizable"):
            linearizability([unknown, op("read", (5, 6), 1), op("read", (7, 8), None)], Register())

    def test_a_failed_write_is_never_seen(self) -> None:
        with pytest.raises(AssertionError, match="not linearizable"):
            linearizability([write((0, 1), 1, "fail"), op("read", (2, 3), 1)], Register())

    def test_a_counter_that_counts_twice_is_found(self) -> None:
        adds = [op("add", (0, 5), amount=1), op("add", (0, 5), amount=1, outcome="unknown")]
        for total in (1, 2):
            linearizability([*adds, op("read", (6, 7), total)], Counter())
        with pytest.raises(AssertionError, match="not linearizable"):
            linearizability([*adds, op("read", (6, 7), 3)], Counter())

    def test_a_queue_is_first_in_first_out(self) -> None:
        puts = [op("enqueue", (0, 1), item="a"), op("enqueue", (2, 3), item="b")]
        a, b = op("dequeue", (4, 5), "a"), op("dequeue", (6, 7), "b")
        linearizability([*puts, a, b, op("dequeue", (8, 9), None)], FifoQueue())
        with pytest.raises(AssertionError, match="not linearizable"):
            linearizability([*puts, op("dequeue", (4, 5), "b")], FifoQueue())

    def test_a_lock_has_one_holder(self) -> None:
        mine = op("acquire", (0, 1), 7, process="a")
        busy = op("acquire", (2, 3), None, process="b")
        free = op("release", (4, 5), True, process="a")
        yours = op("acquire", (6, 7), 8, process="b")
        linearizability([mine, busy, free, yours], FencedLock())
        with pytest.raises(AssertionError, match="not linearizable"):
            linearizability([mine, yours], FencedLock())
        with pytest.raises(AssertionError, match="not linearizable"):
            linearizability([mine, free, op("acquire", (6, 7), 7)], FencedLock())

    def test_keys_are_apart(self) -> None:
        linearizability(
            [op("add", (0, 1), 1, amount=1), op("add", (2, 3), 1, amount=1, key="other")], Counter()
        )

    def test_the_budget_is_an_end(self) -> None:
        history = [op("add", (0, 99), amount=n, outcome="unknown") for n in range(20)]
        with pytest.raises(AssertionError, match="undecided"):
            linearizability([*history, op("read", (100, 101), -1)], Counter(), budget=1_000)

    def test_the_search_agrees_with_trying_every_order(self, seed: int) -> None:
        chance = random.Random(seed)
        results = []
        for _ in range(300):
            history = _random_register_history(chance, operations=5)
            expected = _some_order_explains(history, Register())
            results.append(expected)
            with nullcontext() if expected else pytest.raises(AssertionError, match="not linear"):
                linearizability(history, Register())
        assert 30 < sum(results) < 270  # both results were put to the test

    def test_long_histories_are_checked_in_time(self, seed: int) -> None:
        history = _lock_history(random.Random(seed), operations=5_000, clients=16)
        linearizability(history, FencedLock())
        grants = [index for index, done in enumerate(history) if done.value not in (None, True)]
        broken = history[grants[-10]]
        history[grants[-10]] = op("acquire", (broken.invoke_ns, broken.return_ns), 1)
        with pytest.raises(AssertionError, match="not linearizable"):
            linearizability(history, FencedLock())


def _random_register_history(chance: random.Random, operations: int) -> list[Operation]:
    """Make a history that may be right or wrong."""
    history = []
    for _ in range(operations):
        call_ns = chance.randrange(12)
        span = call_ns, call_ns + chance.randrange(1, 8)
        outcome: Outcome = chance.choice(["ok", "ok", "ok", "unknown", "fail"])
        if chance.random() < 0.5:
            history.append(write(span, chance.randrange(2), outcome))
        else:
            history.append(op("read", span, chance.choice([None, 0, 1]), outcome=outcome))
    return history


def _some_order_explains(history: list[Operation], model: Register) -> bool:
    """Try every order of every choice of the unknown operations."""
    sure = [done for done in history if done.outcome == "ok"]
    unsure = [done for done in history if done.outcome == "unknown"]
    return any(
        _explains(order, model)
        for size in range(len(unsure) + 1)
        for chosen in combinations(unsure, size)
        for order in permutations([*sure, *chosen])
    )


def _explains(order: tuple[Operation, ...], model: Register) -> bool:
    state: tuple[Any] | None = model.initial
    for index, done in enumerate(order):
        late = ((other.outcome == "ok" and other.return_ns) or math.inf for other in order[index:])
        if state is None or any(end_ns < done.invoke_ns for end_ns in late):
            return False
        state = model.step(state, done)
    return state is not None


def _lock_history(chance: random.Random, operations: int, clients: int) -> list[Operation]:
    """Make a right history: each operation takes effect at a moment between call and return."""
    done: list[Operation] = []
    owner, fence, free_ns = None, 0, dict.fromkeys(range(clients), 0)
    for now_ns in range(1_000, 1_000 + operations * 10, 10):
        client = chance.randrange(clients)
        span = max(free_ns[client], now_ns - chance.randrange(30)), now_ns + chance.randrange(30)
        if span[0] > now_ns:
            continue  # this client is still busy
        free_ns[client] = span[1] + 1
        name = str(client)
        if owner == client:
            owner = None
            done.append(op("release", span, True, process=name))
        elif owner is None:
            owner, fence = client, fence + 1
            done.append(op("acquire", span, fence, process=name))
        else:
            done.append(op("acquire", span, None, process=name))
    return done


class TestAudit:
    def test_a_key_without_an_owner_is_named(self, standalone: Server) -> None:
        client = standalone.client()
        client.set("audit:{a}:kept", "1")
        client.rpush("audit:{a}:stray", "1")
        client.set("audit:{a}:short", "1", ex=100)
        client.set("elsewhere", "1")

        with pytest.raises(AssertionError, match=r"1 keys without.*\n  audit:{a}:stray \(list\)"):
            audit(client, "audit:", ["audit:{*}:kept"])
        facts = audit(client, "audit:", ["audit:{*}:kept", "audit:{*}:stray"])

        assert facts == {
            "audit:{a}:kept": ("string", None),
            "audit:{a}:stray": ("list", None),
            "audit:{a}:short": ("string", facts["audit:{a}:short"].ttl),
        }
        assert 90 < (facts["audit:{a}:short"].ttl or 0) <= 100

    def test_all_primaries_of_a_cluster_are_read(self, cluster: Cluster) -> None:
        client = cluster.client()
        for number in range(100):
            client.set(f"au[d]it:{number}", "1")
        client.set("audit:d", "1")
        assert len(read_keys(client, "au[d]it:")) == 100
