# Generated from _async/operations.py by tools/unasync.py: edit that, then run `make sync`.
"""Every public operation on one unit of each kind, for tests that damage what it reads."""

import io
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from holdfast import (
    Counted,
    Holdfast,
    Limit,
    LocalFiles,
    RateLimited,
    Retry,
    TaskRegistry,
)
from holdfast.queues.task_status import LISTED_STATES

NAME: Final = "victim"

SHORT_S: Final = 0.02
"""How long an operation waits that may wait."""

STOP_S: Final = 0.1

Operation = Callable[[Holdfast, Path, str | None], Awaitable[Any]]
"""With a client, a folder of its own, and the `op_id` of writes."""

tasks = TaskRegistry()


@tasks.task(queue=NAME, retry=Retry(attempts=1))
def fail() -> None:
    raise ValueError("it fails on purpose")


class Source:
    """Rows for all ids."""

    def load(self, ids: list[Any]) -> dict[Any, Any]:
        return {row_id: {"n": row_id} for row_id in ids}


def by_who(line: bytes) -> Counted:
    return Counted("2011-10-10", {"who": line.decode()})


def _hold(held: Any) -> None:
    """Take a place of a lock or semaphore, renew it, and give it back."""
    lease = held.try_acquire()
    if lease is not None:
        with lease:
            lease.renew()


def _hold_both(lock: Any) -> None:
    """Take a reader-writer lock as a reader, then as a writer, and release it."""
    for take in (lock.try_read, lock.try_write):
        lease = take()
        if lease is not None:
            with lease:
                lease.renew()


def _wait(held: Any) -> None:
    """Wait for a place, and give it back."""
    _enter(held.hold)


def _enter(hold: Any) -> None:
    with hold(timeout=SHORT_S):
        pass


def _pass(hf: Holdfast, folder: Path, op_id: str | None) -> None:
    """Pass a rate limiter, correct the cost, and give it back."""
    with suppress(RateLimited):
        permit = _limiter(hf).acquire(timeout=SHORT_S, op_id=op_id)
        permit.settle({"requests": 3})
        permit.cancel()


def _read_feed(hf: Holdfast, folder: Path, op_id: str | None) -> None:
    for file in hf.file_feed(NAME).consumer("g").files(timeout=SHORT_S):
        with file:
            file.save_to(folder / "read")


def _publish(hf: Holdfast, folder: Path, op_id: str | None) -> None:
    feed = hf.file_feed(NAME)
    feed.publish(io.BytesIO(b"line\n" * 50_000), name="new.log", timeout=SHORT_S)


def _aggregate(hf: Holdfast, folder: Path, op_id: str | None) -> None:
    lines = folder / "lines"
    lines.mkdir(exist_ok=True)
    (lines / "b.log").write_bytes(b"a\nb\na\n")
    hf.tally(NAME).aggregate(LocalFiles(lines), key=by_who)


def _list_tasks(hf: Holdfast, folder: Path, op_id: str | None) -> None:
    for state in LISTED_STATES:
        hf.queue(NAME).tasks(state)


def _work(hf: Holdfast, folder: Path, op_id: str | None) -> None:
    """Run a worker, and stop it: it must end, whatever it finds."""
    worker = hf.worker(tasks)
    stopping = threading.Timer(STOP_S, worker.stop)
    stopping.start()
    try:
        worker.run(until_idle=True)
    finally:
        stopping.join()


def _flush(hf: Holdfast, folder: Path, op_id: str | None) -> None:
    with hf.counter_buffer(flush_every=3600.0) as buffer:
        buffer.add(NAME)


def _fetch_inbox(hf: Holdfast, folder: Path, op_id: str | None) -> None:
    inbox = hf.inbox(NAME)
    for batch in inbox.fetch(timeout=SHORT_S):
        inbox.ack(batch)


def _ack_inbox(hf: Holdfast, folder: Path, op_id: str | None) -> None:
    inbox = hf.inbox(NAME)
    inbox.ack_all(inbox.fetch())


def _fetch_mailbox(hf: Holdfast, folder: Path, op_id: str | None) -> None:
    box = hf.mailbox(NAME)
    box.ack(box.fetch(timeout=SHORT_S))


