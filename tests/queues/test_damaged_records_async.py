"""What another program writes into the keys of a queue is a `DecodeError`, or shown as damaged."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from conftest import Site
from holdfast import AsyncHoldfast, HoldfastError, Retry, TaskRegistry
from holdfast.core.names import Namespace
from holdfast.queues import keys
from holdfast.queues.task_status import LISTED_STATES

tasks = TaskRegistry()

DAMAGES = (
    "",
    "x",
    "nan",
    "1e400",
    "-1",
    "9" * 30,
    ":::::::",
    "done:x:y:z",
    "\udcff",
    "1:x:x:9:x:x:",
)


@tasks.task(queue="damaged", retry=Retry(attempts=1))
def work(n: int) -> None:
    if n == 1:
        raise ValueError(n)


async def listings(hf: AsyncHoldfast) -> list[Callable[[], Awaitable[Any]]]:
    queue = hf.queue("damaged")
    handles = [queue.handle(name) for name in ("done", "dead", "delayed", "queued")]
    return [
        queue.stats,
        queue.throughput,
        *[lambda state=state: queue.tasks(state) for state in LISTED_STATES],
        *[each.status for each in handles],
        *[lambda each=each: each.result(timeout=0) for each in handles],
        lambda: hf.queue("damaged", capacity=5) and hf.enqueue(work.call(3)),
        hf.workers,
    ]


def overwrite(site: Site, what: bytes) -> None:
    """Put *what* in place of every string and every value of a hash; scores become odd."""
    client: Any = site.client
    for key in list(client.scan_iter(match=f"{site.namespace}:*", count=1000)):
        kind = client.type(key)
        if kind == b"string":
            client.set(key, what)
        elif kind == b"hash":
            client.hset(key, mapping=dict.fromkeys(client.hkeys(key), what))
        elif kind == b"zset":
            for member in client.zrange(key, 0, -1):
                client.zadd(key, {member: float("inf") if what == b"1e400" else -1})


@pytest.mark.parametrize("number", range(len(DAMAGES)))
async def test_damaged_values_raise_errors_of_holdfast(site: Site, number: int) -> None:
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        for n, name in enumerate(("done", "dead")):
            await hf.enqueue(work.call(n).options(task_id=name))
        await hf.worker(tasks).run(until_idle=True)
        await hf.enqueue(work.call(2).options(task_id="delayed", delay=600.0))
        await hf.enqueue(work.call(2).options(task_id="queued"))
        overwrite(site, DAMAGES[number].encode(errors="surrogateescape"))
        for listing in await listings(hf):
            try:
                await listing()
            except HoldfastError:
                continue


async def test_a_notification_that_fails_leaves_the_task_queued(site: Site) -> None:
    """It runs once the key of the idle workers is repaired."""
    idle = keys.idle(Namespace.of(site.namespace).unit(keys.KIND, "damaged"))
    site.client.set(idle, "x")
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        handles = [
            await hf.enqueue(work.call(2)),
            *await hf.enqueue_many([work.call(2), work.call(2)]),
            await hf.enqueue(work.call(2).options(expires=600.0)),
        ]
        [damage] = (await hf.audit()).damages
        assert damage.key == idle
        site.client.delete(idle)
        await hf.worker(tasks).run(until_idle=True)
        assert [(await handle.status()).state for handle in handles] == ["done"] * 4
