"""The writes and the reads of each block."""

import io
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final

import pytest

from holdfast import (
    AsyncHoldfast,
    AsyncLocalFiles,
    Counted,
    Every,
    GroupTimeout,
    Limit,
    LockTimeout,
    Once,
    QueueAtCapacity,
    ResultTimeout,
    Retry,
    TaskRegistry,
    current_task,
)
from holdfast.core.concurrency._async.primitives import sleep
from holdfast.queues.task_status import LISTED_STATES

tasks = TaskRegistry()


@tasks.task(queue="work", retry=Retry(attempts=1))
def work(n: int) -> int:
    current_task().progress(1)
    if n < 0:
        raise ValueError(n)
    return n


@tasks.task(queue="work")
def steps() -> int:
    """Run a step, wait for a signal, and sleep a moment."""
    task = current_task()
    task.step("one", int)
    task.sleep(0.001)
    task.wait_for("go")
    return 1


class Rows:
    """A source of rows."""

    def load(self, ids: list[int]) -> dict[int, dict[str, int]]:
        return {each: {"id": each} for each in ids}


def by_word(line: bytes) -> Counted:
    """Ten thousand values are more than one step takes."""
    return Counted("2011-10-10", {"word": line.decode()})


async def lock_writes(hf: AsyncHoldfast, folder: Path) -> None:
    lease = await hf.lock("l").acquire()
    await hf.fenced("l").set("v", lease.fence)
    await lease.release()
    async with hf.semaphore("s", limit=2).hold():
        pass
    await hf.semaphore("s").redefine(limit=3)
    async with hf.rw_lock("rw").read(), hf.rw_lock("rw").read():
        pass
    async with hf.rw_lock("rw").write():
        pass


async def queue_writes(hf: AsyncHoldfast, folder: Path) -> None:
    queue = hf.queue("work", capacity=100)
    await hf.enqueue(work.call(1))
    [handle, _] = await hf.enqueue_many([work.call(2), work.call(-1)])
    await handle.cancel()
    await queue.pause()
    await queue.resume()
    await queue.redefine(capacity=None, history=100)
    await queue.limit(concurrency=10)
    await queue.repartition(2)
    await queue.repartition(1)
    schedule = await hf.schedule("hourly", work.call(3), Every(3600))
    await schedule.pause()
    await schedule.remove()
    await hf.schedule("once", work.call(4), Once(1))
    stepping = await hf.enqueue(steps.call())
    await stepping.signal("go")
    await hf.worker(tasks).run(until_idle=True)
    assert len(await queue.dead()) == 1
    await queue.replay()
    await queue.purge()
    group = await hf.enqueue_group([work.call(5)], then=work.call(6))
    await hf.worker(tasks).run(until_idle=True)
    assert (await group.wait()).then == "done"
    assert await (await hf.enqueue_group([work.call(7)])).cancel()
    hf.queue("full", capacity=1)
    with pytest.raises(QueueAtCapacity):
        await hf.enqueue_group([work.call(n).options(queue="full") for n in range(2)])
    await hf.enqueue(work.call(8).options(queue="later", delay=60.0))  # not a plain task


async def message_writes(hf: AsyncHoldfast, folder: Path) -> None:
    box = hf.mailbox("jack")
    await box.send("hi", sender="jill")
    await box.ack(await box.fetch())
    await box.redefine(capacity=10)
    chat = await hf.create_chat(["jason", "jeff"], sender="jason", body="hello")
    await chat.send("hi", sender="jason")
    await chat.join("jill")
    await chat.leave("jeff")


async def completion_writes(hf: AsyncHoldfast, folder: Path) -> None:
    recent = hf.recent("player")
    await recent.touch("jill")
    await recent.remove("jill")
    await recent.redefine(limit=10)
    names = hf.completions("guild")
    await names.add("jill")
    await names.add_many(["jack", "jeff"])
    await names.remove("jill")


