"""Reading past what a device has, not past what the user acknowledged."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from conftest import Site
from holdfast import AsyncHoldfast, Gap, Position


@pytest.fixture
async def hf(site: Site) -> AsyncIterator[AsyncHoldfast]:
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        yield hf


async def test_a_device_gets_what_another_has_acknowledged(hf: AsyncHoldfast) -> None:
    """Each reads from where it is."""
    chat = await hf.create_chat(["jill", "jack"], sender="jill", body=1)
    await chat.send(2, sender="jill")
    phone, desk = hf.inbox("jack"), hf.inbox("jack")
    [first] = await phone.fetch(limit=1)
    [both] = await desk.fetch()
    await desk.ack(both)
    assert await phone.fetch() == []
    [second] = await phone.fetch(after={chat.chat_id: first.position})
    assert [message.seq for message in second.messages] == [2]
    assert await phone.fetch(after={chat.chat_id: second.position}) == []
    assert (await chat.members())["jack"] == 2


async def test_what_a_device_has_is_not_waited_for(hf: AsyncHoldfast) -> None:
    """Though nobody has acknowledged it."""
    box = hf.mailbox("jack")
    await box.send(1, sender="jill")
    batch = await box.fetch()
    assert not await box.fetch(timeout=0.1, after=batch.position)
    assert (await box.fetch()).upto == 1


async def test_a_position_that_the_server_lost_is_a_reset(hf: AsyncHoldfast) -> None:
    """Of another incarnation: all that is there comes. Of a lost tail: nothing does."""
    chat = await hf.create_chat(["jack"], sender="jill", body=1)
    [batch] = await hf.inbox("jack").fetch()
    [other] = await hf.inbox("jack").fetch(after={chat.chat_id: Position(17, 5)})
    assert (other.gap, len(other.messages)) == (Gap(1, 5, "reset"), 1)
    [lost] = await hf.inbox("jack").fetch(after={chat.chat_id: Position(batch.epoch, 5)})
    assert (lost.gap, lost.messages) == (Gap(2, 5, "reset"), ())


async def test_a_device_that_has_nothing_is_told_of_no_reset(hf: AsyncHoldfast) -> None:
    """Where nobody has written yet, or where nothing is any more."""
    box = hf.mailbox("jack")
    nothing = await box.fetch()
    await box.send(1, sender="jill")
    batch = await box.fetch(after=nothing.position)
    assert (batch.gap, batch.upto) == (None, 1)
    chat = await hf.create_chat(["jack"], sender="jill", body=1)
    [batch] = await hf.inbox("jack").fetch(after={chat.chat_id: nothing.position})
    assert (batch.gap, batch.upto) == (None, 1)


async def test_a_stranger_reads_nothing_after_any_position(hf: AsyncHoldfast) -> None:
    """A position is no proof of membership."""
    chat = await hf.create_chat(["jack"], sender="jill", body=1)
    [batch] = await hf.inbox("jack").fetch()
    after = {chat.chat_id: Position(batch.epoch, 0)}
    assert await hf.inbox("eve").fetch(after=after) == []


async def test_positions_are_checked_before_anything_is_asked(hf: AsyncHoldfast) -> None:
    """Like every argument."""
    with pytest.raises(TypeError, match="Position"):
        await hf.mailbox("jack").fetch(after=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="epoch"):
        await hf.inbox("jack").fetch(after={"c": Position(-1, 0)})
