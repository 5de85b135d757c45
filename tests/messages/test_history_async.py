"""What is kept, read or not: from either end, and only for members where that is asked for."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from holdfast import AsyncChat, AsyncHoldfast, NoSuchChat, NotAMember


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