async def counter_writes(hf: AsyncHoldfast, folder: Path) -> None:
    await hf.counter("hits").add()
    await hf.counter("hits").redefine(precisions=(1, 60), keep=10)
    buffer = hf.counter_buffer()
    buffer.add("hits")
    buffer.add("misses")
    await buffer.close()


async def limit_writes(hf: AsyncHoldfast, folder: Path) -> None:
    limiter = hf.rate_limit("api", Limit(100, per=600.0))
    await limiter.of("jill").try_acquire()
    permit = await limiter.acquire(5)
    await permit.settle({"requests": 2})
    await permit.cancel()
    await limiter.reset()
    await limiter.acquire()


async def idempotency_writes(hf: AsyncHoldfast, folder: Path) -> None:
    store = hf.idempotency("payments", lease=1.0)
    async with await store.begin("a", b"body") as call:
        await sleep(0.8)  # it is renewed
        await call.finish(b"paid")
    await (await store.begin("b", b"body")).release()
    await store.begin("c", b"body")
    await store.forget("c")


async def row_writes(hf: AsyncHoldfast, folder: Path) -> None:
    cache = hf.row_cache("stock", source=Rows(), shards=2)
    await cache.schedule(1, every=60.0)
    await cache.refresh_due()
    await cache.get(2)
    await cache.invalidate(1)
    await cache.unschedule(1)


async def cache_writes(hf: AsyncHoldfast, folder: Path) -> None:
    @hf.cached(ttl=60.0, tags=["all"], name="double")
    async def double(n: int) -> int:
        if n < 0:
            raise ValueError(n)
        return 2 * n

    assert await double.many([1, 2]) == [2, 4]
    with pytest.raises(ValueError, match="-1"):
        await double(-1)
    await double.put(9, 3)
    await double.invalidate(3)
    await hf.invalidate_tags("all")
    await double.invalidate_all()
    await double.status()


async def file_writes(hf: AsyncHoldfast, folder: Path) -> None:
    feed = hf.file_feed("logs", consumers=["geo"])
    await feed.publish(io.BytesIO(b"line\n" * 100_000), name="a.log")
    async for file in feed.consumer("geo").files(timeout=0):
        async with file:
            assert b"".join([block.data async for block in file.blocks()]) == b"line\n" * 100_000
    await feed.redefine(lease=60.0)
    await feed.retry()
    await feed.seal()
    await hf.file_feed("other", mode="share").publish(io.BytesIO(b""), name="b.log")
    await hf.file_feed("other").abort()


async def tally_writes(hf: AsyncHoldfast, folder: Path) -> None:
    (folder / "a.log").write_text("".join(f"w{n}\n" for n in range(6_000)))
    await hf.tally("daily").aggregate(AsyncLocalFiles(folder), key=by_word)


WRITES: Final[Mapping[str, Callable[[AsyncHoldfast, Path], Awaitable[None]]]] = {
    "locks": lock_writes,
    "queues": queue_writes,
    "messages": message_writes,
    "completions": completion_writes,
    "counters": counter_writes,
    "idempotency": idempotency_writes,
    "limits": limit_writes,
    "rows": row_writes,
    "cache": cache_writes,
    "files": file_writes,
    "tallies": tally_writes,
}
"""By block: every write that it has. What is left in the namespace does not matter."""


async def lock_reads(hf: AsyncHoldfast) -> None:
    async with hf.lock("l", lease=60.0).hold():
        with pytest.raises(LockTimeout):
            await hf.lock("l").acquire(timeout=0.01)
        await hf.lock("l").inspect()
    await hf.semaphore("s").inspect()
    async with hf.rw_lock("rw", lease=60.0).read():
        with pytest.raises(LockTimeout):
            await hf.rw_lock("rw").acquire_write(timeout=0.01)
        await hf.rw_lock("rw").inspect()
    await hf.fenced("l").get()
    await hf.locks()
    await hf.semaphores()
    await hf.rw_locks()


