# Generated from test_rollback_async.py by tools/unasync.py: edit that, then run `make sync`.
"""Readers of a server that lost the newest messages and reused their numbers."""

import pytest

from conftest import Site
from holdfast import Batch, Gap, Holdfast, Message, Position, StaleBatch
from messages.rollback import rolled_back


class MessageSource:
    """A mailbox, or a chat that is read through an inbox.

    Attributes:
        unit: its name in keys.
    """

    def __init__(self, hf: Holdfast, kind: str) -> None:
        self.hf = hf
        self.kind = kind
        self.unit = "mailbox:jack" if kind == "mailbox" else "chat:c"
        self.box = hf.mailbox("jack")
        self.inbox = hf.inbox("jack")

    def begin(self) -> None:
        if self.kind == "mailbox":
            self.box.send(1, sender="jill")
        else:
            self.hf.create_chat(["jack"], sender="jill", body=1, chat_id="c")

    def send(self, *bodies: int) -> None:
        for body in bodies:
            if self.kind == "mailbox":
                self.box.send(body, sender="jill")
            else:
                self.hf.chat("c").send(body, sender="jill")

    def fetch(self, after: Position | None = None) -> Batch:
        if self.kind == "mailbox":
            return self.box.fetch(after=after)
        batches = self.inbox.fetch(after=None if after is None else {"c": after})
        return batches[0] if batches else Batch("c", (), None, 0, 0)

    def ack(self, batch: Batch) -> None:
        (self.box if self.kind == "mailbox" else self.inbox).ack(batch)


def bodies(batch: Batch) -> list[object]:
    return [message.body for message in batch.messages]


@pytest.fixture(params=["mailbox", "inbox"])
def source(hf: Holdfast, request: pytest.FixtureRequest) -> MessageSource:
    source = MessageSource(hf, request.param)
    source.begin()
    return source


@pytest.mark.parametrize("grown", [1, 2, 3, 5])
def test_a_device_gets_what_was_sent_after_a_rollback(
    source: MessageSource, site: Site, grown: int
) -> None:
    with rolled_back(site, source.unit):
        source.send(-2, -3, -4)
        position = (source.fetch()).position
    source.send(*range(2, 2 + grown))
    batch = MessageSource(source.hf, source.kind).fetch(position)
    assert batch.gap == Gap(1, 4, "reset")
    assert bodies(batch) == [*range(1, 2 + grown)]
    assert not source.fetch(batch.position)


def test_a_position_that_was_not_lost_goes_on(source: MessageSource, site: Site) -> None:
    source.send(2, 3)
    position = (source.fetch()).position
    with rolled_back(site, source.unit):
        source.send(-4)
    source.send(4, 5)
    batch = MessageSource(source.hf, source.kind).fetch(position)
    assert (batch.gap, bodies(batch)) == (None, [4, 5])


@pytest.mark.parametrize("grown", [3, 5])
def test_an_old_batch_acknowledges_nothing_of_another_history(
    source: MessageSource, site: Site, grown: int
) -> None:
    with rolled_back(site, source.unit):
        source.send(-2, -3, -4)
        batch = source.fetch()
    source.send(*range(2, 2 + grown))
    with pytest.raises(StaleBatch, match="fetch again"):
        source.ack(batch)
    with pytest.raises(StaleBatch):
        MessageSource(source.hf, source.kind).ack(batch)
    again = source.fetch()
    assert (again.gap, bodies(again)) == (Gap(1, 4, "reset"), [*range(1, 2 + grown)])
    source.ack(again)
    assert not source.fetch()


def test_an_old_number_acknowledges_nothing_of_another_history(hf: Holdfast, site: Site) -> None:
    source = MessageSource(hf, "mailbox")
    source.begin()
    with rolled_back(site, source.unit):
        source.send(-2, -3)
        batch = source.fetch()
    source.send(2, 3, 4)
    with pytest.raises(StaleBatch):
        source.box.ack(batch.upto)
    assert bodies(source.fetch()) == [1, 2, 3, 4]


def test_a_lost_acknowledgment_can_be_repeated(source: MessageSource, site: Site) -> None:
    source.send(2, 3)
    batch = source.fetch()
    with rolled_back(site, source.unit):
        source.ack(batch)
    source.ack(batch)
    assert not source.fetch()
    source.ack(batch)


def test_a_replaced_message_is_reported_as_a_reset(source: MessageSource, site: Site) -> None:
    with rolled_back(site, source.unit):
        source.send(-2)
        batch = source.fetch()
        source.ack(batch)
    source.send(2, 3)
    again = source.fetch()
    assert (again.gap, bodies(again)) == (Gap(1, 2, "reset"), [1, 2, 3])
    source.ack(again)
    assert not source.fetch()


def test_a_batch_without_a_time_is_refused(source: MessageSource) -> None:
    source.send(2)
    batch = source.fetch()
    old = Batch(batch.source, (), None, batch.epoch, batch.upto)
    with pytest.raises(StaleBatch):
        source.ack(old)
    source.ack(batch)
    source.ack(old)


def test_a_log_of_an_older_version_can_be_read(source: MessageSource, site: Site) -> None:
    """The metadata has no field `last`."""
    source.send(2)
    meta = f"{site.namespace}:{{{source.unit}}}:meta"
    site.client.hdel(meta, "last")
    batch = source.fetch()
    source.ack(batch)
    empty = source.fetch(batch.position)
    assert not empty
    site.client.hset(meta, "last", "1-1")  # a client of that version has sent a message
    assert not source.fetch(batch.position)
    source.send(3)
    batch = source.fetch(batch.position)
    assert (batch.gap, bodies(batch)) == (None, [3])
    assert isinstance(batch.messages[0], Message)
