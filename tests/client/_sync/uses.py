# Generated from _async/uses.py by tools/unasync.py: edit that, then run `make sync`.
"""The writes and the reads of each block."""

import io
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final

import pytest

from holdfast import (
    Counted,
    Every,
    GroupTimeout,
    Holdfast,
    Limit,
    LocalFiles,
    LockTimeout,
    Once,
    QueueAtCapacity,
    ResultTimeout,
    Retry,
    TaskRegistry,
    current_task,
)
from holdfast.core.concurrency._sync.primitives import sleep
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


def lock_writes(hf: Holdfast, folder: Path) -> None:
    lease = hf.lock("l").acquire()
    hf.fenced("l").set("v", lease.fence)
    lease.release()
    with hf.semaphore("s", limit=2).hold():
        pass
    hf.semaphore("s").redefine(limit=3)
    with hf.rw_lock("rw").read(), hf.rw_lock("rw").read():
        pass
    with hf.rw_lock("rw").write():
        pass


def queue_writes(hf: Holdfast, folder: Path) -> None:
    queue = hf.queue("work", capacity=100)
    hf.enqueue(work.call(1))
    [handle, _] = hf.enqueue_many([work.call(2), work.call(-1)])
    handle.cancel()
    queue.pause()
    queue.resume()
    queue.redefine(capacity=None, history=100)
    queue.limit(concurrency=10)
    queue.repartition(2)
    queue.repartition(1)
    schedule = hf.schedule("hourly", work.call(3), Every(3600))
    schedule.pause()
    schedule.remove()
    hf.schedule("once", work.call(4), Once(1))
    stepping = hf.enqueue(steps.call())
    stepping.signal("go")
    hf.worker(tasks).run(until_idle=True)
    assert len(queue.dead()) == 1
    queue.replay()
    queue.purge()
    group = hf.enqueue_group([work.call(5)], then=work.call(6))
    hf.worker(tasks).run(until_idle=True)
    assert (group.wait()).then == "done"
    assert (hf.enqueue_group([work.call(7)])).cancel()
    hf.queue("full", capacity=1)
    with pytest.raises(QueueAtCapacity):
        hf.enqueue_group([work.call(n).options(queue="full") for n in range(2)])
    hf.enqueue(work.call(8).options(queue="later", delay=60.0))  # not a plain task


def message_writes(hf: Holdfast, folder: Path) -> None:
    box = hf.mailbox("jack")
    box.send("hi", sender="jill")
    box.ack(box.fetch())
    box.redefine(capacity=10)
    chat = hf.create_chat(["jason", "jeff"], sender="jason", body="hello")
    chat.send("hi", sender="jason")
    chat.join("jill")
    chat.leave("jeff")


def completion_writes(hf: Holdfast, folder: Path) -> None:
    recent = hf.recent("player")
    recent.touch("jill")
    recent.remove("jill")
    recent.redefine(limit=10)
    names = hf.completions("guild")
    names.add("jill")
    names.add_many(["jack", "jeff"])
    names.remove("jill")


def counter_writes(hf: Holdfast, folder: Path) -> None:
    hf.counter("hits").add()
    hf.counter("hits").redefine(precisions=(1, 60), keep=10)
    buffer = hf.counter_buffer()
    buffer.add("hits")
    buffer.add("misses")
    buffer.close()


def limit_writes(hf: Holdfast, folder: Path) -> None:
    limiter = hf.rate_limit("api", Limit(100, per=600.0))
    limiter.of("jill").try_acquire()
    permit = limiter.acquire(5)
    permit.settle({"requests": 2})
    permit.cancel()
    limiter.reset()
    limiter.acquire()


def idempotency_writes(hf: Holdfast, folder: Path) -> None:
    store = hf.idempotency("payments", lease=1.0)
    with store.begin("a", b"body") as call:
        sleep(0.8)  # it is renewed
        call.finish(b"paid")
    (store.begin("b", b"body")).release()
    store.begin("c", b"body")
    store.forget("c")


def row_writes(hf: Holdfast, folder: Path) -> None:
    cache = hf.row_cache("stock", source=Rows(), shards=2)
    cache.schedule(1, every=60.0)
    cache.refresh_due()
    cache.get(2)
    cache.invalidate(1)
    cache.unschedule(1)


def cache_writes(hf: Holdfast, folder: Path) -> None:
    @hf.cached(ttl=60.0, tags=["all"], name="double")
    def double(n: int) -> int:
        if n < 0:
            raise ValueError(n)
        return 2 * n

    assert double.many([1, 2]) == [2, 4]
    with pytest.raises(ValueError, match="-1"):
        double(-1)
    double.put(9, 3)
    double.invalidate(3)
    hf.invalidate_tags("all")
    double.invalidate_all()
    double.status()