async def queue_reads(hf: AsyncHoldfast) -> None:
    handle = await hf.enqueue(work.call(1))
    await handle.status()
    await handle.steps()
    with pytest.raises(ResultTimeout):
        await handle.result(timeout=0.01)
    assert [event async for event in handle.events(timeout=0)] == []
    queue = hf.queue("work")
    await queue.stats()
    await queue.throughput()
    for state in LISTED_STATES:
        await queue.tasks(state)
    await queue.history()
    await hf.queues()
    group = await hf.enqueue_group([work.call(1)])
    await group.status()
    with pytest.raises(GroupTimeout):
        await group.wait(0.01)
    assert [each.state async for each in group.results()] == ["waiting"]
    await hf.groups()
    await hf.workers()


async def message_reads(hf: AsyncHoldfast) -> None:
    box = hf.mailbox("jack")
    await box.fetch(timeout=0.01)
    await box.latest(10)
    await box.status()
    chat = await hf.create_chat(["jason", "jeff"], sender="jason", body="hello")
    await chat.history()
    await chat.members()
    await chat.read_by(1)
    await chat.status()
    inbox = hf.inbox("jeff")
    await inbox.ack((await inbox.fetch())[0])
    await chat.send("again", sender="jason")
    await inbox.ack_all(await inbox.fetch())
    await inbox.fetch(timeout=0.01)
    await inbox.unread()
    await inbox.chats()
    await hf.mailboxes()
    await hf.chats()


async def completion_reads(hf: AsyncHoldfast) -> None:
    await hf.recent("player").all()
    await hf.recent("player").match("j")
    names = hf.completions("guild")
    await names.search("j")
    await names.has("jill")
    await names.count()


async def counter_reads(hf: AsyncHoldfast) -> None:
    hits = hf.counter("hits")
    await hits.samples(60)
    await hits.total(60)
    await hits.inspect()
    await hf.known_counters()


async def limit_reads(hf: AsyncHoldfast) -> None:
    await hf.rate_limit("api", Limit(100, per=600.0)).peek()
    await hf.rate_limits()


async def idempotency_reads(hf: AsyncHoldfast) -> None:
    assert (await hf.idempotency("payments").begin("a", b"body")).answer == b"paid"
    assert await hf.idempotency("payments").status("a")
    await hf.idempotency_stores()


async def row_reads(hf: AsyncHoldfast) -> None:
    cache = hf.row_cache("stock")
    await cache.get(1)
    await cache.get_many([1, 2, 3])
    await cache.explain(1)
    await cache.scheduled()
    await cache.status()


async def cache_reads(hf: AsyncHoldfast) -> None:
    @hf.cached(ttl=60.0, tags=["all"], name="double")
    async def double(n: int) -> int:
        return 2 * n

    await double(1)
    await double.peek(1)
    await double.many([1, 2])
    await hf.cached_functions()
    await hf.cached_function("double")


async def file_reads(hf: AsyncHoldfast) -> None:
    feed = hf.file_feed("more", consumers=["geo"])
    await feed.publish(io.BytesIO(b"line\n"), name="a.log")
    await feed.status()
    await feed.files()
    await feed.files(failed=True)
    async for file in feed.consumer("geo").files(timeout=0.01):
        async with file:
            assert [line.decode() async for line in file.lines()] == ["line"]


async def tally_reads(hf: AsyncHoldfast) -> None:
    tally, day = hf.tally("daily"), "2011-10-10"
    await tally.days()
    await tally.dimensions(day)
    await tally.total(day)
    await tally.top("word", day=day)
    await tally.count("word", "w1", day=day)
    await tally.rejected(day)


READS: Final[Mapping[str, Callable[[AsyncHoldfast], Awaitable[None]]]] = {
    "locks": lock_reads,
    "queues": queue_reads,
    "messages": message_reads,
    "completions": completion_reads,
    "counters": counter_reads,
    "idempotency": idempotency_reads,
    "limits": limit_reads,
    "rows": row_reads,
    "cache": cache_reads,
    "files": file_reads,
    "tallies": tally_reads,
}
"""By block: what reads, and what waits. It expects what `WRITES` has left."""
