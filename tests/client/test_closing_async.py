"""A client that is closed while others wait: each of them ends with `ClientClosed`."""

import io
import time
from collections.abc import Awaitable, Callable
from typing import Any

from conftest import Site
from faults.waiting import eventually_async
from holdfast import AsyncHoldfast, AsyncLease, ClientClosed, Counted, Retry, TaskRegistry
from holdfast.core.concurrency._async.background_task import BackgroundTask
from holdfast.core.concurrency._async.primitives import sleep

tasks = TaskRegistry()
started: list[int] = []

LONG_S = 30.0
"""No wait may end by itself before that; closing has to be much quicker."""


@tasks.task(queue="long", retry=Retry(attempts=1))
async def wait_long() -> None:
    started.append(1)
    for _ in range(300):  # in pieces, so that the interruption of its thread arrives
        await sleep(LONG_S / 100)


class Slow:
    """A source that takes long for its only row."""

    def load(self, ids: list[int]) -> dict[int, int]:
        return {each: each for each in ids}


async def acquire(hf: AsyncHoldfast) -> Any:
    await hf.lock("taken").acquire()


async def hold(hf: AsyncHoldfast) -> Any:
    async with hf.lock("taken").hold():
        raise AssertionError("it is held")


async def acquire_semaphore(hf: AsyncHoldfast) -> Any:
    await hf.semaphore("full").acquire()


async def lock_all(hf: AsyncHoldfast) -> Any:
    async with hf.lock_all(["free", "taken"]).hold():
        raise AssertionError("they are held")


async def result(hf: AsyncHoldfast) -> Any:
    await hf.queue("idle").handle("t").result()


async def fetch(hf: AsyncHoldfast) -> Any:
    await hf.mailbox("jack").fetch(timeout=None)


async def fetch_inbox(hf: AsyncHoldfast) -> Any:
    await hf.inbox("jack").fetch(timeout=None)


async def fetch_inbox_of_chats(hf: AsyncHoldfast) -> Any:
    await hf.inbox("member").fetch(timeout=None)


async def files(hf: AsyncHoldfast) -> Any:
    async for file in hf.file_feed("empty").consumer("geo").files():
        raise AssertionError(file)


async def files_of_no_feed(hf: AsyncHoldfast) -> Any:
    async for file in hf.file_feed("unknown").consumer("geo").files():
        raise AssertionError(file)


async def publish(hf: AsyncHoldfast) -> Any:
    await hf.file_feed("full").publish(io.BytesIO(b"x" * 2**20), name="more.log", compress=None)


async def aggregate(hf: AsyncHoldfast) -> Any:
    consumer = hf.file_feed("empty").consumer("geo")
    await hf.tally("daily").aggregate(consumer, key=lambda line: Counted("2011-10-10", {}))


async def refresh(hf: AsyncHoldfast) -> Any:
    await hf.row_cache("stock", source=Slow()).run()


async def read_through(hf: AsyncHoldfast) -> Any:
    await hf.row_cache("loading", source=Slow(), lease=120.0).get("1")


async def run(hf: AsyncHoldfast) -> Any:
    await hf.worker(tasks, queues={"idle": 1}).run()


async def run_busy(hf: AsyncHoldfast) -> Any:
    await hf.worker(tasks).run()


WAITS: dict[str, Callable[[AsyncHoldfast], Awaitable[Any]]] = {
    each.__name__: each
    for each in (
        acquire,
        hold,
        acquire_semaphore,
        lock_all,
        result,
        fetch,
        fetch_inbox,
        fetch_inbox_of_chats,
        files,
        files_of_no_feed,
        publish,
        aggregate,
        refresh,
        read_through,
        run,
        run_busy,
    )
}


class Loading:
    def __init__(self) -> None:
        self.asked = self.done = False

    def load(self, ids: list[str]) -> dict[str, str]:
        self.asked = True
        give_up = time.monotonic() + 3 * LONG_S
        while not self.done and time.monotonic() < give_up:
            time.sleep(0.01)
        return {each: each for each in ids}


async def prepare(hf: AsyncHoldfast) -> list[AsyncLease]:
    leases = [await hf.lock("taken").acquire(), await hf.semaphore("full", limit=1).acquire()]
    await hf.enqueue(wait_long.call().options(task_id="u"))
    await hf.create_chat(["member"], sender="founder", body="hello")
    inbox = hf.inbox("member")
    for batch in await inbox.fetch():
        await inbox.ack(batch)
    for name in ("empty", "full"):
        feed = hf.file_feed(name, consumers=["geo"], budget=2**20, lease=60.0)
        await feed.publish(io.BytesIO(b"x"), name="first.log")
    async for file in hf.file_feed("empty").consumer("geo").files(timeout=0):
        async with file:
            pass
    room = io.BytesIO(b"x" * (2**20 - 2**17))
    await hf.file_feed("full").publish(room, name="second.log", compress=None)
    await hf.row_cache("stock", source=Slow()).schedule("1", every=3600.0)
    await hf.queue("idle").pause()
    await hf.enqueue(idle.call().options(task_id="t"))
    return leases


@tasks.task(queue="idle")
async def idle() -> None:
    """Do nothing."""


async def test_all_waiters_end_with_their_client(site: Site) -> None:
    started.clear()
    source = Loading()
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as owner:
        leases = await prepare(owner)
        loading = BackgroundTask(owner.row_cache("loading", source=source, lease=120.0).get, "1")
        await eventually_async(lambda: source.asked)
        hf = AsyncHoldfast.from_url(site.url, namespace=site.namespace)
        waits = {name: BackgroundTask(wait, hf) for name, wait in WAITS.items()}
        await eventually_async(lambda: started)
        await sleep(0.5)  # so that all others have begun to wait as well
        began, ends = time.monotonic(), dict[str, str]()
        await hf.close()
        for name, wait in waits.items():
            try:
                answer = await wait.outcome()
                ends[name] = f"returned {answer!r}"
            except ClientClosed:
                continue
            except Exception as error:  # noqa: BLE001 (reported below)
                ends[name] = repr(error)
        assert not ends
        assert time.monotonic() - began < LONG_S
        for lease in leases:
            await lease.release()
        source.done = True
        await loading.outcome()
        assert (await owner.queue("long").handle("u").status()).state == "queued"
