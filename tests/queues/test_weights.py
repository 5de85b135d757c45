"""Queues are served by weight: real workers, counted by what the tasks themselves put on record."""

import asyncio
import random
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from conftest import Site
from faults.clusters import Cluster
from faults.servers import Server
from faults.waiting import eventually_async
from holdfast import AsyncHoldfast, TaskRegistry, current_task
from holdfast.core.names import Namespace
from holdfast.queues import keys

dice = random.Random(17)


class Service:
    """Queues with tasks that only note that they ran, in the order in which they began.

    Args:
        weights: queue → weight.
        longest_s: tasks take a quarter of this to all of it; 0 makes them no-ops.
    """

    def __init__(self, weights: Mapping[str, int], longest_s: float = 0.0) -> None:
        self.weights = weights
        self.order: list[str] = []
        self.tasks = TaskRegistry()
        self._longest_s = longest_s
        self._calls = {queue: self._task(queue) for queue in weights}

    def _task(self, queue: str) -> Any:
        @self.tasks.task(name=f"note_{queue}", queue=queue)
        async def note() -> None:
            self.order.append(queue)
            if self._longest_s:
                await asyncio.sleep(self._longest_s * dice.uniform(0.25, 1))

        return note

    async def enqueue(self, hf: AsyncHoldfast, counts: Mapping[str, int]) -> None:
        """Enqueue so many tasks in each queue."""
        for queue, count in counts.items():
            await hf.enqueue_many([self._calls[queue].call() for _ in range(count)])

    def while_all_had_backlog(self, counts: Mapping[str, int], margin: int) -> Counter[str]:
        """Return how often each queue was served until one had no more than *margin* tasks left."""
        left, served = dict(counts), Counter(dict.fromkeys(counts, 0))
        for queue in self.order:
            if left[queue] <= margin:
                break
            left[queue] -= 1
            served[queue] += 1
        return served

    async def run(self, hf: AsyncHoldfast, concurrency: int) -> None:
        worker = hf.worker(self.tasks, queues=self.weights, concurrency=concurrency)
        await worker.run(until_idle=True)


@pytest.fixture
async def hf(standalone: Server) -> AsyncIterator[AsyncHoldfast]:
    async with AsyncHoldfast.from_url(standalone.url, namespace=secrets.token_hex(4)) as hf:
        yield hf


def jain(service: list[int]) -> float:
    """Jain's index of fairness: 1 when all are served alike, 1 ÷ n when one has everything."""
    return sum(service) ** 2 / (len(service) * sum(n * n for n in service))


async def is_served_three_to_one(hf: AsyncHoldfast, concurrency: int, longest_s: float) -> None:
    """Check that weights 3:1 give 3:1 ± 10 % of the tasks."""
    service = Service({"often": 3, "seldom": 1}, longest_s)
    # One step of each queue is what the counts may be off by, so there are tens of steps.
    count = 30 + 12 * concurrency
    counts = {"often": 3 * count, "seldom": 2 * count}
    await service.enqueue(hf, counts)
    await service.run(hf, concurrency)
    assert len(service.order) == 5 * count
    served = service.while_all_had_backlog(counts, margin=concurrency)
    assert served["often"] / served["seldom"] == pytest.approx(3, rel=0.1), served


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("concurrency", "longest_s"),
    [
        pytest.param(slots, longest_s, id=f"{slots}-{what}", marks=marks)
        for what, longest_s in {"no-ops": 0.0, "tasks of 5 to 20 ms": 0.02}.items()
        for slots in (1, 2, 10, 50)
        for marks in [[] if (slots in {1, 50}) is (what == "no-ops") else [pytest.mark.long]]
    ],
)
async def test_service_is_as_the_weights(
    hf: AsyncHoldfast, concurrency: int, longest_s: float
) -> None:
    if concurrency == 1:
        longest_s /= 4  # one after the other
    await is_served_three_to_one(hf, concurrency, longest_s)


