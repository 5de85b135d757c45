"""A closed client answers every call with `ClientClosed`, and opens no connection any more."""

import io
import logging
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from client._async.uses import Rows, by_word, tasks, work
from faults.proxy import Proxy
from faults.servers import Server
from faults.waiting import eventually_async
from holdfast import (
    AsyncHoldfast,
    AsyncLocalFiles,
    ClientClosed,
    LeaseLost,
    Limit,
)

Uses = dict[str, Callable[[], Any]]


async def lock_uses(hf: AsyncHoldfast) -> Uses:
    lock, semaphore, fenced = hf.lock("l"), hf.semaphore("s", limit=2), hf.fenced("f")
    both, rw = hf.lock_all(["a", "b"]), hf.rw_lock("rw")
    await semaphore.redefine(limit=3)

    async def held(thing: Any) -> None:
        async with thing.hold():
            raise AssertionError("it is held")

    async def written() -> None:
        async with rw.write():
            raise AssertionError("it is held")

    async def work(lease: Any) -> None:
        raise AssertionError("it runs")

    return {
        "read": rw.acquire_read,
        "try_write": rw.try_write,
        "write": written,
        "rw inspect": rw.inspect,
        "rw_locks": hf.rw_locks,
        "singleton": lambda: hf.singleton("single").run(work),
        "acquire": lock.acquire,
        "try_acquire": lock.try_acquire,
        "hold": lambda: held(lock),
        "lock_all": lambda: held(both),
        "inspect": lock.inspect,
        "semaphore": semaphore.acquire,
        "semaphore inspect": semaphore.inspect,
        "redefine": lambda: semaphore.redefine(limit=4),
        "set": lambda: fenced.set("v", 1),
        "get": fenced.get,
        "locks": hf.locks,
        "semaphores": hf.semaphores,
    }


async def queue_uses(hf: AsyncHoldfast) -> Uses:
    queue, handle, worker = hf.queue("work"), await hf.enqueue(work.call(1)), hf.worker(tasks)
    return {
        "enqueue": lambda: hf.enqueue(work.call(1)),
        "enqueue_many": lambda: hf.enqueue_many([work.call(1), work.call(2)]),
        "status": handle.status,
        "result": handle.result,
        "cancel": handle.cancel,
        "stats": queue.stats,
        "throughput": queue.throughput,
        "history": queue.history,
        "tasks": lambda: queue.tasks("queued"),
        "dead": queue.dead,
        "pause": queue.pause,
        "resume": queue.resume,
        "replay": queue.replay,
        "purge": queue.purge,
        "redefine": lambda: queue.redefine(capacity=5),
        "run": worker.run,
        "run of a new worker": lambda: hf.worker(tasks).run(until_idle=True),
        "queues": hf.queues,
        "workers": hf.workers,
    }


async def message_uses(hf: AsyncHoldfast) -> Uses:
    box, inbox = hf.mailbox("jack"), hf.inbox("jeff")
    await box.send("hi", sender="jill")
    batch = await box.fetch()
    chat = await hf.create_chat(["jason", "jeff"], sender="jason", body="hello")
    [news] = await inbox.fetch()
    return {
        "send": lambda: box.send("hi", sender="jill"),
        "fetch": box.fetch,
        "wait": lambda: box.fetch(timeout=None),
        "ack": lambda: box.ack(batch),
        "latest": lambda: box.latest(1),
        "status": box.status,
        "redefine": lambda: box.redefine(capacity=10),
        "create_chat": lambda: hf.create_chat(["jason"], sender="jason", body="hello"),
        "chat send": lambda: chat.send("hi", sender="jason"),
        "join": lambda: chat.join("jill"),
        "leave": lambda: chat.leave("jeff"),
        "members": chat.members,
        "history": chat.history,
        "read_by": lambda: chat.read_by(1),
        "chat status": chat.status,
        "inbox fetch": inbox.fetch,
        "inbox wait": lambda: inbox.fetch(timeout=None),
        "inbox ack": lambda: inbox.ack(news),
        "unread": inbox.unread,
        "inbox chats": inbox.chats,
        "mailboxes": hf.mailboxes,
        "chats": hf.chats,
    }


async def double(n: int) -> int:
    return 2 * n


