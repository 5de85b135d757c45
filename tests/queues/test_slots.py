"""How slots are shared among queues: decisions only, so thousands of histories take no time."""

import random
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.queues.worker.fair_share import MAX_ROUND_TRIP_S, FairShare

MOST = 64
WEIGHTS = st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 9), min_size=1)


def step(slots: FairShare, queue: str, backlog: int, now: float = 0.0) -> int:
    """Make a step of *queue* that is answered at once, and return how many tasks start."""
    wanted = slots.share(queue, now)
    slots.reserve(queue, wanted, now)
    claimed = min(wanted, backlog)
    return slots.answered(queue, claimed, more=claimed == wanted)


def find_nothing(slots: FairShare, queue: str) -> None:
    """Make a step of *queue* that finds it empty."""
    slots.reserve(queue, slots.share(queue, 0.0), 0.0)
    assert slots.answered(queue, 0, more=False) == 0


def served(slots: FairShare, queues: str, rounds: int, seed: int = 0) -> dict[str, int]:
    """Return how many tasks each queue starts, if all have enough and one ends in each round."""
    dice = random.Random(seed)
    counts = dict.fromkeys(queues, 0)
    for _ in range(rounds):
        for queue in dice.sample(queues, len(queues)):
            while started := step(slots, queue, MOST):
                counts[queue] += started
        assert slots.free == 0  # work-conserving
        slots.release()
    return counts


def test_one_queue_takes_all_slots_up_to_what_a_step_may_fill() -> None:
    assert FairShare({"a": 1}, 50, MOST).share("a", 0.0) == 50
    assert FairShare({"a": 1}, 500, MOST).share("a", 0.0) == MOST


@pytest.mark.parametrize("total", [1, 2, 10, 50])
def test_service_is_as_the_weights(total: int) -> None:
    counts = served(FairShare({"a": 3, "b": 1}, total, MOST), "ab", 800)
    assert counts["a"] == pytest.approx(3 * counts["b"], abs=4)


@given(WEIGHTS, st.integers(1, 100), st.integers(0, 2**32))
@settings(max_examples=25)
def test_no_queue_is_further_from_its_share_than_a_task_per_queue(
    weights: dict[str, int], total: int, seed: int
) -> None:
    counts = served(FairShare(weights, total, MOST), "".join(weights), 300, seed)
    started = sum(counts.values())
    for queue, weight in weights.items():
        fair = started * weight / sum(weights.values())
        assert abs(counts[queue] - fair) <= len(weights)


def test_equal_queues_take_turns() -> None:
    slots = FairShare(dict.fromkeys("abc", 1), 1, MOST)
    turns = []
    for _ in range(9):
        queue = slots.next()
        assert queue is not None
        turns.append(queue)
        assert step(slots, queue, MOST) == 1
        slots.release()
    assert turns == list("abcabcabc")


def test_the_share_of_a_queue_without_tasks_goes_to_the_others() -> None:
    slots = FairShare({"a": 1, "b": 9, "c": 1}, 10, MOST)
    find_nothing(slots, "b")
    assert step(slots, "a", backlog=MOST) == 5
    find_nothing(slots, "c")
    assert step(slots, "a", backlog=MOST) == 5
    assert slots.free == 0


def test_what_a_queue_may_take_is_kept_while_another_steps() -> None:
    slots = FairShare({"a": 1, "b": 1}, 10, MOST)
    slots.reserve("a", slots.share("a", 0.0), 0.0)
    assert slots.share("b", 0.0) == 5
    slots.reserve("b", 5, 0.0)
    slots.answered("a", 5, more=True)
    for _ in range(5):
        slots.release()  # what a ran is done, and b's step is still under way
    # b has as much as a: of what is free now half is b's.
    assert slots.share("a", 0.0) == 3
    slots.reserve("a", 3, 0.0)
    assert slots.answered("b", 5, more=True) == 5
    assert slots.share("b", 0.0) == 2


def test_a_queue_that_was_idle_has_no_credit() -> None:
    """It comes back at the present, and does not make up for what it did not need."""
    slots = FairShare({"a": 1, "b": 1}, 1, MOST)
    find_nothing(slots, "b")
    for _ in range(1000):
        assert step(slots, "a", MOST) == 1
        slots.release()
    slots.expect_tasks("b")
    counts = served(slots, "ab", 100)
    assert counts["b"] <= 51


