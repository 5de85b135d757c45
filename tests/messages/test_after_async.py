"""Reading past what a device has, not past what the user acknowledged."""

import pytest

from holdfast import AsyncHoldfast, Gap, Position


async def test_a_device_gets_what_another_has_acknowledged(hf: AsyncHoldfast) -> None:
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
    box = hf.mailbox("jack")
    await box.send(1, sender="jill")
    batch = await box.fetch()
    assert not await box.fetch(timeout=0.1, after=batch.position)
    assert (await box.fetch()).upto == 1


async def test_a_position_that_the_server_lost_is_a_reset(hf: AsyncHoldfast) -> None:
    chat = await hf.create_chat(["jack"], sender="jill", body=1)
    [batch] = await hf.inbox("jack").fetch()
    [other] = await hf.inbox("jack").fetch(after={chat.chat_id: Position(17, 5)})
    assert (other.gap, len(other.messages)) == (Gap(1, 5, "reset"), 1)
    [lost] = await hf.inbox("jack").fetch(after={chat.chat_id: Position(batch.epoch, 5)})
    assert (lost.gap, len(lost.messages)) == (Gap(1, 5, "reset"), 1)


async def test_a_position_of_an_older_version_is_a_reset(hf: AsyncHoldfast) -> None:
    box = hf.mailbox("jack")
    await box.send(1, sender="jill")
    await box.send(2, sender="jill")
    batch = await box.fetch()
    again = await box.fetch(after=Position(batch.epoch, batch.upto))
    assert (again.gap, len(again.messages)) == (Gap(1, 2, "reset"), 2)
    assert not await box.fetch(after=again.position)


async def test_a_device_that_has_nothing_misses_nothing(hf: AsyncHoldfast) -> None:
    box = hf.mailbox("jack")
    nothing = (await box.fetch()).position
    chat = await hf.create_chat(["jack"], sender="jill", body=1)
    for n in (1, 2):
        await box.send(n, sender="jill")
    await box.ack(await box.fetch())
    for other in await hf.inbox("jack").fetch():
        await hf.inbox("jack").ack(other)
    assert not await box.fetch()
    batch = await box.fetch(after=nothing)
    assert (batch.gap, [message.body for message in batch.messages]) == (None, [1, 2])
    [batch] = await hf.inbox("jack").fetch(after={chat.chat_id: nothing})
    assert (batch.gap, [message.body for message in batch.messages]) == (None, [1])


async def test_a_device_is_told_what_is_not_kept(hf: AsyncHoldfast) -> None:
    box = hf.mailbox("jack", capacity=2, overflow="drop_oldest")
    for n in range(1, 6):
        await box.send(n, sender="jill")
    batch = await box.fetch(after=Position(0, 0))
    assert (batch.gap, [message.seq for message in batch.messages]) == (
        Gap(1, 3, "dropped"),
        [4, 5],
    )


async def test_what_is_read_and_gone_is_no_reset(hf: AsyncHoldfast) -> None:
    """A chat that keeps messages until they are read still knows the last one of them."""
    chat = await hf.create_chat(["jack"], sender="jill", body=0, keep="until_read")
    inbox, after = hf.inbox("jack"), {chat.chat_id: Position(0, 0)}
    for n in range(1, 300):
        await chat.send(n, sender="jill")
        [batch] = await inbox.fetch(after=after)
        assert batch.gap is None
        after = {chat.chat_id: batch.position}
        await inbox.ack(batch)
    assert (await chat.status()).first_seq > 200


async def test_a_device_that_has_nothing_is_told_of_no_reset(hf: AsyncHoldfast) -> None:
    box = hf.mailbox("jack")
    nothing = await box.fetch()
    await box.send(1, sender="jill")
    batch = await box.fetch(after=nothing.position)
    assert (batch.gap, batch.upto) == (None, 1)
    chat = await hf.create_chat(["jack"], sender="jill", body=1)
    [batch] = await hf.inbox("jack").fetch(after={chat.chat_id: nothing.position})
    assert (batch.gap, batch.upto) == (None, 1)


async def test_a_stranger_reads_nothing_after_any_position(hf: AsyncHoldfast) -> None:
    chat = await hf.create_chat(["jack"], sender="jill", body=1)
    [batch] = await hf.inbox("jack").fetch()
    after = {chat.chat_id: Position(batch.epoch, 0)}
    assert await hf.inbox("eve").fetch(after=after) == []


async def test_positions_are_checked_before_anything_is_asked(hf: AsyncHoldfast) -> None:
    with pytest.raises(TypeError, match="Position"):
        await hf.mailbox("jack").fetch(after=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="epoch"):
        await hf.inbox("jack").fetch(after={"c": Position(-1, 0)})
