# Generated from test_rollback_async.py by tools/unasync.py: edit that, then run `make sync`.
"""After the server has lost the newest messages, and given their numbers to others."""

import pytest

from conftest import Site
from holdfast import Batch, Gap, Holdfast, Message, Position, StaleBatch
from messages.rollback import rolled_back


class Mail:
    """A mailbox, or a chat in an inbox, as sender and reader see it.

    Attributes:
        unit: what the server calls it.
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
def mail(hf: Holdfast, request: pytest.FixtureRequest) -> Mail:
    mail = Mail(hf, request.param)
    mail.begin()
    return mail


@pytest.mark.parametrize("grown", [1, 2, 3, 5])
def test_a_device_gets_what_was_sent_after_a_rollback(mail: Mail, site: Site, grown: int) -> None:
    with rolled_back(site, mail.unit):
        mail.send(-2, -3, -4)
        position = (mail.fetch()).position
    mail.send(*range(2, 2 + grown))
    batch = Mail(mail.hf, mail.kind).fetch(position)
    assert batch.gap == Gap(1, 4, "reset")
    assert bodies(batch) == [*range(1, 2 + grown)]
    assert not mail.fetch(batch.position)


def test_a_position_that_was_not_lost_goes_on(mail: Mail, site: Site) -> None:
    mail.send(2, 3)
    position = (mail.fetch()).position
    with rolled_back(site, mail.unit):
        mail.send(-4)
    mail.send(4, 5)
    batch = Mail(mail.hf, mail.kind).fetch(position)
    assert (batch.gap, bodies(batch)) == (None, [4, 5])


@pytest.mark.parametrize("grown", [3, 5])
def test_an_old_batch_acknowledges_nothing_of_another_history(
    mail: Mail, site: Site, grown: int
) -> None:
    with rolled_back(site, mail.unit):
        mail.send(-2, -3, -4)
        batch = mail.fetch()
    mail.send(*range(2, 2 + grown))
    with pytest.raises(StaleBatch, match="fetch again"):
        mail.ack(batch)
    with pytest.raises(StaleBatch):
        Mail(mail.hf, mail.kind).ack(batch)
    again = mail.fetch()
    assert (again.gap, bodies(again)) == (Gap(1, 4, "reset"), [*range(1, 2 + grown)])
    mail.ack(again)
    assert not mail.fetch()


def test_an_old_number_acknowledges_nothing_of_another_history(hf: Holdfast, site: Site) -> None:
    mail = Mail(hf, "mailbox")
    mail.begin()
    with rolled_back(site, mail.unit):
        mail.send(-2, -3)
        batch = mail.fetch()
    mail.send(2, 3, 4)
    with pytest.raises(StaleBatch):
        mail.box.ack(batch.upto)
    assert bodies(mail.fetch()) == [1, 2, 3, 4]


def test_an_acknowledgment_that_was_lost_is_repeated(mail: Mail, site: Site) -> None:
    mail.send(2, 3)
    batch = mail.fetch()
    with rolled_back(site, mail.unit):
        mail.ack(batch)
    mail.ack(batch)
    assert not mail.fetch()
    mail.ack(batch)


def test_what_was_shown_and_is_another_message_now_is_told(mail: Mail, site: Site) -> None:
    with rolled_back(site, mail.unit):
        mail.send(-2)
        batch = mail.fetch()
        mail.ack(batch)
    mail.send(2, 3)
    again = mail.fetch()
    assert (again.gap, bodies(again)) == (Gap(1, 2, "reset"), [1, 2, 3])
    mail.ack(again)
    assert not mail.fetch()


def test_a_batch_that_does_not_say_when_it_was_sent_is_refused(mail: Mail) -> None:
    mail.send(2)
    batch = mail.fetch()
    old = Batch(batch.source, (), None, batch.epoch, batch.upto)
    with pytest.raises(StaleBatch):
        mail.ack(old)
    mail.ack(batch)
    mail.ack(old)


def test_a_log_of_an_older_version_is_read_on(mail: Mail, site: Site) -> None:
    """It has no field that names its newest message."""
    mail.send(2)
    meta = f"{site.namespace}:{{{mail.unit}}}:meta"
    site.client.hdel(meta, "last")
    batch = mail.fetch()
    mail.ack(batch)
    empty = mail.fetch(batch.position)
    assert not empty
    site.client.hset(meta, "last", "1-1")  # a program of that version has sent on
    assert not mail.fetch(batch.position)
    mail.send(3)
    batch = mail.fetch(batch.position)
    assert (batch.gap, bodies(batch)) == (None, [3])
    assert isinstance(batch.messages[0], Message)
