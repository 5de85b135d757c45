"""The lists of the chats of users, with repeated and with refused calls."""

import pytest

from conftest import Site
from holdfast import AsyncHoldfast, NoSuchChat, NotAMember


async def test_a_repeated_leave_does_not_remove_a_user_who_rejoined(hf: AsyncHoldfast) -> None:
    """It returns the same answer, and the user can read the chat that it has joined again."""
    chat = await hf.create_chat(["a", "b"], sender="a", body=1, chat_id="c")
    assert await chat.leave("b", op_id="mine")
    await chat.join("b")
    assert await chat.leave("b", op_id="mine")
    assert await hf.inbox("b").chats() == ["c"]
    await chat.send(2, sender="a")
    [batch] = await hf.inbox("b").fetch()
    assert [message.seq for message in batch.messages] == [2]


async def test_a_repeated_last_leave_does_not_hide_a_new_chat(hf: AsyncHoldfast) -> None:
    chat = await hf.create_chat(["a"], sender="a", body=1, chat_id="c")
    assert await chat.leave("a", op_id="mine")
    await hf.create_chat(["b"], sender="b", body=1, chat_id="c")
    assert await chat.leave("a", op_id="mine")
    assert await hf.chats() == ["c"]


async def test_a_user_who_is_no_member_changes_no_list(hf: AsyncHoldfast, site: Site) -> None:
    for name in ("first", "second"):
        chat = await hf.create_chat(["a"], sender="a", body=1, chat_id=name)
    before = await hf.inbox("a").chats()
    for user in ("a", "nobody"):
        with pytest.raises(NotAMember):
            await hf.chat("first").join(user, by="eve")
        with pytest.raises(NoSuchChat):
            await hf.chat("nowhere").join(user, by="eve")
    assert await hf.inbox("a").chats() == before == ["second", "first"]
    assert site.client.exists(f"{site.namespace}:{{inbox:nobody}}:chats") == 0
    assert await chat.join("nobody", by="a")


async def test_a_lost_list_is_restored_by_joining_again(hf: AsyncHoldfast, site: Site) -> None:
    chat = await hf.create_chat(["a", "b"], sender="a", body=1, chat_id="c")
    site.client.delete(f"{site.namespace}:{{inbox:b}}:chats")
    assert await hf.inbox("b").fetch() == []
    assert not await chat.join("b")
    [batch] = await hf.inbox("b").fetch()
    assert (batch.gap, batch.upto) == (None, 1)


async def test_an_inbox_counts_the_chats_that_it_leaves_out(hf: AsyncHoldfast, site: Site) -> None:
    await hf.create_chat(["jack"], sender="jack", body="hi", chat_id="kept")
    inbox = hf.inbox("jack")
    assert (await inbox.unread()).skipped_chats == 0
    # Own chats that were added before this one: their scores are lower.
    earlier = {f"c{n}": n + 1 for n in range(1_002)}
    site.client.zadd(f"{site.namespace}:{{inbox:jack}}:chats", earlier)
    unread = await inbox.unread()
    assert (unread, unread.skipped_chats) == ({"kept": 0}, 3)
    assert (await inbox.chats()).skipped_chats == 3
    assert (await inbox.fetch()).skipped_chats == 3
    site.client.zadd(f"{site.namespace}:{{inbox:jack}}:chats", earlier)  # `fetch` removed them
    with inbox.stream() as stream:
        assert (await stream.read()).skipped_chats == 3
