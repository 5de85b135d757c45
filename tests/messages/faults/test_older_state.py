"""A server that restarts from an older state: readers are told, and nothing new is withheld."""

import secrets
import threading
from typing import Any

import pytest

from faults.halves import Half
from faults.rollback import Rollback
from faults.waiting import eventually
from holdfast import Batch, HoldfastError, NoSuchChat

READ_S = 30.0


class Place:
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
            except HoldfastError as error:  # it may refuse what the server lost, and says so
                print("not acknowledged:", error)

    def read_all(self) -> None:
        """Read until nothing is left: in a bounded number of fetches."""
        for _ in range(20):
            batches = self.fetch()
            if not batches:
                return
            self.ack(batches)
        raise AssertionError("the same messages come again and again")


@pytest.fixture(params=["mailbox", "chat"])
def place(request: pytest.FixtureRequest, half: Half, rollback: Rollback) -> Place:
    place = Place(half, rollback, request.param)
    place.create()
    place.send("first")
    return place


@pytest.mark.parametrize("saved", ["sent", "fetched", "acknowledged", "read to the end"])
@pytest.mark.parametrize("sends", [1, 2, 5])
def test_what_is_sent_after_the_restart_is_received(
    place: Place, rollback: Rollback, saved: str, sends: int
) -> None:
    if saved == "sent":
        rollback.save()
    batches = place.fetch()
    if saved == "fetched":
        rollback.save()
    place.ack(batches)
    if saved == "acknowledged":
        rollback.save()
    place.send("lost 1", "lost 2")
    place.read_all()
    if saved == "read to the end":
        rollback.save()
    rollback.restart()
    new = [f"new {n}" for n in range(sends)]
    place.send(*new)
    eventually(lambda: place.read_all() or new[-1] in place.received, READ_S)
    assert set(new) <= set(place.received) or place.gaps


@pytest.mark.parametrize("sends", [1, 2, 3, 5])
def test_an_old_batch_that_is_acknowledged_late_hides_no_new_message(
    place: Place, rollback: Rollback, sends: int
) -> None:
    place.ack(place.fetch())
    rollback.save()
    place.send("lost 1", "lost 2", "lost 3")
    old = place.fetch()
    rollback.restart()
    new = [f"new {n}" for n in range(sends)]
    place.send(*new)
    place.ack(old)
    place.read_all()
    assert set(new) <= set(place.received) or place.gaps


def test_who_waits_is_woken_after_the_restart(place: Place, rollback: Rollback) -> None:
    """A reader that waits while the server restarts gets what is sent then."""
    place.read_all()
    rollback.save()
    place.send("lost")
    place.read_all()
    waiting = threading.Thread(target=lambda: place.fetch(timeout=READ_S))
    waiting.start()
    rollback.restart()
    place.send("new")
    waiting.join(READ_S)
    assert not waiting.is_alive()
    place.read_all()
    assert "new" in place.received or place.gaps


def test_a_chat_that_was_created_or_joined_since_then_is_gone(
    half: Half, rollback: Rollback
) -> None:
    place = Place(half, rollback, "chat")
    rollback.save()
    place.create()
    place.send("lost")
    place.read_all()
    rollback.restart()
    with pytest.raises(NoSuchChat):
        place.send("nowhere")
    assert place.fetch() == []
    place.create()
    place.send("new")
    place.read_all()
    assert "new" in place.received or place.gaps
