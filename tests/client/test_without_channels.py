"""A user without the right to publish or subscribe (ACL): all works, without notifications.

A script that stopped at a refused notification would leave its step unfinished.
"""

import io
import secrets
import threading
from collections.abc import Iterator

import pytest

from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast, TaskRegistry
from soundness import assert_sound


@pytest.fixture
def hf(standalone: Server) -> Iterator[Holdfast]:
    """Open a client of a user without channels."""
    user, namespace = f"mute-{secrets.token_hex(4)}", secrets.token_hex(4)
    standalone.execute("ACL", "SETUSER", user, "on", ">word", "~*", "resetchannels", "+@all")
    try:
        url = standalone.url.replace("://", f"://{user}:word@")
        with Holdfast.from_url(url, namespace=namespace) as hf:
            yield hf
        assert_sound(standalone.url, namespace)
    finally:
        standalone.execute("ACL", "DELUSER", user)


def test_files_are_published_and_read(hf: Holdfast) -> None:
    feed = hf.file_feed("logs", consumers=["c"], budget=1 << 20)
    for name in ("a", "b"):
        feed.publish(io.BytesIO(name.encode()), name=name)
    feed.seal()
    read = {}
    for file in feed.consumer("c").files():
        with file:
            read[file.name] = b"".join(block.data for block in file.blocks(raw=True))
    assert read == {"a": b"a", "b": b"b"}


def test_tasks_run_without_channels(hf: Holdfast) -> None:
    tasks = TaskRegistry()

    @tasks.task(queue="sums")
    def twice(number: int) -> int:
        return 2 * number

    waited, cancelled = hf.enqueue_many([twice.call(21), twice.call(1)])
    assert cancelled.cancel()
    with pytest.raises(TimeoutError):
        waited.result(timeout=0.05)  # so it is one of those who wait
    hf.worker(tasks).run(until_idle=True)
    assert (waited.result(timeout=0), cancelled.status().state) == (42, "cancelled")


def test_a_place_is_handed_over(hf: Holdfast) -> None:
    lock = hf.lock("door")
    lease, fences = lock.acquire(), []

    def wait() -> None:
        with lock.hold(timeout=30) as next_lease:
            fences.append(next_lease.fence)

    waiter = threading.Thread(target=wait)
    waiter.start()
    eventually(lambda: lock.inspect().waiters)
    lease.release()
    waiter.join()
    assert fences[0] > lease.fence


def test_messages_come(hf: Holdfast) -> None:
    hf.mailbox("jack").send("hi", sender="jill")
    assert [message.body for message in hf.mailbox("jack").fetch().messages] == ["hi"]
    hf.create_chat(["jack", "jill"], sender="jill", body="hello", chat_id="c")
    hf.chat("c").send("?", sender="jill")
    [batch] = hf.inbox("jack").fetch()
    assert [message.body for message in batch.messages] == ["hello", "?"]


def test_rows_are_loaded_and_invalidated(hf: Holdfast) -> None:
    rows = {1: {"n": 1}}

    class Source:
        def load(self, ids: list[int]) -> dict[int, dict[str, int]]:
            return {row_id: rows[row_id] for row_id in ids}

    cache = hf.row_cache("stock", source=Source())
    cache.schedule(1, every=60)
    assert cache.get(1).value == {"n": 1}
    rows[1] = {"n": 2}
    cache.invalidate(1)
    assert cache.get(1).value == {"n": 2}
    cache.unschedule(1)