def _of_lock(hf: Holdfast) -> Any:
    return hf.lock(NAME, lease=60.0)


def _of_semaphore(hf: Holdfast) -> Any:
    return hf.semaphore(NAME, lease=60.0)


def _idempotent(hf: Holdfast) -> None:
    """Begin a call, and free its key."""
    store = hf.idempotency(NAME)
    with store.begin("order-17", b"body", user="ann", wait=SHORT_S):
        pass


def _limiter(hf: Holdfast) -> Any:
    return hf.rate_limit(NAME, Limit(9, per=3600.0))


def _results(hf: Holdfast) -> None:
    for _ in hf.group_handle(NAME).results():
        pass


def _cached(hf: Holdfast) -> Any:
    def function(n: int) -> int:
        return n

    return hf.cached(ttl=3600.0, name=NAME, tags=[NAME], timeout=SHORT_S)(function)


def _rows(hf: Holdfast) -> Any:
    return hf.row_cache(NAME, source=Source())


_OF_KINDS: Final[Mapping[str, Mapping[str, Operation]]] = {
    "queue": {
        "stats": lambda hf, _, op: hf.queue(NAME).stats(),
        "throughput": lambda hf, _, op: hf.queue(NAME).throughput(),
        "history": lambda hf, _, op: hf.queue(NAME).history(),
        "tasks": _list_tasks,
        "dead": lambda hf, _, op: hf.queue(NAME).dead(),
        "pause": lambda hf, _, op: hf.queue(NAME).pause(op_id=op),
        "resume": lambda hf, _, op: hf.queue(NAME).resume(op_id=op),
        "redefine": lambda hf, _, op: hf.queue(NAME).redefine(capacity=9, op_id=op),
        "replay": lambda hf, _, op: hf.queue(NAME).replay(op_id=op),
        "purge": lambda hf, _, op: hf.queue(NAME).purge(op_id=op),
        "purge dead": lambda hf, _, op: hf.queue(NAME).purge(dead=True, op_id=op),
        "enqueue": lambda hf, _, op: hf.enqueue(fail.call(), op_id=op),
        "status": lambda hf, _, op: hf.queue(NAME).handle("dead").status(),
        "result": lambda hf, _, op: hf.queue(NAME).handle("waiting").result(timeout=SHORT_S),
        "cancel": lambda hf, _, op: hf.queue(NAME).handle("waiting").cancel(op_id=op),
        "worker": _work,
        "queues": lambda hf, _, op: hf.queues(),
        "workers": lambda hf, _, op: hf.workers(),
    },
    "lock": {
        "hold": lambda hf, _, op: _hold(_of_lock(hf)),
        "wait": lambda hf, _, op: _wait(_of_lock(hf)),
        "inspect": lambda hf, _, op: _of_lock(hf).inspect(),
        "locks": lambda hf, _, op: hf.locks(),
    },
    "rw_lock": {
        "hold": lambda hf, _, op: _hold_both(hf.rw_lock(NAME, lease=60.0)),
        "wait to read": lambda hf, _, op: _enter(hf.rw_lock(NAME, lease=60.0).read),
        "wait to write": lambda hf, _, op: _enter(hf.rw_lock(NAME, lease=60.0).write),
        "inspect": lambda hf, _, op: hf.rw_lock(NAME).inspect(),
        "rw_locks": lambda hf, _, op: hf.rw_locks(),
    },
    "semaphore": {
        "hold": lambda hf, _, op: _hold(_of_semaphore(hf)),
        "wait": lambda hf, _, op: _wait(_of_semaphore(hf)),
        "inspect": lambda hf, _, op: _of_semaphore(hf).inspect(),
        "redefine": lambda hf, _, op: _of_semaphore(hf).redefine(limit=3, op_id=op),
        "semaphores": lambda hf, _, op: hf.semaphores(),
    },
    "limit": {
        "try_acquire": lambda hf, _, op: _limiter(hf).try_acquire(op_id=op),
        "acquire": _pass,
        "peek": lambda hf, _, op: _limiter(hf).peek(),
        "reset": lambda hf, _, op: _limiter(hf).reset(),
    },
    "limiter": {
        "rate_limits": lambda hf, _, op: hf.rate_limits(),
    },
    "idempotent_call": {
        "begin": lambda hf, _, op: _idempotent(hf),
        "status": lambda hf, _, op: hf.idempotency(NAME).status("order-17", user="ann"),
        "forget": lambda hf, _, op: hf.idempotency(NAME).forget("order-17", user="ann"),
        "stores": lambda hf, _, op: hf.idempotency_stores(),
    },
    "group": {
        "status": lambda hf, _, op: hf.group_handle(NAME).status(),
        "results": lambda hf, _, op: _results(hf),
        "cancel": lambda hf, _, op: hf.group_handle(NAME).cancel(),
        "groups": lambda hf, _, op: hf.groups(),
    },
    "cached": {
        "call": lambda hf, _, op: _cached(hf)(1),
        "status": lambda hf, _, op: _cached(hf).status(),
        "cached_functions": lambda hf, _, op: hf.cached_functions(),
    },
    "values": {
        "call": lambda hf, _, op: _cached(hf)(1),
        "peek": lambda hf, _, op: _cached(hf).peek(1),
        "put": lambda hf, _, op: _cached(hf).put(2, 1),
        "many": lambda hf, _, op: _cached(hf).many([1, 2]),
        "invalidate": lambda hf, _, op: _cached(hf).invalidate(1),
        "invalidate_all": lambda hf, _, op: _cached(hf).invalidate_all(),
    },
    "tag": {
        "call": lambda hf, _, op: _cached(hf)(1),
        "invalidate_tags": lambda hf, _, op: hf.invalidate_tags(NAME),
    },
    "fenced": {
        "get": lambda hf, _, op: hf.fenced(NAME).get(),
        "set": lambda hf, _, op: hf.fenced(NAME).set("v", 10, op_id=op),
    },
    "mailbox": {
        "fetch": _fetch_mailbox,
        "ack": lambda hf, _, op: hf.mailbox(NAME).ack(3),
        "latest": lambda hf, _, op: hf.mailbox(NAME).latest(10),
        "status": lambda hf, _, op: hf.mailbox(NAME).status(),
        "send": lambda hf, _, op: hf.mailbox(NAME).send(1, sender="jill", op_id=op),
        "redefine": lambda hf, _, op: hf.mailbox(NAME).redefine(capacity=9, op_id=op),
        "mailboxes": lambda hf, _, op: hf.mailboxes(),
    },
    "chat": {
        "history": lambda hf, _, op: hf.chat(NAME).history(),
        "members": lambda hf, _, op: hf.chat(NAME).members(),
        "read_by": lambda hf, _, op: hf.chat(NAME).read_by(1),
        "status": lambda hf, _, op: hf.chat(NAME).status(),
        "send": lambda hf, _, op: hf.chat(NAME).send(1, sender="a", op_id=op),
        "join": lambda hf, _, op: hf.chat(NAME).join("c", op_id=op),
        "leave": lambda hf, _, op: hf.chat(NAME).leave("b", op_id=op),
        "redefine": lambda hf, _, op: hf.chat(NAME).redefine(keep=9, op_id=op),
        "create": lambda hf, _, op: hf.create_chat(["a"], sender="a", body="x", chat_id=NAME),
        "inbox": lambda hf, _, op: hf.inbox("a").fetch(timeout=SHORT_S),
        "unread": lambda hf, _, op: hf.inbox("a").unread(),
        "chats": lambda hf, _, op: hf.chats(),
    },
    "inbox": {
        "fetch": _fetch_inbox,
        "ack_all": _ack_inbox,
        "unread": lambda hf, _, op: hf.inbox(NAME).unread(),
        "chats": lambda hf, _, op: hf.inbox(NAME).chats(),
        "create": lambda hf, _, op: hf.create_chat([NAME], sender=NAME, body="x"),
    },
    "recent": {
        "all": lambda hf, _, op: hf.recent(NAME).all(),
        "match": lambda hf, _, op: hf.recent(NAME).match("a"),
        "touch": lambda hf, _, op: hf.recent(NAME).touch("jill", op_id=op),
        "touch limited": lambda hf, _, op: hf.recent(NAME, limit=5).touch("jill", op_id=op),
        "remove": lambda hf, _, op: hf.recent(NAME).remove("anna", op_id=op),
        "redefine": lambda hf, _, op: hf.recent(NAME).redefine(limit=9, op_id=op),
    },
    "completions": {
        "search": lambda hf, _, op: hf.completions(NAME).search("s"),
        "search all": lambda hf, _, op: hf.completions(NAME).search(""),
        "has": lambda hf, _, op: hf.completions(NAME).has("Santiago"),
        "count": lambda hf, _, op: hf.completions(NAME).count(),
        "add": lambda hf, _, op: hf.completions(NAME).add("Jill", op_id=op),
        "add_many": lambda hf, _, op: hf.completions(NAME).add_many(["Jill", "Jack"]),
        "remove": lambda hf, _, op: hf.completions(NAME).remove("Santiago", op_id=op),
        "known": lambda hf, _, op: hf.known_completions(),
    },
    "counter": {
        "samples": lambda hf, _, op: hf.counter(NAME).samples(60),
        "total": lambda hf, _, op: hf.counter(NAME).total(60.0),
        "rate": lambda hf, _, op: hf.counter(NAME).rate(3600.0),
        "inspect": lambda hf, _, op: hf.counter(NAME).inspect(),
        "add": lambda hf, _, op: hf.counter(NAME).add(op_id=op),
        "add precise": lambda hf, _, op: hf.counter(NAME, precisions=[60], keep=9).add(op_id=op),
        "redefine": lambda hf, _, op: hf.counter(NAME).redefine(keep=9, op_id=op),
        "flush": _flush,
        "known": lambda hf, _, op: hf.known_counters(),
    },
    "rows": {
        "get": lambda hf, _, op: _rows(hf).get(1, timeout=SHORT_S),
        "get young": lambda hf, _, op: _rows(hf).get(1, max_age=0.0, timeout=SHORT_S),
        "get_many": lambda hf, _, op: _rows(hf).get_many([1, 2], timeout=SHORT_S),
        "get only": lambda hf, _, op: hf.row_cache(NAME).get(1),
        "explain": lambda hf, _, op: _rows(hf).explain(1),
        "scheduled": lambda hf, _, op: _rows(hf).scheduled(),
        "status": lambda hf, _, op: _rows(hf).status(),
        "schedule": lambda hf, _, op: _rows(hf).schedule(1, every=60.0, op_id=op),
        "unschedule": lambda hf, _, op: _rows(hf).unschedule(1, op_id=op),
        "invalidate": lambda hf, _, op: _rows(hf).invalidate(1),
        "refresh": lambda hf, _, op: _rows(hf).refresh_due(),
        "caches": lambda hf, _, op: hf.row_caches(),
    },
    "feed": {
        "status": lambda hf, _, op: hf.file_feed(NAME).status(),
        "files": lambda hf, _, op: hf.file_feed(NAME).files(),
        "redefine": lambda hf, _, op: hf.file_feed(NAME).redefine(lease=60.0),
        "publish": _publish,
        "read": _read_feed,
        "seal": lambda hf, _, op: hf.file_feed(NAME).seal(),
        "abort": lambda hf, _, op: hf.file_feed(NAME).abort(),
        "feeds": lambda hf, _, op: hf.file_feeds(),
    },
    "tally": {
        "total": lambda hf, _, op: hf.tally(NAME).total("2011-10-10"),
        "days": lambda hf, _, op: hf.tally(NAME).days(),
        "dimensions": lambda hf, _, op: hf.tally(NAME).dimensions("2011-10-10"),
        "top": lambda hf, _, op: hf.tally(NAME).top("who", day="2011-10-10"),
        "count": lambda hf, _, op: hf.tally(NAME).count("who", "a", day="2011-10-10"),
        "share_of": lambda hf, _, op: hf.tally(NAME).share_of("who", "a", day="2011-10-10"),
        "rejected": lambda hf, _, op: hf.tally(NAME).rejected("2011-10-10"),
        "aggregate": _aggregate,
        "tallies": lambda hf, _, op: hf.tallies(),
    },
}

_OF_ALL: Final[Mapping[str, Operation]] = {
    "audit": lambda hf, _, op: hf.audit(),
}

OPERATIONS: Final = {kind: {**each, **_OF_ALL} for kind, each in _OF_KINDS.items()}
"""By kind of unit, as in `units.py`, and by what it does."""