def file_writes(hf: Holdfast, folder: Path) -> None:
    feed = hf.file_feed("logs", consumers=["geo"])
    feed.publish(io.BytesIO(b"line\n" * 100_000), name="a.log")
    for file in feed.consumer("geo").files(timeout=0):
        with file:
            assert b"".join([block.data for block in file.blocks()]) == b"line\n" * 100_000
    feed.redefine(lease=60.0)
    feed.retry()
    feed.seal()
    hf.file_feed("other", mode="share").publish(io.BytesIO(b""), name="b.log")
    hf.file_feed("other").abort()


def tally_writes(hf: Holdfast, folder: Path) -> None:
    (folder / "a.log").write_text("".join(f"w{n}\n" for n in range(6_000)))
    hf.tally("daily").aggregate(LocalFiles(folder), key=by_word)


WRITES: Final[Mapping[str, Callable[[Holdfast, Path], Awaitable[None]]]] = {
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


def lock_reads(hf: Holdfast) -> None:
    with hf.lock("l", lease=60.0).hold():
        with pytest.raises(LockTimeout):
            hf.lock("l").acquire(timeout=0.01)
        hf.lock("l").inspect()
    hf.semaphore("s").inspect()
    with hf.rw_lock("rw", lease=60.0).read():
        with pytest.raises(LockTimeout):
            hf.rw_lock("rw").acquire_write(timeout=0.01)
        hf.rw_lock("rw").inspect()
    hf.fenced("l").get()
    hf.locks()
    hf.semaphores()
    hf.rw_locks()


def queue_reads(hf: Holdfast) -> None:
    handle = hf.enqueue(work.call(1))
    handle.status()
    handle.steps()
    with pytest.raises(ResultTimeout):
        handle.result(timeout=0.01)
    assert [event for event in handle.events(timeout=0)] == []
    queue = hf.queue("work")
    queue.stats()
    queue.throughput()
    for state in LISTED_STATES:
        queue.tasks(state)
    queue.history()
    hf.queues()
    group = hf.enqueue_group([work.call(1)])
    group.status()
    with pytest.raises(GroupTimeout):
        group.wait(0.01)
    assert [each.state for each in group.results()] == ["waiting"]
    hf.groups()
    hf.workers()


def message_reads(hf: Holdfast) -> None:
    box = hf.mailbox("jack")
    box.fetch(timeout=0.01)
    box.latest(10)
    box.status()
    chat = hf.create_chat(["jason", "jeff"], sender="jason", body="hello")
    chat.history()
    chat.members()
    chat.read_by(1)
    chat.status()
    inbox = hf.inbox("jeff")
    inbox.ack((inbox.fetch())[0])
    chat.send("again", sender="jason")
    inbox.ack_all(inbox.fetch())
    inbox.fetch(timeout=0.01)
    inbox.unread()
    inbox.chats()
    hf.mailboxes()
    hf.chats()


def completion_reads(hf: Holdfast) -> None:
    hf.recent("player").all()
    hf.recent("player").match("j")
    names = hf.completions("guild")
    names.search("j")
    names.has("jill")
    names.count()


def counter_reads(hf: Holdfast) -> None:
    hits = hf.counter("hits")
    hits.samples(60)
    hits.total(60)
    hits.inspect()
    hf.known_counters()


def limit_reads(hf: Holdfast) -> None:
    hf.rate_limit("api", Limit(100, per=600.0)).peek()
    hf.rate_limits()


def idempotency_reads(hf: Holdfast) -> None:
    assert (hf.idempotency("payments").begin("a", b"body")).answer == b"paid"
    assert hf.idempotency("payments").status("a")
    hf.idempotency_stores()


def row_reads(hf: Holdfast) -> None:
    cache = hf.row_cache("stock")
    cache.get(1)
    cache.get_many([1, 2, 3])
    cache.explain(1)
    cache.scheduled()
    cache.status()


def cache_reads(hf: Holdfast) -> None:
    @hf.cached(ttl=60.0, tags=["all"], name="double")
    def double(n: int) -> int:
        return 2 * n

    double(1)
    double.peek(1)
    double.many([1, 2])
    hf.cached_functions()
    hf.cached_function("double")


def file_reads(hf: Holdfast) -> None:
    feed = hf.file_feed("more", consumers=["geo"])
    feed.publish(io.BytesIO(b"line\n"), name="a.log")
    feed.status()
    feed.files()
    feed.files(failed=True)
    for file in feed.consumer("geo").files(timeout=0.01):
        with file:
            assert [line.decode() for line in file.lines()] == ["line"]


def tally_reads(hf: Holdfast) -> None:
    tally, day = hf.tally("daily"), "2011-10-10"
    tally.days()
    tally.dimensions(day)
    tally.total(day)
    tally.top("word", day=day)
    tally.count("word", "w1", day=day)
    tally.rejected(day)


READS: Final[Mapping[str, Callable[[Holdfast], Awaitable[None]]]] = {
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
