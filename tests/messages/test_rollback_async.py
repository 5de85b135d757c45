"""Readers of a server that lost the newest messages and reused their numbers."""

import pytest

from conftest import Site
from holdfast import AsyncHoldfast, Batch, Gap, Message, Position, StaleBatch
from messages.rollback import rolled_back


class MessageSource:
    """A mailbox, or a chat that is read through an inbox.

    Attributes:
        unit: its name in keys.
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
async def source(hf: AsyncHoldfast, request: pytest.FixtureRequest) -> MessageSource:
    source = MessageSource(hf, request.param)
    await source.begin()
    return source


@pytest.mark.parametrize("grown", [1, 2, 3, 5])
async def test_a_device_gets_what_was_sent_after_a_rollback(
    source: MessageSource, site: Site, grown: int
) -> None:
    with rolled_back(site, source.unit):
        await source.send(-2, -3, -4)
        position = (await source.fetch()).position
    await source.send(*range(2, 2 + grown))
    batch = await MessageSource(source.hf, source.kind).fetch(position)
    assert batch.gap == Gap(1, 4, "reset")
    assert bodies(batch) == [*range(1, 2 + grown)]
    assert not await source.fetch(batch.position)


async def test_a_position_that_was_not_lost_goes_on(source: MessageSource, site: Site) -> None:
    await source.send(2, 3)
    position = (await source.fetch()).position
    with rolled_back(site, source.unit):
        await source.send(-4)
    await source.send(4, 5)
    batch = await MessageSource(source.hf, source.kind).fetch(position)
    assert (batch.gap, bodies(batch)) == (None, [4, 5])


@pytest.mark.parametrize("grown", [3, 5])
async def test_an_old_batch_acknowledges_nothing_of_another_history(
    source: MessageSource, site: Site, grown: int
) -> None:
    with rolled_back(site, source.unit):
        await source.send(-2, -3, -4)
        batch = await source.fetch()
    await source.send(*range(2, 2 + grown))
    with pytest.raises(StaleBatch, match="fetch again"):
        await source.ack(batch)
    with pytest.raises(StaleBatch):
        await MessageSource(source.hf, source.kind).ack(batch)
    again = await source.fetch()
    assert (again.gap, bodies(again)) == (Gap(1, 4, "reset"), [*range(1, 2 + grown)])
    await source.ack(again)
    assert not await source.fetch()


async def test_an_old_number_acknowledges_nothing_of_another_history(
    hf: AsyncHoldfast, site: Site
) -> None:
    source = MessageSource(hf, "mailbox")
    await source.begin()
    with rolled_back(site, source.unit):
        await source.send(-2, -3)
        batch = await source.fetch()
    await source.send(2, 3, 4)
    with pytest.raises(StaleBatch):
        await source.box.ack(batch.upto)
    assert bodies(await source.fetch()) == [1, 2, 3, 4]


async def test_a_lost_acknowledgment_can_be_repeated(source: MessageSource, site: Site) -> None:
    await source.send(2, 3)
    batch = await source.fetch()
    with rolled_back(site, source.unit):
        await source.ack(batch)
    await source.ack(batch)
    assert not await source.fetch()
    await source.ack(batch)


async def test_a_replaced_message_is_reported_as_a_reset(source: MessageSource, site: Site) -> None:
    with rolled_back(site, source.unit):
        await source.send(-2)
        batch = await source.fetch()
        await source.ack(batch)
    await source.send(2, 3)
    again = await source.fetch()
    assert (again.gap, bodies(again)) == (Gap(1, 2, "reset"), [1, 2, 3])
    await source.ack(again)
    assert not await source.fetch()


async def test_a_batch_without_a_time_is_refused(source: MessageSource) -> None:
    await source.send(2)
    batch = await source.fetch()
    old = Batch(batch.source, (), None, batch.epoch, batch.upto)
    with pytest.raises(StaleBatch):
        await source.ack(old)
    await source.ack(batch)
    await source.ack(old)


async def test_a_log_of_an_older_version_can_be_read(source: MessageSource, site: Site) -> None:
    """The metadata has no field `last`."""
    await source.send(2)
    meta = f"{site.namespace}:{{{source.unit}}}:meta"
    site.client.hdel(meta, "last")
    batch = await source.fetch()
    await source.ack(batch)
    empty = await source.fetch(batch.position)
    assert not empty
    site.client.hset(meta, "last", "1-1")  # a client of that version has sent a message
    assert not await source.fetch(batch.position)
    await source.send(3)
    batch = await source.fetch(batch.position)
    assert (batch.gap, bodies(batch)) == (None, [3])
    assert isinstance(batch.messages[0], Message)
