"""Every write of every block waits for its replicas; what only reads, leases or hints does not."""

from __future__ import annotations

import io
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest

import holdfast
from faults.monitor import watching
from faults.replicas import Crew
from holdfast import AsyncHoldfast, AsyncLocalFiles, Counted, Replicated, Retry, TaskRegistry
from holdfast.core.script import Script

LEASES_AND_HINTS = {
    "locks/renew",
    "queues/renew",
    "queues/await",
    "queues/beat",
    "queues/depart",
    "messages/enlist",
    "messages/strike",
    "rows/claim",
    "rows/take",
    "rows/commit",
    "files/claim",
    "files/read",
    "files/leave",
    "files/renew",
    "tallies/stage",
    "tallies/sample",
}
SOMETIMES = {"queues/step"}
"""Waited for when it settles something: a claim is only a lease."""

tasks = TaskRegistry()


@tasks.task(queue="work", retry=Retry(attempts=1))
def work(n: int) -> int:
    if n < 0:
        raise ValueError(n)
    return n


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


async def queue_writes(hf: AsyncHoldfast, folder: Path) -> None:
    queue = hf.queue("work", capacity=100)
    await hf.enqueue(work.call(1))
    [handle, _] = await hf.enqueue_many([work.call(2), work.call(-1)])
    await handle.cancel()
    await queue.pause()
    await queue.resume()
    await queue.redefine(capacity=None)
    await hf.worker(tasks).run(until_idle=True)
    assert len(await queue.dead()) == 1
    await queue.replay()
    await queue.purge()


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


async def row_writes(hf: AsyncHoldfast, folder: Path) -> None:
    cache = hf.row_cache("stock", source=Rows(), shards=2)
    await cache.schedule(1, every=60.0)
    await cache.refresh_due()
    await cache.get(2)
    await cache.invalidate(1)
    await cache.unschedule(1)


async def file_writes(hf: AsyncHoldfast, folder: Path) -> None:
    feed = hf.file_feed("logs", consumers=["geo"])
    await feed.publish(io.BytesIO(b"line\n" * 100_000), name="a.log")
    async for file in feed.consumer("geo").files(timeout=0):
        async with file:
            assert b"".join([block.data async for block in file.blocks()]) == b"line\n" * 100_000
    await feed.redefine(lease=60.0)
    await feed.seal()
    await hf.file_feed("other", mode="share").publish(io.BytesIO(b""), name="b.log")
    await hf.file_feed("other").abort()


async def tally_writes(hf: AsyncHoldfast, folder: Path) -> None:
    (folder / "a.log").write_text("".join(f"w{n}\n" for n in range(6_000)))
    await hf.tally("daily").aggregate(AsyncLocalFiles(folder), key=by_word)


BLOCKS: dict[str, Callable[[AsyncHoldfast, Path], Awaitable[None]]] = {
    "locks": lock_writes,
    "queues": queue_writes,
    "messages": message_writes,
    "completions": completion_writes,
    "counters": counter_writes,
    "rows": row_writes,
    "files": file_writes,
    "tallies": tally_writes,
}


def scripts_that_write(block: str) -> dict[str, Script]:
    """By their names."""
    folder = Path(str(holdfast.__file__)).parent / block / "lua"
    found = [Script.load(f"holdfast.{block}", file.stem) for file in sorted(folder.glob("*.lua"))]
    return {script.name: script for script in found if not script.readonly}


@pytest.fixture(scope="module")
def crew() -> Iterator[Crew]:
    with Crew(1) as crew:
        yield crew


@pytest.fixture
async def hf(crew: Crew) -> AsyncIterator[AsyncHoldfast]:
    async with AsyncHoldfast.from_url(
        crew.url, namespace=secrets.token_hex(4), durability=Replicated(1, timeout=30.0)
    ) as hf:
        yield hf


def test_every_block_is_here() -> None:
    """Each folder with scripts but the core, whose notes and marks are no user's writes."""
    folder = Path(str(holdfast.__file__)).parent
    assert {each.parent.name for each in folder.glob("*/lua")} - {"core"} == set(BLOCKS)


@pytest.mark.parametrize("block", BLOCKS)
async def test_every_write_waits(hf: AsyncHoldfast, crew: Crew, tmp_path: Path, block: str) -> None:
    """On its own connection, after each call of each script that writes."""
    with watching(crew.primary) as watch:
        await BLOCKS[block](hf, tmp_path)
    for name, script in scripts_that_write(block).items():
        calls = watch.after(script.sha1)
        waited = ["WAIT" in later for later in calls]
        if name in LEASES_AND_HINTS:
            assert not any(waited), f"{name} waits"
        elif name in SOMETIMES:
            assert any(waited), f"{name} never waits"
        else:
            assert waited, f"{name} was not called"
            assert all(waited), f"{name} does not wait"


async def test_what_reads_does_not_wait(hf: AsyncHoldfast, crew: Crew) -> None:
    """It has nothing to wait for."""
    with watching(crew.primary) as watch:
        await hf.lock("l").inspect()
        await hf.queue("work").stats()
        await hf.mailbox("jack").fetch()
        await hf.completions("guild").search("j")
        await hf.counter("hits").samples(60)
        await hf.row_cache("stock").get(1)
        await hf.tally("daily").days()
    names = {words[0].upper() for _, words in watch.commands}
    assert "WAIT" not in names
    assert "EVALSHA" in names