async def data_uses(hf: AsyncHoldfast) -> Uses:
    recent, names, hits = hf.recent("player"), hf.completions("guild"), hf.counter("hits")
    buffer, cache = hf.counter_buffer(), hf.row_cache("stock", source=Rows(), shards=2)
    limiter = hf.rate_limit("api", Limit(9, per=60.0))
    permit = await limiter.acquire()
    cached = hf.cached(ttl=60.0, name="double")(double)
    await cached(1)
    await hits.add()
    await cache.schedule(1, every=60.0)
    buffer.add("hits")

    async def add() -> None:
        buffer.add("hits")

    async def add_to_a_new_one() -> None:
        hf.counter_buffer().add("hits")

    return {
        "touch": lambda: recent.touch("jill"),
        "remove recent": lambda: recent.remove("jill"),
        "match": lambda: recent.match("j"),
        "all": recent.all,
        "add name": lambda: names.add("jill"),
        "add_many": lambda: names.add_many(["jill", "jack"]),
        "remove": lambda: names.remove("jill"),
        "search": lambda: names.search("j"),
        "has": lambda: names.has("jill"),
        "count": names.count,
        "add": hits.add,
        "samples": lambda: hits.samples(60),
        "total": lambda: hits.total(60),
        "inspect": hits.inspect,
        "try_acquire": limiter.try_acquire,
        "acquire": limiter.acquire,
        "settle": lambda: permit.settle({"requests": 3}),
        "peek": limiter.peek,
        "reset": limiter.reset,
        "rate_limits": hf.rate_limits,
        "cached": lambda: cached(1),
        "cached many": lambda: cached.many([1, 2]),
        "cached peek": lambda: cached.peek(1),
        "cached put": lambda: cached.put(2, 1),
        "cached invalidate": lambda: cached.invalidate(1),
        "invalidate_all": cached.invalidate_all,
        "invalidate_tags": lambda: hf.invalidate_tags("all"),
        "invalidate_cached": lambda: hf.invalidate_cached("double"),
        "cached_functions": hf.cached_functions,
        "cached_function": lambda: hf.cached_function("double"),
        "buffer add": add,
        "buffer flush": buffer.flush,
        "new buffer add": add_to_a_new_one,
        "schedule": lambda: cache.schedule(2, every=60.0),
        "unschedule": lambda: cache.unschedule(1),
        "get": lambda: cache.get(1),
        "get_many": lambda: cache.get_many([1, 2]),
        "invalidate": lambda: cache.invalidate(1),
        "refresh_due": cache.refresh_due,
        "run": cache.run,
        "explain": lambda: cache.explain(1),
        "scheduled": cache.scheduled,
        "rows status": cache.status,
        "known_completions": hf.known_completions,
        "known_counters": hf.known_counters,
        "row_caches": hf.row_caches,
    }


async def log_uses(hf: AsyncHoldfast, folder: Path) -> Uses:
    feed, tally = hf.file_feed("logs", consumers=["geo", "slow"]), hf.tally("daily")
    await feed.publish(io.BytesIO(b"line\n"), name="a.log")
    consumer = feed.consumer("geo")

    async def files() -> None:
        async for file in consumer.files():
            raise AssertionError(file)

    return {
        "publish": lambda: feed.publish(io.BytesIO(b"line\n"), name="b.log"),
        "seal": feed.seal,
        "abort": feed.abort,
        "feed status": feed.status,
        "feed files": feed.files,
        "redefine": lambda: feed.redefine(lease=60.0),
        "files": files,
        "aggregate": lambda: tally.aggregate(AsyncLocalFiles(folder), key=by_word),
        "aggregate feed": lambda: tally.aggregate(consumer, key=by_word),
        "days": tally.days,
        "total": lambda: tally.total("2011-10-10"),
        "top": lambda: tally.top("word", day="2011-10-10"),
        "rejected": lambda: tally.rejected("2011-10-10"),
        "file_feeds": hf.file_feeds,
        "tallies": hf.tallies,
        "servers": hf.servers,
        "diagnose": hf.diagnose,
        "audit": hf.audit,
        "erase": hf.erase_namespace,
        "enter": hf.__aenter__,
    }


async def test_every_call_of_a_closed_client_is_refused(standalone: Server, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"word\n")
    with Proxy(standalone.address) as proxy:
        hf = AsyncHoldfast.from_url(proxy.url, namespace=secrets.token_hex(4))
        uses = {
            **{f"locks: {name}": use for name, use in (await lock_uses(hf)).items()},
            **{f"queues: {name}": use for name, use in (await queue_uses(hf)).items()},
            **{f"messages: {name}": use for name, use in (await message_uses(hf)).items()},
            **{f"data: {name}": use for name, use in (await data_uses(hf)).items()},
            **{f"logs: {name}": use for name, use in (await log_uses(hf, tmp_path)).items()},
        }
        await hf.close()
        await hf.close()
        await eventually_async(lambda: not proxy.open_connections)
        opened, wrong = proxy.connections, dict[str, str]()
        for name, use in uses.items():
            try:
                answer = await use()
                wrong[name] = f"returned {answer!r}"
            except ClientClosed as error:
                if not str(error).startswith("this client is closed: "):
                    wrong[name] = str(error)
            except Exception as error:  # noqa: BLE001 (reported below)
                wrong[name] = repr(error)
        assert not wrong
        assert proxy.connections == opened
    standalone.execute("FLUSHALL")


async def test_a_lease_is_lost_with_its_client(standalone: Server) -> None:
    with Proxy(standalone.address) as proxy:
        hf = AsyncHoldfast.from_url(proxy.url, namespace=secrets.token_hex(4))
        lease = await hf.lock("lost").acquire()
        kept = await hf.lock("kept").acquire()
        await hf.close()
        opened = proxy.connections
        assert lease.lost
        assert await kept.wait_lost()
        for call in (lease.renew, lease.release, lease.release):
            with pytest.raises(LeaseLost, match="this client is closed"):
                await call()
        with pytest.raises(LeaseLost, match="this client is closed"):
            async with kept:
                pass
        assert proxy.connections == opened


async def test_the_end_of_a_block_reports_a_client_closed_in_it(standalone: Server) -> None:
    hf = AsyncHoldfast.from_url(standalone.url, namespace=secrets.token_hex(4))
    with pytest.raises(LeaseLost, match="this client is closed"):
        async with hf.lock("held").hold():
            await hf.close()


async def test_closing_flushes_buffers_first(
    standalone: Server, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "holdfast")
    namespace = secrets.token_hex(4)
    hf = AsyncHoldfast.from_url(standalone.url, namespace=namespace)
    buffer = hf.counter_buffer(flush_every=60.0)
    buffer.add("hits", 3)
    await hf.close()
    await buffer.close()
    async with AsyncHoldfast.from_url(standalone.url, namespace=namespace) as other:
        assert await other.counter("hits").total(3600) == 3
    assert not caplog.messages
