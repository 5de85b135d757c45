"""A server that restarts from an older state: readers get a reset, and all new messages."""

import secrets
import threading
from typing import Any

import pytest

from faults.halves import Half
from faults.rollback import Rollback
from faults.waiting import eventually
from holdfast import Batch, HoldfastError, NoSuchChat

READ_S = 30.0


class LogUnderTest:
    """A mailbox, or a chat that is read through an inbox, with one sender and one reader."""

    def __init__(self, half: Half, rollback: Rollback, kind: str) -> None:
        url, namespace = f"{rollback.server.url}?socket_timeout=1", f"old-{secrets.token_hex(4)}"
        self.half = half
        self.kind = kind
        self.writer, self.reader = (half.client(url, namespace) for _ in range(2))
        self.received: list[Any] = []
        self.gaps: list[Any] = []

    def create(self) -> None:
        if self.kind == "chat":
            self.half.do(
                self.writer.create_chat(["jack"], sender="jill", body="hello", chat_id="827")
            )

    def send(self, *bodies: str) -> None:
        for body in bodies:
            to = self.writer.chat("827") if self.kind == "chat" else self.writer.mailbox("jack")
            self.half.insist(lambda to=to, body=body: to.send(body, sender="jill"))

    @property
    def source(self) -> Any:
        return self.reader.inbox("jack") if self.kind == "chat" else self.reader.mailbox("jack")

    def fetch(self, timeout: float = 0.0) -> list[Batch]:
        found = self.half.insist(lambda: self.source.fetch(timeout=timeout))
        batches = found if isinstance(found, list) else [found]
        for batch in batches:
            self.received += [message.body for message in batch.messages]
            self.gaps += [batch.gap] if batch.gap else []
        return [batch for batch in batches if batch]

    def ack(self, batches: list[Batch]) -> None:
        for batch in batches:
            try:
                self.half.insist(lambda batch=batch: self.source.ack(batch))
            except HoldfastError as error:  # the server may refuse what it lost
                print("not acknowledged:", error)

    def read_all(self) -> None:
        """Read until no message is left, with at most 20 fetches."""
        for _ in range(20):
            batches = self.fetch()
            if not batches:
                return
            self.ack(batches)
        raise AssertionError("fetches return the same messages without end")


@pytest.fixture(params=["mailbox", "chat"])
def log(request: pytest.FixtureRequest, half: Half, rollback: Rollback) -> LogUnderTest:
    log = LogUnderTest(half, rollback, request.param)
    log.create()
    log.send("first")
    return log


@pytest.mark.sampled(5)
@pytest.mark.parametrize("saved", ["sent", "fetched", "acknowledged", "read to the end"])
@pytest.mark.parametrize("sends", [1, 2, 5])
def test_messages_sent_after_the_restart_are_received(
    log: LogUnderTest, rollback: Rollback, saved: str, sends: int
) -> None:
    if saved == "sent":
        rollback.save()
    batches = log.fetch()
    if saved == "fetched":
        rollback.save()
    log.ack(batches)
    if saved == "acknowledged":
        rollback.save()
    log.send("lost 1", "lost 2")
    log.read_all()
    if saved == "read to the end":
        rollback.save()
    rollback.restart()
    new = [f"new {n}" for n in range(sends)]
    log.send(*new)
    eventually(lambda: log.read_all() or new[-1] in log.received, READ_S)
    assert set(new) <= set(log.received) or log.gaps


@pytest.mark.sampled(3)
@pytest.mark.parametrize("sends", [1, 2, 3, 5])
def test_an_old_batch_that_is_acknowledged_late_hides_no_new_message(
    log: LogUnderTest, rollback: Rollback, sends: int
) -> None:
    log.ack(log.fetch())
    rollback.save()
    log.send("lost 1", "lost 2", "lost 3")
    old = log.fetch()
    rollback.restart()
    new = [f"new {n}" for n in range(sends)]
    log.send(*new)
    log.ack(old)
    log.read_all()
    assert set(new) <= set(log.received) or log.gaps


def test_a_waiting_reader_is_woken_after_the_restart(log: LogUnderTest, rollback: Rollback) -> None:
    """The message that is sent after the restart wakes the reader."""
    log.read_all()
    rollback.save()
    log.send("lost")
    log.read_all()
    waiting = threading.Thread(target=lambda: log.fetch(timeout=READ_S))
    waiting.start()
    rollback.restart()
    log.send("new")
    waiting.join(READ_S)
    assert not waiting.is_alive()
    log.read_all()
    assert "new" in log.received or log.gaps


def test_a_chat_created_after_the_saved_state_is_lost(half: Half, rollback: Rollback) -> None:
    log = LogUnderTest(half, rollback, "chat")
    rollback.save()
    log.create()
    log.send("lost")
    log.read_all()
    rollback.restart()
    with pytest.raises(NoSuchChat):
        log.send("nowhere")
    assert log.fetch() == []
    log.create()
    log.send("new")
    log.read_all()
    assert "new" in log.received or log.gaps