async def test_service_is_as_the_weights_everywhere(site: Site) -> None:
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        await is_served_three_to_one(hf, 10, 0.002)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("concurrency", [2, 10, 50])
async def test_a_queue_that_grows_fast_does_not_starve_the_others(
    hf: AsyncHoldfast, concurrency: int
) -> None:
    """Ten queues of equal weight share equally, although one grows a hundred times as fast."""
    queues = ["flood", *(f"quiet-{n}" for n in range(9))]
    service = Service(dict.fromkeys(queues, 1), 0.002)
    quiet = 30 + 2 * concurrency
    counts = dict.fromkeys(queues, quiet)
    await service.enqueue(hf, {**counts, "flood": 30 * quiet})
    worker = hf.worker(service.tasks, queues=service.weights, concurrency=concurrency)
    running = asyncio.create_task(worker.run())

    async def flooded_until_the_others_are_done() -> bool:
        await service.enqueue(hf, {"flood": 100})
        done = Counter(service.order)
        return all(done[queue] == quiet for queue in queues if queue != "flood")

    await eventually_async(flooded_until_the_others_are_done, timeout=60)
    worker.stop()
    await running
    counts["flood"] = len(service.order) + quiet  # it always had more
    served = service.while_all_had_backlog(counts, margin=quiet // 4)
    others = [count for queue, count in served.items() if queue != "flood"]
    assert jain(others) >= 0.95, served
    assert served["flood"] <= 1.3 * max(others), served


async def test_a_single_busy_queue_takes_all_slots(hf: AsyncHoldfast) -> None:
    tasks = TaskRegistry()
    running: set[object] = set()
    all_run = asyncio.Event()

    @tasks.task(queue="hungry")
    async def meets() -> None:
        running.add(object())
        if len(running) == 20:
            all_run.set()
        await asyncio.wait_for(all_run.wait(), 30)

    await hf.enqueue_many([meets.call() for _ in range(20)])
    queues = {"hungry": 1, **{f"empty-{n}": 5 for n in range(9)}}
    await hf.worker(tasks, queues=queues, concurrency=20).run(until_idle=True)
    assert (await hf.queue("hungry").stats()).dead == 0


async def test_a_node_that_does_not_answer_holds_no_slots(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    namespace = secrets.token_hex(4)
    here, there = two_queues_on_two_nodes(cluster, namespace)
    unit = Namespace.of(namespace).unit(keys.KIND, there)
    tasks, ran, attempts = TaskRegistry(), Counter[str](), list[int]()
    begin, finish = asyncio.Event(), asyncio.Event()

    async def holds(name: str, until: asyncio.Event) -> None:
        ran[name] += 1
        await asyncio.wait_for(until.wait(), 60)

    @tasks.task(queue=here)
    async def first_here() -> None:
        await holds("first", begin)

    @tasks.task(queue=there)
    async def first_there() -> None:
        await holds("first", begin)

    @tasks.task(queue=here)
    async def then_here() -> None:
        await holds("then", finish)

    @tasks.task(queue=there)
    async def then_there() -> None:
        attempts.append(current_task().attempt)

    with cluster.proxied() as proxies:
        url = f"{cluster.url}?socket_timeout=30"
        node = proxies[cluster.owner(unit.slot)]
        async with AsyncHoldfast.from_url(url, namespace=namespace) as hf:
            worker = hf.worker(tasks, concurrency=2)
            running = asyncio.create_task(worker.run())
            await hf.enqueue_many([first_here.call(), first_there.call()])
            await eventually_async(lambda: ran["first"] == 2)
            await hf.enqueue_many([*[then_there.call()] * 3, *[then_here.call()] * 2])
            node.delay(5.0, "replies")
            begin.set()  # the next step there claims a task, and is answered much later
            await eventually_async(lambda: ran["then"] == 2)
            assert attempts == []
            node.delay(0.0, "replies")
            await eventually_async(lambda: is_all_ready(hf, there, 3), timeout=30)
            assert attempts == []
            assert " is given back: its slot was taken" in caplog.text
            finish.set()
            await eventually_async(lambda: len(attempts) == 3)
            worker.stop()
            await running
            assert attempts == [1, 1, 1]


async def is_all_ready(hf: AsyncHoldfast, queue: str, count: int) -> bool:
    stats = await hf.queue(queue).stats()
    return (stats.ready, stats.running) == (count, 0)


def two_queues_on_two_nodes(cluster: Cluster, namespace: str) -> tuple[str, str]:
    """Names of queues that live apart."""
    names = Namespace.of(namespace)
    owners: dict[object, str] = {}
    for n in range(100):
        owners.setdefault(cluster.owner(names.unit(keys.KIND, f"queue-{n}").slot), f"queue-{n}")
    first, second, *_ = owners.values()
    return first, second
