"""One unit of each kind, with something of everything in it."""

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from holdfast import (
    Counted,
    Every,
    Holdfast,
    HoldfastError,
    Lease,
    Limit,
    PerKey,
    Retry,
    TaskRegistry,
    Unique,
)

NEVER: Final = 3600.0


class Place(NamedTuple):
    """Where units are built.

    Attributes:
        hf: the client.
        folder: for files.
        held: ends what is held.
    """

    hf: Holdfast
    folder: Path
    held: ExitStack


class Source:
    """A source of rows."""

    def load(self, ids: list[Any]) -> dict[Any, Any]:
        """Return a row for each id."""
        return {row_id: {"n": row_id} for row_id in ids}


def queue(place: Place, name: str) -> None:
    """Leave a queued, a unique delayed, two limited and a dead task, counts, a schedule."""
    registry, hf = TaskRegistry(), place.hf

    @registry.task(queue=name, retry=Retry(attempts=1))
    def fail() -> None:
        raise ValueError("it fails on purpose")

    @registry.task(queue=name, limit=PerKey("key", concurrency=1))
    def limited(key: str) -> None: ...

    hf.enqueue(fail.call().options(task_id="dead"))
    hf.worker(registry).run(until_idle=True)
    hf.enqueue(fail.call().options(task_id="waiting"))
    call = fail.call().options(task_id="later", unique=Unique())
    hf.enqueue(call.options(delay=NEVER, expires=2 * NEVER))
    hf.enqueue(limited.call("a").options(task_id="first", priority="low"))
    hf.enqueue(limited.call("a").options(task_id="second"))
    hf.schedule(f"{name}-hourly", fail.call(), Every(hours=1))


def group(place: Place, name: str) -> None:
    """Leave a group with one done member and one that waits."""
    registry, hf = TaskRegistry(), place.hf

    @registry.task(queue="groups")
    def part() -> int:
        return 1

    members = [part.call(), part.call().options(queue="nobody")]
    hf.enqueue_group(members, then=part.call(), on_failure=part.call(), group_id=name)
    hf.worker(registry, queues={"groups": 1}).run(until_idle=True)


def lock(place: Place, name: str) -> None:
    """Acquire the lock."""
    _hold(place, place.hf.lock(name, lease=NEVER).acquire())


def rw_lock(place: Place, name: str) -> None:
    """Held by a writer."""
    _hold(place, place.hf.rw_lock(name, lease=NEVER).acquire_write())


def semaphore(place: Place, name: str) -> None:
    """Acquire one of two permits."""
    _hold(place, place.hf.semaphore(name, limit=2, lease=NEVER).acquire())


def _hold(place: Place, lease: Lease) -> None:
    def end() -> None:
        with suppress(HoldfastError):
            lease.release()

    place.held.callback(end)


def fenced(place: Place, name: str) -> None:
    """Set a value."""
    place.hf.fenced(name).set({"left": 3}, 1)


def mailbox(place: Place, name: str) -> None:
    """Five messages."""
    for n in range(5):
        place.hf.mailbox(name).send(n, sender="jill")


def chat(place: Place, name: str) -> None:
    """Two messages of two members."""
    chat = place.hf.create_chat(["a", "b"], sender="a", body="hi", chat_id=name, keep="until_read")
    chat.send("again", sender="a")


def inbox(place: Place, name: str) -> None:
    """Create a chat of the user."""
    place.hf.create_chat(["a", name], sender="a", body="hi")


def recent(place: Place, name: str) -> None:
    """Two names."""
    place.hf.recent(name).touch("anna")
    place.hf.recent(name).touch("otto")


def completions(place: Place, name: str) -> None:
    """Add names, one of them with two words."""
    place.hf.completions(name).add_many(["Carla Santos", "Santiago"])


def counter(place: Place, name: str) -> None:
    """Add counts."""
    place.hf.counter(name).add()


def limit(place: Place, name: str) -> None:
    """Let something pass a limiter."""
    limiter = place.hf.rate_limit(name, Limit(9, per=3600.0))
    assert limiter.try_acquire()
    time.sleep(0.002)  # an instant of its own
    assert limiter.try_acquire()


def limiter(place: Place, name: str) -> None:
    """Store the definition of a limiter, and let something pass."""
    limit(place, name)


def cached(place: Place, name: str) -> None:
    """Call a cached function, and report its counts."""

    @place.hf.cached(ttl=NEVER, name=name, tags=[name])
    def function(n: int) -> int:
        return n

    assert function(1) == 1
    assert function.status() is not None


def values(place: Place, name: str) -> None:
    """Store a result of a cached function."""
    cached(place, name)


def tag(place: Place, name: str) -> None:
    """Store a result that has a tag."""
    cached(place, name)


def idempotent_call(place: Place, name: str) -> None:
    """Store an answer under an idempotency key."""
    call = place.hf.idempotency(name).begin("order-17", b"body", user="ann")
    assert call.finish(b"paid")


def rows(place: Place, name: str) -> None:
    """Schedule a row, and load it."""
    cache = place.hf.row_cache(name, source=Source(), shards=1)
    cache.schedule(1, every=NEVER)
    cache.refresh_due()


def feed(place: Place, name: str) -> None:
    """Publish a file of two chunks, for two consumers."""
    (place.folder / "a.log").write_bytes(bytes(range(256)) * 1000)
    place.hf.file_feed(name, consumers=["g", "h"]).publish(place.folder / "a.log")


def tally(place: Place, name: str) -> None:
    """Three lines of one day, by who."""
    (place.folder / "b.log").write_bytes(b"a\nb\na\n")
    lines = place.hf.file_feed(f"lines of {name}", consumers=["g"])
    lines.publish(place.folder / "b.log")
    lines.seal()
    place.hf.tally(name).aggregate(lines.consumer("g"), key=_by_who)


def _by_who(line: bytes) -> Counted:
    return Counted("2011-10-10", {"who": line.decode()})


BUILDERS: Final[Mapping[str, Callable[[Place, str], None]]] = {
    build.__name__: build
    for build in (
        queue, group, lock, rw_lock, semaphore, fenced, mailbox, chat, inbox, recent, completions,
        counter, rows, feed, tally, limit, limiter, cached, values, tag,
        idempotent_call,
    )
}  # fmt: skip
"""By kind of unit."""
