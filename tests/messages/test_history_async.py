"""The history of a chat: pages, positions, and what new members see."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from holdfast import (
    AsyncChat,
    AsyncHoldfast,
    Gap,
    Message,
    NoSuchChat,
    NotAMember,
    Position,
    Undecodable,
)

# Messages that are kept, read from either end, for members only if a reader is named


async def read_on(page: Callable[[int], Awaitable[Any]], seq: int) -> list[list[int]]:
    """Return the numbers on each page after *seq*."""
    pages: list[list[int]] = []
    while found := await page(seq):
        pages.append([message.seq for message in found])
        seq = found[-1].seq
    return pages


async def test_history_can_be_read_forwards(hf: AsyncHoldfast) -> None:
    chat = await hf.create_chat(["a", "b"], sender="a", body=1, chat_id="c", keep=50)
    for n in range(2, 91):
        await chat.send(n, sender="a")
    pages = await read_on(lambda seq: chat.history(after=seq, limit=20), 0)
    assert pages == [[*range(41, 61)], [*range(61, 81)], [*range(81, 91)]]
    assert await read_on(lambda seq: chat.history(after=seq), 88) == [[89, 90]]
    assert await chat.history(after=1_000_000) == []
    assert [message.seq for message in await chat.history(before=43)] == [41, 42]
    assert await chat.history(before=1) == []


async def test_a_mailbox_is_read_from_either_end(hf: AsyncHoldfast) -> None:
    box = hf.mailbox("jack")
    assert await box.latest(after=0) == []
    for n in range(1, 8):
        await box.send(n, sender="jill")
    await box.ack(3)
    assert await read_on(lambda seq: box.latest(3, after=seq), 0) == [[1, 2, 3], [4, 5, 6], [7]]
    assert [message.seq for message in await box.latest(2, before=4)] == [2, 3]


async def test_large_messages_come_in_several_pages(hf: AsyncHoldfast) -> None:
    box = hf.mailbox("jack")
    for _ in range(6):
        await box.send(b"x" * (1 << 20), sender="jill")
    assert await read_on(lambda seq: box.latest(after=seq), 0) == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize(
    ("edges", "error", "match"),
    [
        ({"before": 1, "after": 1}, ValueError, "exclude each other"),
        ({"before": 0}, ValueError, "before must be 1 to"),
        ({"before": -1}, ValueError, "before"),
        ({"after": -1}, ValueError, "after must be the number of a message"),
        ({"after": 2**53}, ValueError, "after"),
        ({"after": "1"}, TypeError, "after"),
        ({"before": True}, TypeError, "before"),
    ],
)
async def test_edges_are_checked(
    hf: AsyncHoldfast, edges: dict[str, Any], error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        await hf.chat("none").history(**edges)
    with pytest.raises(error, match=match):
        await hf.mailbox("none").latest(**edges)


MEMBER_CALLS: list[Callable[[AsyncChat, str], Awaitable[Any]]] = [
    lambda chat, who: chat.history(reader=who),
    lambda chat, who: chat.history(after=0, reader=who),
    lambda chat, who: chat.members(reader=who),
    lambda chat, who: chat.read_by(1, reader=who),
    lambda chat, who: chat.join("friend", by=who),
]


@pytest.mark.parametrize("call", MEMBER_CALLS)
async def test_only_members_read_and_add_if_a_user_is_given(
    hf: AsyncHoldfast, call: Callable[[AsyncChat, str], Awaitable[Any]]
) -> None:
    chat = await hf.create_chat(["a", "b"], sender="a", body=1)
    assert await call(chat, "a")
    await chat.leave("friend")
    with pytest.raises(NotAMember) as caught:
        await call(chat, "stranger")
    assert (caught.value.user, caught.value.chat_id) == ("stranger", chat.chat_id)
    assert set(await chat.members()) == {"a", "b"}
    assert await hf.inbox("friend").chats() == []
    with pytest.raises(NoSuchChat):
        await call(hf.chat("none"), "a")
    with pytest.raises(ValueError, match="a member needs one"):
        await call(chat, "")


async def test_a_repeated_join_answers_the_same(hf: AsyncHoldfast) -> None:
    chat = await hf.create_chat(["a", "b"], sender="a", body=1)
    assert await chat.join("c", by="b", op_id="mine")
    await chat.leave("b")
    assert await chat.join("c", by="b", op_id="mine")
    assert await hf.inbox("c").chats() == [chat.chat_id]


async def test_a_refused_join_does_not_change_the_list_of_a_member(hf: AsyncHoldfast) -> None:
    chat = await hf.create_chat(["a", "b"], sender="a", body=1)
    with pytest.raises(NotAMember):
        await chat.join("b", by="stranger")
    assert await hf.inbox("b").chats() == [chat.chat_id]
    [batch] = await hf.inbox("b").fetch()
    assert batch.source == chat.chat_id


# Reading on from the position of a device instead of the acknowledged messages


async def test_a_device_gets_what_another_has_acknowledged(hf: AsyncHoldfast) -> None:
    chat = await hf.create_chat(["jill", "jack"], sender="jill", body=1)
    await chat.send(2, sender="jill")
    phone, endpoint = hf.inbox("jack"), hf.inbox("jack")
    [first] = await phone.fetch(limit=1)
    [both] = await endpoint.fetch()
    await endpoint.ack(both)
    assert await phone.fetch() == []
    [second] = await phone.fetch(after={chat.chat_id: first.position})
    assert [message.seq for message in second.messages] == [2]
    assert await phone.fetch(after={chat.chat_id: second.position}) == []
    assert (await chat.members())["jack"] == 2


async def test_a_wait_does_not_return_what_the_device_has(hf: AsyncHoldfast) -> None:
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


async def test_a_device_without_messages_gets_all_messages(hf: AsyncHoldfast) -> None:
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


async def test_a_device_gets_a_gap_for_dropped_messages(hf: AsyncHoldfast) -> None:
    box = hf.mailbox("jack", capacity=2, overflow="drop_oldest")
    for n in range(1, 6):
        await box.send(n, sender="jill")
    batch = await box.fetch(after=Position(0, 0))
    assert (batch.gap, [message.seq for message in batch.messages]) == (
        Gap(1, 3, "dropped"),
        [4, 5],
    )


async def test_dropped_messages_that_were_read_are_no_reset(hf: AsyncHoldfast) -> None:
    """A chat that keeps messages until they are read still holds the last one of them."""
    chat = await hf.create_chat(["jack"], sender="jill", body=0, keep="until_read")
    inbox, after = hf.inbox("jack"), {chat.chat_id: Position(0, 0)}
    for n in range(1, 300):
        await chat.send(n, sender="jill")
        [batch] = await inbox.fetch(after=after)
        assert batch.gap is None
        after = {chat.chat_id: batch.position}
        await inbox.ack(batch)
    assert (await chat.status()).first_seq > 200


async def test_a_device_without_messages_gets_no_reset(hf: AsyncHoldfast) -> None:
    box = hf.mailbox("jack")
    nothing = await box.fetch()
    await box.send(1, sender="jill")
    batch = await box.fetch(after=nothing.position)
    assert (batch.gap, batch.upto) == (None, 1)
    chat = await hf.create_chat(["jack"], sender="jill", body=1)
    [batch] = await hf.inbox("jack").fetch(after={chat.chat_id: nothing.position})
    assert (batch.gap, batch.upto) == (None, 1)


async def test_a_position_gives_no_access_to_other_users(hf: AsyncHoldfast) -> None:
    chat = await hf.create_chat(["jack"], sender="jill", body=1)
    [batch] = await hf.inbox("jack").fetch()
    after = {chat.chat_id: Position(batch.epoch, 0)}
    assert await hf.inbox("eve").fetch(after=after) == []


async def test_positions_are_checked_before_the_call(hf: AsyncHoldfast) -> None:
    with pytest.raises(TypeError, match="Position"):
        await hf.mailbox("jack").fetch(after=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="epoch"):
        await hf.inbox("jack").fetch(after={"c": Position(-1, 0)})


# A member who joined later reads what was sent since, or all messages of an open chat


def numbers(messages: Sequence[Message | Undecodable]) -> list[int]:
    return [message.seq for message in messages]


async def create_history(hf: AsyncHoldfast, **settings: Any) -> AsyncChat:
    """Create a chat with three messages, let jack join, and send a fourth one."""
    start = settings.pop("start", "now")
    chat = await hf.create_chat(["jill"], sender="jill", body=1, chat_id="c", **settings)
    for n in (2, 3):
        await chat.send(n, sender="jill")
    await chat.join("jack", start=start)
    await chat.send(4, sender="jill")
    return chat


async def readable(hf: AsyncHoldfast, user: str) -> list[list[int]]:
    """Return the numbers that a user gets from each call, and with each position."""
    chat, inbox = hf.chat("c"), hf.inbox(user)
    [batch] = await inbox.fetch(after={"c": Position(0, 0)})
    found = [numbers(batch.messages)]
    for position in (
        Position(batch.epoch, 0),
        Position(batch.epoch, 1),
        Position(batch.epoch, 1, 1),
        Position(17, 5),
        Position(batch.epoch, 900, 5),
    ):
        batches = await hf.inbox(user).fetch(after={"c": position})
        found += [numbers(each.messages) for each in batches]
    found += [
        numbers(await chat.history(reader=user)),
        numbers(await chat.history(reader=user, after=0)),
        numbers(await chat.history(reader=user, before=99)),
    ]
    return found


async def test_a_later_member_reads_what_was_sent_since(hf: AsyncHoldfast) -> None:
    chat = await create_history(hf)
    [batch] = await hf.inbox("jack").fetch()
    assert (batch.gap, numbers(batch.messages)) == (None, [4])
    pages_read = await readable(hf, "jack")
    assert pages_read == [[4]] * len(pages_read)
    assert await chat.history(reader="jack", before=4) == []
    assert (await readable(hf, "jill"))[0] == [1, 2, 3, 4]
    assert numbers(await chat.history()) == [1, 2, 3, 4], "the application itself sees all"


@pytest.mark.parametrize(("start", "first"), [("floor", 1), (1, 1), (3, 3), (4, 4)])
async def test_start_decides_what_a_new_member_reads(
    hf: AsyncHoldfast, start: Any, first: int
) -> None:
    await create_history(hf, start=start)
    pages_read = await readable(hf, "jack")
    assert pages_read[0] == pages_read[-1] == pages_read[-2] == list(range(first, 5))


async def test_an_open_chat_shows_everything(hf: AsyncHoldfast) -> None:
    """A later member begins to read where it joined, and may read earlier messages."""
    await create_history(hf, history="open")
    [batch] = await hf.inbox("jack").fetch()
    assert numbers(batch.messages) == [4]
    pages_read = await readable(hf, "jack")
    assert pages_read[0] == pages_read[-1] == pages_read[-2] == [1, 2, 3, 4]


async def test_a_returning_member_reads_what_was_sent_since(hf: AsyncHoldfast) -> None:
    chat = await create_history(hf)
    await chat.leave("jill")
    await chat.send(5, sender="jack")
    await chat.join("jill")
    await chat.send(6, sender="jack")
    pages_read = await readable(hf, "jill")
    assert pages_read[0] == pages_read[-1] == pages_read[-2] == [6]
    await chat.leave("jill")
    await chat.join("jill", start=5)
    assert numbers(await chat.history(reader="jill")) == [5, 6]
    assert not await chat.join("jill", start="floor"), "the cursor of a member does not change"
    assert numbers(await chat.history(reader="jill")) == [5, 6]


async def test_history_can_be_opened_and_closed(hf: AsyncHoldfast) -> None:
    chat = await create_history(hf)
    await chat.redefine(history="open")
    assert numbers(await chat.history(reader="jack")) == [1, 2, 3, 4]
    await chat.redefine(history="since_join")
    assert numbers(await chat.history(reader="jack")) == [4]
    with pytest.raises(ValueError, match="since_join, open"):
        await chat.redefine(history="closed")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="since_join, open"):
        await hf.create_chat(["jill"], sender="jill", body=1, history="")  # type: ignore[arg-type]


async def test_messages_before_a_join_are_no_gap(hf: AsyncHoldfast) -> None:
    chat = await create_history(hf, keep=2)
    [batch] = await hf.inbox("jack").fetch(after={"c": Position(0, 0)})
    assert (batch.gap, numbers(batch.messages)) == (None, [4])
    for n in range(5, 9):
        await chat.send(n, sender="jill")
    [batch] = await hf.inbox("jack").fetch(after={"c": Position(0, 0)})
    assert batch.gap is not None
    assert (batch.gap.first, batch.gap.last, numbers(batch.messages)) == (4, 6, [7, 8])
