"""What programs do with a blocking client, to be interrupted anywhere."""

import io
import secrets
from collections.abc import Callable
from typing import Final

import pytest

from holdfast import Counted, Holdfast, Retry, TaskRegistry

tasks = TaskRegistry()


@tasks.task(queue="work", retry=Retry(attempts=1))
def work(n: int) -> int:
    return n


class Rows:
    """A source of rows."""

    def load(self, ids: list[str]) -> dict[str, str]:
        return {each: f"row {each}" for each in ids}


LEASE_S = 1.0
SHORT_S = 0.05
LONG_S = 10.0


def hold_a_lock(hf: Holdfast, _: str) -> None:
    with hf.lock("l", lease=LEASE_S).hold(timeout=LONG_S) as lease:
        hf.fenced("f").set({"fence": lease.fence}, lease.fence)
        assert hf.fenced("f").get() == {"fence": lease.fence}


def acquire_and_release(hf: Holdfast, _: str) -> None:
    lease = hf.lock("l", lease=LEASE_S).acquire(timeout=LONG_S)
    lease.renew()
    assert not lease.wait_lost(0)
    lease.release()


def try_a_semaphore(hf: Holdfast, _: str) -> None:
    semaphore = hf.semaphore("s", limit=1, lease=LEASE_S)
    with semaphore.try_acquire() or semaphore.acquire(timeout=LONG_S):
        assert semaphore.inspect().holders


def hold_a_rw_lock(hf: Holdfast, _: str) -> None:
    lock = hf.rw_lock("rw", lease=LEASE_S)
    with lock.read(timeout=LONG_S), lock.read(timeout=LONG_S):
        assert lock.inspect().readers
    with lock.write(timeout=LONG_S) as lease:
        lease.renew()


def hold_several_locks(hf: Holdfast, _: str) -> None:
    with hf.lock_all(["l", "m"], lease=LEASE_S).hold(timeout=LONG_S) as leases:
        assert len(leases) == 2


def wait_for_a_lock(hf: Holdfast, _: str) -> None:
    with hf.lock("taken", lease=LEASE_S).hold(timeout=LONG_S), pytest.raises(TimeoutError):
        hf.lock("taken", lease=LEASE_S).acquire(timeout=SHORT_S)


def count(hf: Holdfast, _: str) -> None:
    hf.counter("c").add(1)
    assert hf.counter("c").total(3600.0) >= 1


def buffer_counts(hf: Holdfast, _: str) -> None:
    with hf.counter_buffer(flush_every=60.0) as buffer:
        buffer.add("b", 1)
        buffer.flush()
        buffer.add("b", 1)


def enqueue_and_cancel(hf: Holdfast, _: str) -> None:
    handle = hf.enqueue(work.call(1).options(delay=3600.0))
    hf.enqueue_many([work.call(1).options(delay=3600.0)])[0].cancel()
    with pytest.raises(TimeoutError):
        handle.result(timeout=SHORT_S)
    assert handle.cancel()


def send_and_fetch(hf: Holdfast, _: str) -> None:
    box, body = hf.mailbox("m"), secrets.token_hex(8)
    box.send(body, sender="s")
    batch = box.fetch(timeout=LONG_S)
    assert body in [each.body for each in batch.messages]
    box.ack(batch)


def wait_for_a_message(hf: Holdfast, _: str) -> None:
    assert not hf.mailbox("empty").fetch(timeout=SHORT_S).messages


def chat(hf: Holdfast, _: str) -> None:
    chat = hf.create_chat(["a", "b"], sender="a", body="hi")
    chat.send("hello", sender="b")
    inbox = hf.inbox("a")
    for batch in inbox.fetch(timeout=LONG_S):
        inbox.ack(batch)
    inbox.fetch(timeout=SHORT_S)


def complete(hf: Holdfast, _: str) -> None:
    name = secrets.token_hex(4)
    hf.completions("n").add(name)
    assert [each.name for each in hf.completions("n").search(name)] == [name]
    hf.completions("n").remove(name)


def by_word(line: bytes) -> Counted:
    return Counted("2011-10-10", {"word": line.decode().strip()})


def rows(hf: Holdfast, _: str) -> None:
    cache = hf.row_cache("r", source=Rows(), lease=LEASE_S)
    cache.schedule("1", every=60.0)
    assert cache.get("1").value == "row 1"
    cache.invalidate("1")
    cache.refresh_due()
    assert cache.get("2").value == "row 2"


def files(hf: Holdfast, _: str) -> None:
    feed = hf.file_feed(f"feed-{secrets.token_hex(4)}", consumers=["c"], lease=LEASE_S)
    feed.publish(io.BytesIO(b"one\ntwo\n"), name="f")
    feed.seal()
    read = []
    for file in feed.consumer("c").files():
        with file:
            read += file.lines()
    assert [each.strip() for each in read] == [b"one", b"two"]


def tally(hf: Holdfast, _: str) -> None:
    name = f"feed-{secrets.token_hex(4)}"
    feed = hf.file_feed(name, consumers=["c"], lease=LEASE_S)
    feed.publish(io.BytesIO(b"one\ntwo\n"), name="f")
    feed.seal()
    tally = hf.tally(name)
    tally.aggregate(feed.consumer("c"), key=by_word)
    assert tally.total("2011-10-10") == 2


def client_of_its_own(hf: Holdfast, url: str) -> None:
    with Holdfast.from_url(url, namespace=hf.namespace) as other:
        other.counter_buffer().add("d", 1)
        with other.lock("o", lease=LEASE_S).hold(timeout=LONG_S):
            pass


USES: Final[dict[str, Callable[[Holdfast, str], None]]] = {
    use.__name__: use
    for use in (
        hold_a_lock,
        acquire_and_release,
        try_a_semaphore,
        hold_a_rw_lock,
        hold_several_locks,
        wait_for_a_lock,
        count,
        buffer_counts,
        enqueue_and_cancel,
        send_and_fetch,
        wait_for_a_message,
        chat,
        complete,
        rows,
        files,
        tally,
        client_of_its_own,
    )
}

WITH_LEASES: Final = {"acquire_and_release", "try_a_semaphore"}
"""Uses in which a variable or a context is the lease itself, which a traceback keeps as well."""
