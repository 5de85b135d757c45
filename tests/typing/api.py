"""The public API as a type checker sees it. Checked by `mypy --strict`, never run.

A line that must not pass carries `type: ignore` with the code of its error: should it pass one day,
mypy reports the comment as unused.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, assert_type

import redis
import redis.asyncio

from holdfast import (
    AsyncHoldfast,
    AsyncQueue,
    AsyncTaskHandle,
    AsyncWorker,
    Call,
    Holdfast,
    HoldfastError,
    OutcomeUnknown,
    Queue,
    QueueAtCapacity,
    QueueStats,
    Retry,
    RunningTask,
    ServerRefused,
    ServerUnavailable,
    Task,
    TaskHandle,
    TaskRegistry,
    TaskStatus,
    Worker,
    acl_rule,
    current_task,
)

# Registering: the signature stays, the result is what the function gives, awaited.

tasks = TaskRegistry()


@tasks.task(queue="email", priority="high", retry=Retry(attempts=3, backoff=2.0, longest=60.0))
async def mail(seller: str, price: int, *, buyer: str = "") -> str:
    return f"{seller} {price} {buyer}"


@tasks.task()
def resize(path: str, *sizes: int) -> int:
    return len(sizes)


@tasks.task(name="nothing")
def nothing() -> None: ...


assert_type(mail.name, str)
assert_type(mail.queue, str)
assert_type(mail.retry, Retry)
assert_type(mail.is_async, bool)
assert_type(tasks.get("mail"), Task[..., Any])
assert_type(tasks.queues(), tuple[str, ...])
assert_type(len(tasks), int)
for each in tasks:
    assert_type(each, Task[..., Any])

tasks.task(priority="urgent")  # type: ignore[arg-type]
tasks.task("email")  # type: ignore[arg-type]
tasks.task(retry=5)  # type: ignore[arg-type]
Retry(attempts="5")  # type: ignore[arg-type]
tasks.get(5)  # type: ignore[arg-type]

# Calls: the arguments are those of the function.

assert_type(mail.call("17", 97, buyer="27"), Call[str])
assert_type(resize.call("a.png", 1, 2, 3), Call[int])
assert_type(nothing.call(), Call[None])

mail.call("17")  # type: ignore[call-arg]
mail.call("17", "97")  # type: ignore[arg-type]
mail.call("17", 97, "27")  # type: ignore[call-arg]
mail.call("17", 97, seller="18")  # type: ignore[misc]
mail.call("17", 97, colour="red")  # type: ignore[call-arg]
resize.call("a.png", "1")  # type: ignore[arg-type]
nothing.call(1)  # type: ignore[call-arg]

# Options: of every call, with the type of the call kept.

assert_type(mail.call("17", 97).options(delay=60.0), Call[str])
mail.call("17", 97).options(delay=timedelta(minutes=1), priority="low", task_id="sold-42")
mail.call("17", 97).options(at=datetime.now(UTC))
mail.call("17", 97).options(at=1_763_718_000, task_id=None, delay=None, priority=None)

mail.call("17", 97).options(delay="60")  # type: ignore[arg-type]
mail.call("17", 97).options(at="tomorrow")  # type: ignore[arg-type]
mail.call("17", 97).options(priority="urgent")  # type: ignore[arg-type]
mail.call("17", 97).options(task_id=42)  # type: ignore[arg-type]
mail.call("17", 97).options(dely=60.0)  # type: ignore[call-arg]
mail.call("17", 97).options(60.0)  # type: ignore[call-arg]
mail.call("17", 97).task_id = "other"  # type: ignore[misc]


def opening(hf: Holdfast, folder: Path) -> None:
    """A client comes from a client of redis-py, from a URL, or with a server of its own."""
    assert_type(Holdfast(redis.Redis(), namespace="shop"), Holdfast)
    assert_type(Holdfast(redis.asyncio.Redis()), Holdfast)
    assert_type(Holdfast(redis.RedisCluster(host="localhost")), Holdfast)
    assert_type(Holdfast.from_url("redis://localhost", namespace="shop"), Holdfast)
    assert_type(Holdfast.embedded(), Holdfast)
    assert_type(Holdfast.embedded(folder), Holdfast)
    assert_type(Holdfast.embedded("data", namespace="shop"), Holdfast)
    with Holdfast.embedded() as mine:
        assert_type(mine, Holdfast)
    assert_type(hf.namespace, str)
    hf.close()

    Holdfast("redis://localhost")  # type: ignore[arg-type]
    Holdfast(redis.Redis(), "shop")  # type: ignore[call-arg]
    Holdfast.from_url(redis.Redis())  # type: ignore[arg-type]


def blocking(hf: Holdfast) -> None:
    """`Holdfast`: nothing is awaited."""
    assert_type(hf.enqueue(mail.call("17", 97)), TaskHandle[str])
    assert_type(hf.enqueue(resize.call("a.png"), op_id="resize-a"), TaskHandle[int])
    assert_type(hf.enqueue_many([mail.call("17", 97)]), list[TaskHandle[str]])
    assert_type(hf.enqueue_many(mail.call(str(n), n) for n in range(9)), list[TaskHandle[str]])
    handle = hf.enqueue(nothing.call())
    assert_type(handle, TaskHandle[None])
    assert_type(handle.task_id, str)
    assert_type(handle.queue, str)

    queue = hf.queue("email")
    assert_type(queue, Queue)
    assert_type(queue.name, str)
    assert_type(hf.queues(), list[str])
    assert_type(queue.stats(), QueueStats)
    assert_type(queue.stats().ready, int)
    assert_type(queue.dead(limit=10), list[TaskStatus])
    assert_type(queue.replay(), int)
    assert_type(queue.replay(["a", "b"], op_id="again"), int)
    for dead in queue.dead():
        assert_type(dead.reason, str)
        assert_type(dead.ended_at, datetime | None)

    weights: Mapping[str, int] = {"email": 3}
    worker = hf.worker(tasks, queues=weights, concurrency=9, lease=30, grace=timedelta(seconds=9))
    assert_type(worker, Worker)
    assert_type(worker.name, str)
    worker.run(until_idle=True)
    worker.stop()

    hf.enqueue(mail)  # type: ignore[arg-type]
    hf.enqueue("mail")  # type: ignore[arg-type]
    hf.enqueue(mail.call("17", 97), "op")  # type: ignore[call-arg]
    hf.enqueue_many(mail.call("17", 97))  # type: ignore[arg-type]
    hf.queue(5)  # type: ignore[arg-type]
    hf.worker([mail])  # type: ignore[arg-type]
    hf.worker(tasks, queues=["email"])  # type: ignore[arg-type]
    hf.worker(tasks, lease="30 s")  # type: ignore[arg-type]
    queue.dead(limit="10")  # type: ignore[arg-type]
    queue.stats().ready = 5  # type: ignore[misc]
    handle.task_id = "other"  # type: ignore[misc]


def operating(hf: Holdfast, queue: Queue) -> None:
    """What becomes of tasks, and of queues."""
    sold = hf.enqueue(mail.call("17", 97).options(expires=60.0))
    assert_type(sold.status(), TaskStatus)
    assert_type(sold.status().attempts, int)
    assert_type(sold.result(timeout=5), str)
    assert_type(sold.cancel(), bool)
    assert_type(queue.handle("a").status(), TaskStatus)
    assert_type(queue.tasks("delayed", limit=3), list[TaskStatus])
    assert_type(queue.purge(dead=True), int)
    assert_type(queue.stats().capacity, int | None)
    assert_type(hf.queue("email", capacity=5), Queue)
    queue.pause()
    queue.resume()
    queue.redefine(capacity=None)
    queue.tasks("gone")  # type: ignore[arg-type]
    queue.redefine(8)  # type: ignore[call-arg]


async def asynchronous(hf: AsyncHoldfast) -> None:
    """`AsyncHoldfast`: what does I/O is awaited, what does not is not."""
    assert_type(AsyncHoldfast(redis.asyncio.Redis(), namespace="shop"), AsyncHoldfast)
    assert_type(AsyncHoldfast(redis.Redis()), AsyncHoldfast)
    assert_type(AsyncHoldfast(redis.asyncio.RedisCluster(host="localhost")), AsyncHoldfast)
    assert_type(AsyncHoldfast.from_url("redis://localhost"), AsyncHoldfast)
    async with AsyncHoldfast.from_url("redis://localhost") as mine:
        assert_type(mine, AsyncHoldfast)

    assert_type(await hf.enqueue(mail.call("17", 97)), AsyncTaskHandle[str])
    assert_type(await hf.enqueue_many([resize.call("a.png")]), list[AsyncTaskHandle[int]])
    queue = hf.queue("email")
    assert_type(queue, AsyncQueue)
    assert_type(await hf.queues(), list[str])
    assert_type(await queue.stats(), QueueStats)
    assert_type(await queue.dead(), list[TaskStatus])
    assert_type(await queue.replay(), int)
    assert_type(await (await hf.enqueue(mail.call("17", 97))).result(), str)
    worker = hf.worker(tasks)
    assert_type(worker, AsyncWorker)
    assert_type(worker.name, str)
    await worker.run(until_idle=True)
    worker.stop()
    await hf.close()

    assert hf.enqueue(mail.call("17", 97)).task_id  # type: ignore[attr-defined]
    await hf.queue("email")  # type: ignore[misc]
    hf.enqueue(mail.call("17", 97))  # type: ignore[unused-coroutine]
    worker.run()  # type: ignore[unused-coroutine]


def failing(hf: Holdfast) -> None:
    """Errors keep their fields."""
    try:
        hf.enqueue(mail.call("17", 97))
    except ServerRefused as error:
        assert_type(error.reason, str)
    except ServerUnavailable as error:
        assert_type(error.action, str)
    except OutcomeUnknown as error:
        assert_type(error.op_id, str | None)
        hf.enqueue(mail.call("17", 97), op_id=error.op_id)
        error.repeat()
    except QueueAtCapacity as full:
        assert_type(full.capacity, int)
    except HoldfastError:
        raise


def running() -> None:
    """What a task knows about itself."""
    assert_type(current_task(), RunningTask)
    assert_type(current_task().attempt, int)
    assert_type(current_task().enqueued_at, datetime | None)
    assert_type(acl_rule("shop"), str)