def test_a_queue_that_was_alone_has_no_debt() -> None:
    slots = FairShare({"a": 1, "b": 1}, 10, MOST)
    find_nothing(slots, "b")
    step(slots, "a", MOST)
    for _ in range(10):
        slots.release()
    slots.expect_tasks("b")
    assert abs(slots.share("a", 0.0) - slots.share("b", 0.0)) <= 10
    assert served(slots, "ab", 100)["a"] >= 45


def test_an_unanswered_step_holds_its_slots_for_a_moment_only() -> None:
    slots = FairShare({"a": 1, "b": 1}, 10, MOST)
    slots.reserve("a", slots.share("a", 0.0), 0.0)
    assert slots.share("b", MAX_ROUND_TRIP_S) == 5
    late = MAX_ROUND_TRIP_S + 0.1
    assert slots.share("b", late) == 10
    assert step(slots, "b", 10, late) == 10
    assert slots.next() is None


@pytest.mark.parametrize("free", [0, 2, 5, 9])
def test_claims_that_come_too_late_get_the_slots_that_are_left(free: int) -> None:
    """The rest is the caller's to give back; afterwards the queue takes part again."""
    slots = FairShare({"a": 1, "b": 1}, 10, MOST)
    slots.reserve("a", 5, 0.0)
    late = MAX_ROUND_TRIP_S + 1
    assert slots.share("b", late) == 10
    assert step(slots, "b", 10 - free, late) == 10 - free
    assert slots.answered("a", 5, more=True) == min(5, free)
    assert slots.free == max(0, free - 5)
    for _ in range(10):
        slots.release()
    assert slots.share("a", late) > 0


def test_a_queue_that_was_away_has_no_credit_either() -> None:
    """Minutes without an answer are not made up for."""
    slots = FairShare({"a": 1, "b": 1}, 1, MOST)
    slots.reserve("a", 1, 0.0)
    for _ in range(1000):
        assert step(slots, "b", MOST, now=MAX_ROUND_TRIP_S + 1) == 1
        slots.release()
    slots.answered("a", 0, more=True)
    assert served(slots, "ab", 100)["a"] <= 51


def test_the_next_one_is_a_hungry_one_that_makes_no_step() -> None:
    slots = FairShare({"a": 2, "b": 1}, 1, MOST)
    assert slots.next() == "a"
    slots.reserve("a", 0, 0.0)
    assert slots.next() == "b"
    slots.answered("a", 0, more=False)
    assert step(slots, "b", MOST) == 1
    assert slots.next() is None
    slots.release()
    assert slots.next() == "b"
    assert not slots.all_empty
    find_nothing(slots, "b")
    assert slots.next() is None
    assert slots.all_empty


@given(
    WEIGHTS,
    st.integers(1, 200),
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 80), st.booleans()), max_size=200),
)
@settings(max_examples=25)
def test_in_any_history_no_slot_is_lost_or_given_twice(
    weights: dict[str, int], total: int, events: list[tuple[int, int, bool]]
) -> None:
    """Steps that overlap, fail to find anything, or come too late; tasks that end in between."""
    slots = FairShare(weights, total, MOST)
    queues = sorted(weights)
    under_way: dict[str, int] = {}
    running, now = 0, 0.0
    for which, amount, flag in events:
        queue = queues[which % len(queues)]
        now += amount / 200
        if queue in under_way:
            claimed = min(under_way.pop(queue), amount)
            running += slots.answered(queue, claimed, more=flag)
        elif flag and running:
            slots.release()
            running -= 1
        else:
            slots.expect_tasks(queue)
            want = slots.share(queue, now)
            assert 0 <= want <= min(slots.free, MOST)
            slots.reserve(queue, want, now)
            under_way[queue] = want
        assert 0 <= slots.free <= total - running
    for queue, want in under_way.items():
        running += slots.answered(queue, want, more=True)
    assert slots.free + running == total
    shares = [slots.share(queue, now) for queue in queues if slots.may_have_tasks(queue)]
    if shares and MOST not in shares:
        assert sum(shares) == slots.free


MANY = {f"q{n}": 1 + (n == 0) for n in range(100)}


def ended(slots: FairShare, seconds: float, queues: Iterable[str] = MANY) -> None:
    """Run a task of each queue that takes so long, so that the mean is known."""
    for queue in queues:
        slots.reserve(queue, 1, 0.0)
        assert slots.answered(queue, 1, more=True) == 1
        slots.release(seconds)


