"""What another program has written into the keys of mailboxes, chats and lists."""

from typing import Any

import pytest

from conftest import Site
from holdfast import AsyncHoldfast, DecodeError, Position, Undecodable

WRONG = ["x", "", "-1", "1.5", "inf", "nan", "1e400", "9" * 40, b"\xff\xfe"]


@pytest.mark.parametrize("field", ["epoch", "top", "floor"])
async def test_a_damaged_mailbox_says_which_key_it_is(
    hf: AsyncHoldfast, site: Site, field: str
) -> None:
    client: Any = site.client
    box, meta = hf.mailbox("jack"), f"{site.namespace}:{{mailbox:jack}}:meta"
    await box.send(1, sender="jill")
    batch, sound = await box.fetch(), client.hget(meta, field)
    ways = (
        lambda: box.send(2, sender="jill"),
        lambda: box.send(2, sender="jill", per_sender=5, op_id="mine"),
        box.fetch,
        lambda: box.fetch(after=batch.position),
        lambda: box.ack(batch),
        box.status,
        lambda: box.redefine(capacity=5),
    )
    for wrong in WRONG:
        client.hset(meta, field, wrong)
        for way in ways:
            with pytest.raises(DecodeError, match="mailbox:jack"):
                await way()
    client.hset(meta, field, sound)
    assert await box.send(2, sender="jill", op_id="mine") == 2
    await box.ack(batch)
    assert [message.body for message in (await box.fetch()).messages] == [2]


@pytest.mark.parametrize("field", ["epoch", "top", "floor", "keep", "idle_ms", "since"])
async def test_a_damaged_chat_says_which_key_it_is(
    hf: AsyncHoldfast, site: Site, field: str
) -> None:
    client: Any = site.client
    chat = await hf.create_chat(["jack"], sender="jill", body=1, chat_id="c", keep="until_read")
    await hf.create_chat(["jack"], sender="jill", body=1, chat_id="d")
    meta, inbox = f"{site.namespace}:{{chat:c}}:meta", hf.inbox("jack")
    sound = client.hget(meta, field)
    client.hset(meta, field, "1e400")
    with pytest.raises(DecodeError, match="chat:c"):
        await chat.send(2, sender="jill")
    with pytest.raises(DecodeError, match="chat:c"):
        await chat.status()
    batches = await inbox.fetch()
    assert "d" in [batch.source for batch in batches]
    for batch in batches:
        if batch.source == "d":
            await inbox.ack(batch)
    if field in ("epoch", "top", "floor"):
        with pytest.raises(DecodeError, match="chat:c"):
            await inbox.fetch(timeout=1.0)
    client.hset(meta, field, sound)
    assert await chat.send(2, sender="jill") == 2
    [batch] = await inbox.fetch()
    assert (batch.source, batch.gap, len(batch.messages)) == ("c", None, 2)


async def test_a_damaged_cursor_skips_nothing(hf: AsyncHoldfast, site: Site) -> None:
    client: Any = site.client
    chat = await hf.create_chat(["jack"], sender="jill", body=1, chat_id="c")
    cursors, inbox = f"{site.namespace}:{{chat:c}}:cursors", hf.inbox("jack")
    [batch] = await inbox.fetch()
    ways = (
        inbox.fetch,
        inbox.unread,
        lambda: inbox.fetch(after={"c": Position(0, 0)}),
        lambda: inbox.ack(batch),
    )
    for score in ("inf", "-inf", 99, 1.5, -1):
        client.zadd(cursors, {"jack": score})
        for way in ways:
            with pytest.raises(DecodeError, match="chat:c"):
                await way()
    client.zadd(cursors, {"jack": 0})
    await inbox.ack(batch)
    assert (await chat.members())["jack"] == 1


async def test_a_log_behind_its_metadata_takes_no_message(hf: AsyncHoldfast, site: Site) -> None:
    """The number of the next message is there already."""
    client: Any = site.client
    box, unit = hf.mailbox("jack"), f"{site.namespace}:{{mailbox:jack}}"
    for n in (1, 2, 3):
        await box.send(n, sender="jill")
    client.hset(f"{unit}:meta", "top", 1)
    for _ in range(2):
        with pytest.raises(DecodeError, match="mailbox:jack}:log"):
            await box.send(4, sender="jill")
    client.hset(f"{unit}:meta", "top", 3)
    assert await box.send(4, sender="jill") == 4


async def test_foreign_entries_of_a_list_are_no_chats(hf: AsyncHoldfast, site: Site) -> None:
    """A list is a hint: what can be no chat is left out."""
    client: Any = site.client
    await hf.create_chat(["jack"], sender="jill", body=1, chat_id="c")
    chats = f"{site.namespace}:{{inbox:jack}}:chats"
    for begin in ("inf", "-inf", 0):
        client.zadd(chats, {b"\xff\xfe": 5, "x" * 600: 7, "": begin, "gone": "inf", "left": "-inf"})
        assert await hf.inbox("jack").chats() == ["c"]
        [batch] = await hf.inbox("jack").fetch()
        assert (batch.source, batch.gap) == ("c", None)
    await hf.create_chat(["jack"], sender="jill", body=1, chat_id="d")
    assert await hf.inbox("jack").chats() == ["d", "c"]


async def test_the_plain_loop_goes_past_what_cannot_be_read(hf: AsyncHoldfast, site: Site) -> None:
    client: Any = site.client
    box, unit = hf.mailbox("jack"), f"{site.namespace}:{{mailbox:jack}}"
    await box.send("a", sender="jill")
    client.xadd(f"{unit}:log", {"jill": b"j{"}, id="2-5")
    client.hset(f"{unit}:meta", "top", 2)
    await box.send("b", sender="jill")
    batch = await box.fetch()
    seen = [(message.seq, message.sender, message.body) for message in batch.messages]
    await box.ack(batch)
    assert seen == [(1, "jill", "a"), (2, "jill", None), (3, "jill", "b")]
    assert [type(message) for message in await box.latest()][1] is Undecodable
    assert not await box.fetch()
    assert not await box.fetch(after=batch.position)
