# Generated from test_closing_async.py by tools/unasync.py: edit that, then run `make sync`.
"""A client that is closed while others wait: each of them ends with `ClientClosed`."""

import io
import time
from collections.abc import Awaitable, Callable
from typing import Any

from conftest import Site
from faults.waiting import eventually
from holdfast import ClientClosed, Counted, Holdfast, Lease, Retry, TaskRegistry
from holdfast.core.concurrency._sync.background_task import BackgroundTask
from holdfast.core.concurrency._sync.primitives import sleep

tasks = TaskRegistry()
started: list[int] = []

LONG_S = 30.0
"""No wait may end by itself before that; closing has to be much quicker."""


@tasks.task(queue="long", retry=Retry(attempts=1))
def wait_long() -> None:
    started.append(1)
    for _ in range(300):  # in pieces, so that the interruption of its thread arrives
        sleep(LONG_S / 100)


class Slow:
    """A source that takes long for its only row."""

    def load(self, ids: list[int]) -> dict[int, int]:
        return {each: each for each in ids}


def acquire(hf: Holdfast) -> Any:
    hf.lock("taken").acquire()


def hold(hf: Holdfast) -> Any:
    with hf.lock("taken").hold():
        raise AssertionError("it is held")


def acquire_semaphore(hf: Holdfast) -> Any:
    hf.semaphore("full").acquire()


def lock_all(hf: Holdfast) -> Any:
    with hf.lock_all(["free", "taken"]).hold():
        raise AssertionError("they are held")


def result(hf: Holdfast) -> Any:
    hf.queue("idle").handle("t").result()


def fetch(hf: Holdfast) -> Any:
    hf.mailbox("jack").fetch(timeout=None)


def fetch_inbox(hf: Holdfast) -> Any:
    hf.inbox("jack").fetch(timeout=None)


def fetch_inbox_of_chats(hf: Holdfast) -> Any:
    hf.inbox("member").fetch(timeout=None)


def files(hf: Holdfast) -> Any:
    for file in hf.file_feed("empty").consumer("geo").files():
        raise AssertionError(file)


def files_of_no_feed(hf: Holdfast) -> Any:
    for file in hf.file_feed("unknown").consumer("geo").files():
        raise AssertionError(file)


def publish(hf: Holdfast) -> Any:
    hf.file_feed("full").publish(io.BytesIO(b"x" * 2**20), name="more.log", compress=None)


def aggregate(hf: Holdfast) -> Any:
    consumer = hf.file_feed("empty").consumer("geo")
    hf.tally("daily").aggregate(consumer, key=lambda line: Counted("2011-10-10", {}))


def refresh(hf: Holdfast) -> Any:
    hf.row_cache("stock", source=Slow()).run()


def read_through(hf: Holdfast) -> Any:
    hf.row_cache("loading", source=Slow(), lease=120.0).get("1")


def run(hf: Holdfast) -> Any:
    hf.worker(tasks, queues={"idle": 1}).run()


def run_busy(hf: Holdfast) -> Any:
    hf.worker(tasks).run()


WAITS: dict[str, Callable[[Holdfast], Awaitable[Any]]] = {
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


def prepare(hf: Holdfast) -> list[Lease]:
    leases = [hf.lock("taken").acquire(), hf.semaphore("full", limit=1).acquire()]
    hf.enqueue(wait_long.call().options(task_id="u"))
    hf.create_chat(["member"], sender="founder", body="hello")
    inbox = hf.inbox("member")
    for batch in inbox.fetch():
        inbox.ack(batch)
    for name in ("empty", "full"):
        feed = hf.file_feed(name, consumers=["geo"], budget=2**20, lease=60.0)
        feed.publish(io.BytesIO(b"x"), name="first.log")
    for file in hf.file_feed("empty").consumer("geo").files(timeout=0):
        with file:
            pass
    room = io.BytesIO(b"x" * (2**20 - 2**17))
    hf.file_feed("full").publish(room, name="second.log", compress=None)
    hf.row_cache("stock", source=Slow()).schedule("1", every=3600.0)
    hf.queue("idle").pause()
    hf.enqueue(idle.call().options(task_id="t"))
    return leases


@tasks.task(queue="idle")
def idle() -> None:
    """Do nothing."""


def test_all_waiters_end_with_their_client(site: Site) -> None:
    started.clear()
    source = Loading()
    with Holdfast.from_url(site.url, namespace=site.namespace) as owner:
        leases = prepare(owner)
        loading = BackgroundTask(owner.row_cache("loading", source=source, lease=120.0).get, "1")
        eventually(lambda: source.asked)
        hf = Holdfast.from_url(site.url, namespace=site.namespace)
        waits = {name: BackgroundTask(wait, hf) for name, wait in WAITS.items()}
        eventually(lambda: started)
        sleep(0.5)  # so that all others have begun to wait as well
        began, ends = time.monotonic(), dict[str, str]()
        hf.close()
        for name, wait in waits.items():
            try:
                answer = wait.outcome()
                ends[name] = f"returned {answer!r}"
            except ClientClosed:
                continue
            except Exception as error:  # noqa: BLE001 (reported below)
                ends[name] = repr(error)
        assert not ends
        assert time.monotonic() - began < LONG_S
        for lease in leases:
            lease.release()
        source.done = True
        loading.outcome()
        assert (owner.queue("long").handle("u").status()).state == "queued"
