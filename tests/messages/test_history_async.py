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

# What is kept, read or not: from either end, and only for members where that is asked for


async def read_on(page: Callable[[int], Awaitable[Any]], seq: int) -> list[list[int]]:
    """The numbers of all pages after a number."""
    pages: list[list[int]] = []
    while found := await page(seq):
        pages.append([message.seq for message in found])
        seq = found[-1].seq
    return pages


async def test_history_goes_on_page_by_page(hf: AsyncHoldfast) -> None:
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
    ("edges", "error", "told"),
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
    hf: AsyncHoldfast, edges: dict[str, Any], error: type[Exception], told: str
) -> None:
    with pytest.raises(error, match=told):
        await hf.chat("none").history(**edges)
    with pytest.raises(error, match=told):
        await hf.mailbox("none").latest(**edges)


LOOKS: list[Callable[[AsyncChat, str], Awaitable[Any]]] = [
    lambda chat, who: chat.history(reader=who),
    lambda chat, who: chat.history(after=0, reader=who),
    lambda chat, who: chat.members(reader=who),
    lambda chat, who: chat.read_by(1, reader=who),
    lambda chat, who: chat.join("friend", by=who),
]


@pytest.mark.parametrize("look", LOOKS)
async def test_only_members_look_and_add_where_it_is_said_who_does(
    hf: AsyncHoldfast, look: Callable[[AsyncChat, str], Awaitable[Any]]
) -> None:
    chat = await hf.create_chat(["a", "b"], sender="a", body=1)
    assert await look(chat, "a")
    await chat.leave("friend")
    with pytest.raises(NotAMember) as caught:
        await look(chat, "stranger")
    assert (caught.value.user, caught.value.chat_id) == ("stranger", chat.chat_id)
    assert set(await chat.members()) == {"a", "b"}
    assert await hf.inbox("friend").chats() == []
    with pytest.raises(NoSuchChat):
        await look(hf.chat("none"), "a")
    with pytest.raises(ValueError, match="a member needs one"):
        await look(chat, "")


async def test_an_add_that_is_repeated_answers_the_same(hf: AsyncHoldfast) -> None:
    chat = await hf.create_chat(["a", "b"], sender="a", body=1)
    assert await chat.join("c", by="b", op_id="mine")
    await chat.leave("b")
    assert await chat.join("c", by="b", op_id="mine")
    assert await hf.inbox("c").chats() == [chat.chat_id]


async def test_a_stranger_who_adds_a_member_takes_nothing_from_it(hf: AsyncHoldfast) -> None:
    chat = await hf.create_chat(["a", "b"], sender="a", body=1)
    with pytest.raises(NotAMember):
        await chat.join("b", by="stranger")
    assert await hf.inbox("b").chats() == [chat.chat_id]
    [batch] = await hf.inbox("b").fetch()
    assert batch.source == chat.chat_id


# Reading past what a device has, not past what the user acknowledged


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


# What a member who joined later may read: what was sent since, or in an open chat everything


def numbers(messages: Sequence[Message | Undecodable]) -> list[int]:
    return [message.seq for message in messages]


async def begun(hf: AsyncHoldfast, **settings: Any) -> AsyncChat:
    """A chat with three messages, which jack joins, and then a fourth."""
    start = settings.pop("start", "now")
    chat = await hf.create_chat(["jill"], sender="jill", body=1, chat_id="c", **settings)
    for n in (2, 3):
        await chat.send(n, sender="jill")
    await chat.join("jack", start=start)
    await chat.send(4, sender="jill")
    return chat


async def all_ways(hf: AsyncHoldfast, user: str) -> list[list[int]]:
    """What a user can get in each way of reading, whatever it says that it has."""
    chat, inbox = hf.chat("c"), hf.inbox(user)
    [batch] = await inbox.fetch(after={"c": Position(0, 0)})
    ways = [numbers(batch.messages)]
    for position in (
        Position(batch.epoch, 0),
        Position(batch.epoch, 1),
        Position(batch.epoch, 1, 1),
        Position(17, 5),
        Position(batch.epoch, 900, 5),
    ):
        found = await hf.inbox(user).fetch(after={"c": position})
        ways += [numbers(each.messages) for each in found]
    ways += [
        numbers(await chat.history(reader=user)),
        numbers(await chat.history(reader=user, after=0)),
        numbers(await chat.history(reader=user, before=99)),
    ]
    return ways


async def test_a_later_member_reads_what_was_sent_since(hf: AsyncHoldfast) -> None:
    chat = await begun(hf)
    [batch] = await hf.inbox("jack").fetch()
    assert (batch.gap, numbers(batch.messages)) == (None, [4])
    ways = await all_ways(hf, "jack")
    assert ways == [[4]] * len(ways)
    assert await chat.history(reader="jack", before=4) == []
    assert (await all_ways(hf, "jill"))[0] == [1, 2, 3, 4]
    assert numbers(await chat.history()) == [1, 2, 3, 4], "the application itself sees all"


@pytest.mark.parametrize(("start", "first"), [("floor", 1), (1, 1), (3, 3), (4, 4)])
async def test_who_adds_a_member_says_from_where(hf: AsyncHoldfast, start: Any, first: int) -> None:
    await begun(hf, start=start)
    ways = await all_ways(hf, "jack")
    assert ways[0] == ways[-1] == ways[-2] == list(range(first, 5))


async def test_an_open_chat_shows_everything(hf: AsyncHoldfast) -> None:
    """A later member begins to read where it joined, and can look back."""
    await begun(hf, history="open")
    [batch] = await hf.inbox("jack").fetch()
    assert numbers(batch.messages) == [4]
    ways = await all_ways(hf, "jack")
    assert ways[0] == ways[-1] == ways[-2] == [1, 2, 3, 4]


async def test_who_left_and_is_back_reads_what_was_sent_since(hf: AsyncHoldfast) -> None:
    chat = await begun(hf)
    await chat.leave("jill")
    await chat.send(5, sender="jack")
    await chat.join("jill")
    await chat.send(6, sender="jack")
    ways = await all_ways(hf, "jill")
    assert ways[0] == ways[-1] == ways[-2] == [6]
    await chat.leave("jill")
    await chat.join("jill", start=5)
    assert numbers(await chat.history(reader="jill")) == [5, 6]
    assert not await chat.join("jill", start="floor"), "who is a member stays where it is"
    assert numbers(await chat.history(reader="jill")) == [5, 6]


async def test_a_chat_can_be_opened_and_closed(hf: AsyncHoldfast) -> None:
    chat = await begun(hf)
    await chat.redefine(history="open")
    assert numbers(await chat.history(reader="jack")) == [1, 2, 3, 4]
    await chat.redefine(history="since_join")
    assert numbers(await chat.history(reader="jack")) == [4]
    with pytest.raises(ValueError, match="since_join, open"):
        await chat.redefine(history="closed")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="since_join, open"):
        await hf.create_chat(["jill"], sender="jill", body=1, history="")  # type: ignore[arg-type]


async def test_what_a_later_member_may_not_read_is_no_gap(hf: AsyncHoldfast) -> None:
    chat = await begun(hf, keep=2)
    [batch] = await hf.inbox("jack").fetch(after={"c": Position(0, 0)})
    assert (batch.gap, numbers(batch.messages)) == (None, [4])
    for n in range(5, 9):
        await chat.send(n, sender="jill")
    [batch] = await hf.inbox("jack").fetch(after={"c": Position(0, 0)})
    assert batch.gap is not None
    assert (batch.gap.first, batch.gap.last, numbers(batch.messages)) == (4, 6, [7, 8])
