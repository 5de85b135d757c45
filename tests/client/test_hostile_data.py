"""Reading hostile data from the server never runs any of it."""

import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from client.units import BUILDERS, NEVER, Place
from conftest import Site
from faults.waiting import eventually
from holdfast import Holdfast, Limit, Retry, TaskFailed, TaskRegistry

NAME = "victim"


class Touch:
    """Unpickled, it makes a file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self._path,)


@pytest.fixture
def place(site: Site, tmp_path: Path) -> Iterator[Place]:
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf, ExitStack() as held:
        yield Place(hf, tmp_path, held)


def overwrite(site: Site, key: bytes, what: bytes) -> None:
    """Put *what* in place of every value of a key; its type, fields and expiry stay."""
    client: Any = site.client
    kind = client.type(key)
    if kind == b"string":
        client.set(key, what, keepttl=True)
    elif kind == b"hash":
        client.hset(key, mapping=dict.fromkeys(client.hkeys(key), what))
    elif kind == b"list":
        for number in range(client.llen(key)):
            client.lset(key, number, what)
    elif kind == b"zset":
        client.zadd(key, {what: 0})
    elif kind == b"set":
        client.sadd(key, what)
    else:
        last, fields = client.xrevrange(key, count=1)[0]
        major = int(last.partition(b"-")[0]) + 1
        client.xadd(key, dict.fromkeys(fields, what), id=f"{major}-0")


@contextmanager
def working(hf: Holdfast) -> Iterator[None]:
    registry = TaskRegistry()
    registry.task(queue=NAME, name="fail", retry=Retry(attempts=1))(print)
    worker = hf.worker(registry, queues={NAME: 1})
    running = threading.Thread(target=worker.run)
    running.start()
    try:
        yield
    finally:
        worker.stop()
        running.join()


def work(hf: Holdfast) -> None:
    """Run a worker until no task can run: all have ended, or wait for a worker that knows them."""
    with working(hf):
        eventually(lambda: not hf.queue(NAME).stats().ready)
        eventually(lambda: not hf.queue(NAME).stats().running)


def take(hf: Holdfast) -> None:
    lease = hf.lock(NAME).try_acquire()
    if lease is not None:
        lease.release()


def save(hf: Holdfast, folder: Path) -> None:
    """Save what a feed brings."""
    for file in hf.file_feed(NAME).consumer("g").files(timeout=0):
        with file:
            file.save_to(folder)


def cached(hf: Holdfast) -> Any:
    """Return the cached function that `units` has called."""

    @hf.cached(ttl=NEVER, name=NAME, tags=[NAME])
    def function(n: int) -> int:
        return n

    return function


READERS: dict[str, list[Callable[[Holdfast, Path], object]]] = {
    "queue": [
        lambda hf, _: hf.queue(NAME).stats(),
        lambda hf, _: hf.queue(NAME).dead(),
        lambda hf, _: work(hf),
    ],
    "lock": [
        lambda hf, _: hf.lock(NAME).inspect(),
        lambda hf, _: take(hf),
    ],
    "rw_lock": [lambda hf, _: hf.rw_lock(NAME).inspect()],
    "semaphore": [lambda hf, _: hf.semaphore(NAME).inspect()],
    "limit": [lambda hf, _: hf.rate_limit(NAME, Limit(9, per=3600.0)).peek()],
    "idempotent_call": [
        lambda hf, _: hf.idempotency(NAME).begin("order-17", b"body", user="ann"),
    ],
    "limiter": [lambda hf, _: hf.rate_limits()],
    "group": [
        lambda hf, _: hf.groups(),
        lambda hf, _: hf.group_handle(NAME).status(),
        lambda hf, _: list(hf.group_handle(NAME).results()),
    ],
    "cached": [lambda hf, _: hf.cached_functions(), lambda hf, _: cached(hf).status()],
    "values": [lambda hf, _: cached(hf)(1), lambda hf, _: cached(hf).peek(1)],
    "tag": [lambda hf, _: cached(hf)(1)],
    "fenced": [lambda hf, _: hf.fenced(NAME).get()],
    "mailbox": [
        lambda hf, _: hf.mailbox(NAME).fetch(),
        lambda hf, _: hf.mailbox(NAME).latest(10),
        lambda hf, _: hf.mailbox(NAME).status(),
    ],
    "chat": [
        lambda hf, _: hf.chat(NAME).history(),
        lambda hf, _: hf.chat(NAME).members(),
    ],
    "inbox": [lambda hf, _: hf.inbox(NAME).fetch(), lambda hf, _: hf.inbox(NAME).chats()],
    "recent": [lambda hf, _: hf.recent(NAME).all(), lambda hf, _: hf.recent(NAME).match("a")],
    "completions": [lambda hf, _: hf.completions(NAME).search("c")],
    "counter": [lambda hf, _: hf.counter(NAME).samples(60)],
    "rows": [
        lambda hf, _: hf.row_cache(NAME, shards=1).get(1),
        lambda hf, _: hf.row_cache(NAME, shards=1).status(),
    ],
    "feed": [save, lambda hf, _: hf.file_feed(NAME).status()],
    "tally": [
        lambda hf, _: hf.tally(NAME).days(),
        lambda hf, _: hf.tally(NAME).top("who", day="2011-10-10"),
    ],
}
"""By kind of unit, ways to read it."""


def test_each_kind_is_read() -> None:
    assert set(READERS) == set(BUILDERS)


@pytest.mark.parametrize("kind", BUILDERS)
def test_each_reader_reads(place: Place, kind: str) -> None:
    BUILDERS[kind](place, NAME)
    for read in READERS[kind]:
        read(place.hf, place.folder / "read")


@pytest.mark.parametrize("kind", BUILDERS)
def test_pickle_in_every_key_runs_nothing(place: Place, site: Site, kind: str) -> None:
    BUILDERS[kind](place, NAME)
    marker = place.folder / "it ran"
    canary = pickle.dumps(Touch(marker))
    keys = list(site.client.scan_iter(f"{site.namespace}:*"))
    assert keys
    for key in keys:
        if kind != "queue" or key.endswith(b":bodies"):  # a worker asks until scripts answer
            overwrite(site, key, canary)
    for read in READERS[kind]:
        with suppress(Exception):  # what is no value of a user may fail in any way: see `fsck`
            read(place.hf, place.folder / "read")
    assert not marker.exists()
    pickle.loads(canary)
    assert marker.exists(), "the canary is alive"


def test_unknown_tasks_are_not_looked_for(place: Place) -> None:
    senders = TaskRegistry()
    names = ["os.system", "this", "fail.__init__", "__import__", "antigravity:main"]
    for name in names:
        place.hf.enqueue(senders.task(queue=NAME, name=name)(print).call())
    work(place.hf)
    assert place.hf.queue(NAME).stats().delayed == len(names)
    assert not {"this", "antigravity"} & set(sys.modules)


def test_why_a_task_failed_is_text(place: Place) -> None:
    registry = TaskRegistry()

    @registry.task(queue=NAME, retry=Retry(attempts=1))
    def fail() -> None:
        raise type("system", (Exception,), {"__module__": "os"})("invalid literal")

    handle = place.hf.enqueue(fail.call())
    place.hf.worker(registry, queues={NAME: 1}).run(until_idle=True)
    with pytest.raises(TaskFailed) as failed:
        handle.result(timeout=30.0)
    assert failed.value.reason.startswith("failed: system: invalid literal")
    assert failed.value.__cause__ is None
