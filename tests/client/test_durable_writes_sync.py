# Generated from test_durable_writes_async.py by tools/unasync.py: edit that one, then `make sync`.
"""Every write of every block waits for its replicas; what only reads, leases or hints does not."""

from __future__ import annotations

import io
import secrets
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

import holdfast
from faults.monitor import watching
from faults.replicas import Crew
from holdfast import Counted, Holdfast, LocalFiles, Replicated, Retry, TaskRegistry
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


def lock_writes(hf: Holdfast, folder: Path) -> None:
    lease = hf.lock("l").acquire()
    hf.fenced("l").set("v", lease.fence)
    lease.release()
    with hf.semaphore("s", limit=2).hold():
        pass
    hf.semaphore("s").redefine(limit=3)


def queue_writes(hf: Holdfast, folder: Path) -> None:
    queue = hf.queue("work", capacity=100)
    hf.enqueue(work.call(1))
    [handle, _] = hf.enqueue_many([work.call(2), work.call(-1)])
    handle.cancel()
    queue.pause()
    queue.resume()
    queue.redefine(capacity=None)
    hf.worker(tasks).run(until_idle=True)
    assert len(queue.dead()) == 1
    queue.replay()
    queue.purge()


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


def row_writes(hf: Holdfast, folder: Path) -> None:
    cache = hf.row_cache("stock", source=Rows(), shards=2)
    cache.schedule(1, every=60.0)
    cache.refresh_due()
    cache.get(2)
    cache.invalidate(1)
    cache.unschedule(1)


def file_writes(hf: Holdfast, folder: Path) -> None:
    feed = hf.file_feed("logs", consumers=["geo"])
    feed.publish(io.BytesIO(b"line\n" * 100_000), name="a.log")
    for file in feed.consumer("geo").files(timeout=0):
        with file:
            assert b"".join([block.data for block in file.blocks()]) == b"line\n" * 100_000
    feed.redefine(lease=60.0)
    feed.seal()
    hf.file_feed("other", mode="share").publish(io.BytesIO(b""), name="b.log")
    hf.file_feed("other").abort()


def tally_writes(hf: Holdfast, folder: Path) -> None:
    (folder / "a.log").write_text("".join(f"w{n}\n" for n in range(6_000)))
    hf.tally("daily").aggregate(LocalFiles(folder), key=by_word)


BLOCKS: dict[str, Callable[[Holdfast, Path], Awaitable[None]]] = {
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
def hf(crew: Crew) -> Iterator[Holdfast]:
    with Holdfast.from_url(
        crew.url, namespace=secrets.token_hex(4), durability=Replicated(1, timeout=30.0)
    ) as hf:
        yield hf


def test_every_block_is_here() -> None:
    """Each folder with scripts but the core, whose notes and marks are no user's writes."""
    folder = Path(str(holdfast.__file__)).parent
    assert {each.parent.name for each in folder.glob("*/lua")} - {"core"} == set(BLOCKS)


@pytest.mark.parametrize("block", BLOCKS)
def test_every_write_waits(hf: Holdfast, crew: Crew, tmp_path: Path, block: str) -> None:
    """On its own connection, after each call of each script that writes."""
    with watching(crew.primary) as watch:
        BLOCKS[block](hf, tmp_path)
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


def test_what_reads_does_not_wait(hf: Holdfast, crew: Crew) -> None:
    """It has nothing to wait for."""
    with watching(crew.primary) as watch:
        hf.lock("l").inspect()
        hf.queue("work").stats()
        hf.mailbox("jack").fetch()
        hf.completions("guild").search("j")
        hf.counter("hits").samples(60)
        hf.row_cache("stock").get(1)
        hf.tally("daily").days()
    names = {words[0].upper() for _, words in watch.commands}
    assert "WAIT" not in names
    assert "EVALSHA" in names
