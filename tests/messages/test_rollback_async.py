"""After the server has lost the newest messages, and given their numbers to others."""

import pytest

from conftest import Site
from holdfast import AsyncHoldfast, Batch, Gap, Message, Position, StaleBatch
from messages.rollback import rolled_back


class Mail:
    """A mailbox, or a chat in an inbox, as sender and reader see it.

    Attributes:
        unit: what the server calls it.
    """

    def __init__(self, hf: AsyncHoldfast, kind: str) -> None:
        self.hf = hf
        self.kind = kind
        self.unit = "mailbox:jack" if kind == "mailbox" else "chat:c"
        self.box = hf.mailbox("jack")
        self.inbox = hf.inbox("jack")

    async def begin(self) -> None:
        if self.kind == "mailbox":
            await self.box.send(1, sender="jill")
        else:
            await self.hf.create_chat(["jack"], sender="jill", body=1, chat_id="c")

    async def send(self, *bodies: int) -> None:
        for body in bodies:
            if self.kind == "mailbox":
                await self.box.send(body, sender="jill")
            else:
                await self.hf.chat("c").send(body, sender="jill")

    async def fetch(self, after: Position | None = None) -> Batch:
        if self.kind == "mailbox":
            return await self.box.fetch(after=after)
        batches = await self.inbox.fetch(after=None if after is None else {"c": after})
        return batches[0] if batches else Batch("c", (), None, 0, 0)

    async def ack(self, batch: Batch) -> None:
        await (self.box if self.kind == "mailbox" else self.inbox).ack(batch)


def bodies(batch: Batch) -> list[object]:
    return [message.body for message in batch.messages]


@pytest.fixture(params=["mailbox", "inbox"])
async def mail(hf: AsyncHoldfast, request: pytest.FixtureRequest) -> Mail:
    mail = Mail(hf, request.param)
    await mail.begin()
    return mail


@pytest.mark.parametrize("grown", [1, 2, 3, 5])
async def test_a_device_gets_what_was_sent_after_a_rollback(
    mail: Mail, site: Site, grown: int
) -> None:
    with rolled_back(site, mail.unit):
        await mail.send(-2, -3, -4)
        position = (await mail.fetch()).position
    await mail.send(*range(2, 2 + grown))
    batch = await Mail(mail.hf, mail.kind).fetch(position)
    assert batch.gap == Gap(1, 4, "reset")
    assert bodies(batch) == [*range(1, 2 + grown)]
    assert not await mail.fetch(batch.position)


async def test_a_position_that_was_not_lost_goes_on(mail: Mail, site: Site) -> None:
    await mail.send(2, 3)
    position = (await mail.fetch()).position
    with rolled_back(site, mail.unit):
        await mail.send(-4)
    await mail.send(4, 5)
    batch = await Mail(mail.hf, mail.kind).fetch(position)
    assert (batch.gap, bodies(batch)) == (None, [4, 5])


@pytest.mark.parametrize("grown", [3, 5])
async def test_an_old_batch_acknowledges_nothing_of_another_history(
    mail: Mail, site: Site, grown: int
) -> None:
    with rolled_back(site, mail.unit):
        await mail.send(-2, -3, -4)
        batch = await mail.fetch()
    await mail.send(*range(2, 2 + grown))
    with pytest.raises(StaleBatch, match="fetch again"):
        await mail.ack(batch)
    with pytest.raises(StaleBatch):
        await Mail(mail.hf, mail.kind).ack(batch)
    again = await mail.fetch()
    assert (again.gap, bodies(again)) == (Gap(1, 4, "reset"), [*range(1, 2 + grown)])
    await mail.ack(again)
    assert not await mail.fetch()


async def test_an_old_number_acknowledges_nothing_of_another_history(
    hf: AsyncHoldfast, site: Site
) -> None:
    mail = Mail(hf, "mailbox")
    await mail.begin()
    with rolled_back(site, mail.unit):
        await mail.send(-2, -3)
        batch = await mail.fetch()
    await mail.send(2, 3, 4)
    with pytest.raises(StaleBatch):
        await mail.box.ack(batch.upto)
    assert bodies(await mail.fetch()) == [1, 2, 3, 4]


async def test_an_acknowledgment_that_was_lost_is_repeated(mail: Mail, site: Site) -> None:
    await mail.send(2, 3)
    batch = await mail.fetch()
    with rolled_back(site, mail.unit):
        await mail.ack(batch)
    await mail.ack(batch)
    assert not await mail.fetch()
    await mail.ack(batch)


async def test_what_was_shown_and_is_another_message_now_is_told(mail: Mail, site: Site) -> None:
    with rolled_back(site, mail.unit):
        await mail.send(-2)
        batch = await mail.fetch()
        await mail.ack(batch)
    await mail.send(2, 3)
    again = await mail.fetch()
    assert (again.gap, bodies(again)) == (Gap(1, 2, "reset"), [1, 2, 3])
    await mail.ack(again)
    assert not await mail.fetch()


async def test_a_batch_that_does_not_say_when_it_was_sent_is_refused(mail: Mail) -> None:
    await mail.send(2)
    batch = await mail.fetch()
    old = Batch(batch.source, (), None, batch.epoch, batch.upto)
    with pytest.raises(StaleBatch):
        await mail.ack(old)
    await mail.ack(batch)
    await mail.ack(old)


async def test_a_log_of_an_older_version_is_read_on(mail: Mail, site: Site) -> None:
    """It has no field that names its newest message."""
    await mail.send(2)
    meta = f"{site.namespace}:{{{mail.unit}}}:meta"
    site.client.hdel(meta, "last")
    batch = await mail.fetch()
    await mail.ack(batch)
    empty = await mail.fetch(batch.position)
    assert not empty
    site.client.hset(meta, "last", "1-1")  # a program of that version has sent on
    assert not await mail.fetch(batch.position)
    await mail.send(3)
    batch = await mail.fetch(batch.position)
    assert (batch.gap, bodies(batch)) == (None, [3])
    assert isinstance(batch.messages[0], Message)