def test_of_many_queues_with_short_tasks_each_takes_a_batch_in_its_turn() -> None:
    slots = FairShare(MANY, 200, MOST)
    assert slots.share("q2", 0.0) in (1, 2)  # nothing is known of the tasks
    ended(slots, 0.0001)
    counts = dict.fromkeys(MANY, 0)
    for _ in range(400):
        queue = slots.next()
        assert queue is not None
        started = step(slots, queue, MOST)
        assert started == 50  # a quarter of the slots
        counts[queue] += started
        for _ in range(started):
            slots.release(0.0001)
    fair = sum(counts.values()) / 101
    assert abs(counts.pop("q0") - 2 * fair) <= 50
    assert all(abs(count - fair) <= 50 for count in counts.values())


@given(st.lists(st.integers(0, 99), min_size=1, max_size=60), st.integers(0, 2**32))
@settings(max_examples=25)
def test_batches_leave_no_slot_free(first: list[int], seed: int) -> None:
    """In any order of steps, the free slots go to queues with tasks."""
    slots = FairShare(MANY, 200, MOST)
    ended(slots, 0.0001)
    dice = random.Random(seed)
    for n in first:
        step(slots, f"q{n}", MOST)
    order = dice.sample(list(MANY), len(MANY))
    for _ in range(8):
        for queue in order:
            step(slots, queue, MOST)
    assert slots.free == 0


@pytest.mark.parametrize(("seconds", "most"), [(0.01, 10), (0.05, 2), (10.0, 2)])
def test_the_longer_tasks_take_the_smaller_is_a_batch(seconds: float, most: int) -> None:
    slots = FairShare(MANY, 200, MOST)
    ended(slots, seconds)
    started = {queue: step(slots, queue, MOST) for queue in MANY}
    assert slots.free == 0
    assert started.pop("q0") <= 2 * most  # its weight is 2
    assert max(started.values()) == most


def test_few_queues_share_the_slots_at_once() -> None:
    slots = FairShare({"q1": 1, "q2": 1}, 200, MOST)
    ended(slots, 0.0001, ("q1", "q2"))
    assert slots.share("q1", 0.0) == MOST
    assert slots.share("q2", 0.0) == MOST


def divide(slots: FairShare, queue: str, parts: list[str]) -> None:
    """Divide *queue* among partitions that may have tasks."""
    slots.divide(queue, parts)
    for part in parts:
        slots.expect_tasks(part)


def test_partitions_of_a_queue_claim_whole_steps_in_turns() -> None:
    slots = FairShare({"a": 1, "b": 1}, 10, MOST)
    slots.answered("b", 0, more=False)
    parts = ["a", "a/1", "a/2"]
    divide(slots, "a", parts)
    assert [slots.share(part, 0.0) for part in parts] == [10] * 3
    counts = served(slots, parts, 900)
    assert all(280 <= counts[part] <= 320 for part in parts)


def test_partitions_of_a_queue_have_its_share_together() -> None:
    slots = FairShare({"a": 1, "b": 1}, 10, 5)
    parts = ["a", "a/1", "a/2", "a/3"]
    divide(slots, "a", parts)
    counts = served(slots, [*parts, "b"], 1000)
    assert 400 <= sum(counts[part] for part in parts) <= 600


def test_a_partition_that_has_no_tasks_takes_no_turn() -> None:
    slots = FairShare({"a": 1}, 10, MOST)
    divide(slots, "a", ["a", "a/1"])
    slots.answered("a/1", 0, more=False)
    assert served(slots, ["a"], 500)["a"] >= 490


def test_a_new_partition_holds_back_no_other_before_its_server_accepts_the_worker() -> None:
    slots = FairShare({"a": 1}, 10, MOST)
    slots.divide("a", ["a", "a/1"])
    assert served(slots, ["a"], 500)["a"] >= 490
    slots.expect_tasks("a/1")
    counts = served(slots, ["a", "a/1"], 500)
    assert 240 <= counts["a/1"] <= 260


def test_a_slot_that_is_taken_without_a_step_counts_as_one_of_the_queue() -> None:
    slots = FairShare({"a": 1, "b": 1}, 3, MOST)
    find_nothing(slots, "a")
    find_nothing(slots, "b")
    assert slots.take("a")
    assert slots.take("a")
    assert slots.free == 1
    slots.expect_tasks("a")
    slots.expect_tasks("b")
    assert slots.next() == "b"
    slots.reserve("b", 1, 0.0)
    assert not slots.take("a")
    assert slots.answered("b", 1, more=True) == 1
    for _ in range(3):
        slots.release(0.01)
    slots.set_full("a", full=True)
    assert not slots.take("a")
    assert slots.free == 3
