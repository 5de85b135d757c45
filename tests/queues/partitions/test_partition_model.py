"""A queue with partitions does what a model of one queue does, whatever its number becomes."""

import secrets
from collections import Counter

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faults.servers import Server
from holdfast import Holdfast, QueueAtCapacity
from queues.partitions.partitioned_tasks import QUEUE, limited, plain, ran, tasks, unique

KEYS = 4
MOST_CHANGES = 8
"""Changes of the number of partitions that a queue allows in a day."""

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("plain"), st.integers(1, 5)),
        st.tuples(st.just("unique"), st.integers(0, KEYS - 1)),
        st.tuples(st.just("limited"), st.integers(0, KEYS - 1)),
        st.tuples(st.just("partitions"), st.integers(1, 6)),
        st.tuples(st.just("capacity"), st.integers(6, 30)),
        st.tuples(st.sampled_from(["pause", "resume", "purge", "work"]), st.just(0)),
    ),
    max_size=25,
)


class Model:
    """One queue, without partitions.

    Attributes:
        waiting: what waits, in order: the kind, its key, and a number.
        paused: whether it is paused.
        capacity: tasks that may wait; 0 for no limit.
        exact: whether no more than that wait. While tasks that were enqueued before wait, a change
            of the partitions or of the capacity leaves room in other partitions.
        ran: what ran, in order.
    """

    def __init__(self) -> None:
        self.waiting: list[tuple[str, int, int]] = []
        self.paused = False
        self.capacity = 0
        self.exact = True
        self.ran: list[tuple[str, int, int]] = []

    def enqueue(self, kind: str, key: int, number: int) -> None:
        """Add a task, unless it is unique and another one holds its key."""
        if kind != "unique" or not any(each[:2] == (kind, key) for each in self.waiting):
            self.waiting.append((kind, key, number))

    def work(self) -> None:
        """Run all, unless the queue is paused."""
        if not self.paused:
            self.ran += self.waiting
            self.waiting.clear()


@settings(max_examples=20, suppress_health_check=list(HealthCheck), database=None)
@given(steps=STEPS)
def test_the_whole_is_one_queue(standalone: Server, steps: list[tuple[str, int]]) -> None:
    """Orders hold by key; pause, capacity, stats and unique keys hold for the whole."""
    ran.clear()
    model, changes = Model(), 0
    with Holdfast.from_url(standalone.url, namespace=f"model-{secrets.token_hex(4)}") as hf:
        queue = hf.queue(QUEUE)
        for number, (step, value) in enumerate([*steps, ("resume", 0), ("work", 0)]):
            if step in ("plain", "unique", "limited"):
                enqueue(hf, model, step, value, number)
            elif step == "partitions" and changes < MOST_CHANGES:
                changes += 1
                model.exact = not model.waiting
                queue.repartition(value)
            elif step == "capacity":
                model.capacity, model.exact = value, not model.waiting
                queue.redefine(capacity=value)
            elif step in ("pause", "resume"):
                model.paused = step == "pause"
                (queue.pause if model.paused else queue.resume)()
            elif step == "purge":
                assert queue.purge() == len(model.waiting)
                model.waiting.clear()
            elif step == "work":
                if not model.paused:
                    hf.worker(tasks, queues={QUEUE: 1}, concurrency=4).run(until_idle=True)
                model.work()
            stats = queue.stats()
            assert stats.ready + stats.delayed == len(model.waiting), step
            assert stats.paused == model.paused
            assert (stats.capacity or 0) == model.capacity
            parts = queue.partitions()
            assert sum(each.ready + each.delayed for each in parts.values()) == len(model.waiting)
            assert all(each.paused == model.paused for each in parts.values())
    check_runs(model)


def enqueue(hf: Holdfast, model: Model, kind: str, value: int, number: int) -> None:
    """Enqueue one task of this kind, or *value* plain ones; some may find no room."""
    calls = {
        "plain": [plain.call(100 * number + n) for n in range(value)],
        "unique": [unique.call(value)],
        "limited": [limited.call(value, number)],
    }
    for n, call in enumerate(calls[kind]):
        full = model.exact and 0 < model.capacity <= len(model.waiting)
        try:
            hf.enqueue(call)
        except QueueAtCapacity:
            assert model.capacity, "only a queue with a capacity is full"
            continue
        key = 100 * number + n if kind == "plain" else value
        before = len(model.waiting)
        model.enqueue(kind, key, number)
        assert not full or len(model.waiting) == before, "the queue took more than its capacity"


def check_runs(model: Model) -> None:
    """Check that what ran is what the model has run, and in order for each limit key."""
    expected = Counter(
        {"plain": key, "unique": ("unique", key), "limited": (key, number)}[kind]
        for kind, key, number in model.ran
    )
    assert Counter(ran) == expected
    for key in range(KEYS):
        numbers = [each[1] for each in ran if isinstance(each, tuple) and each[0] == key]
        assert numbers == sorted(numbers)
