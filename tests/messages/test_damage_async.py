"""Damaged keys and messages: errors name them, and other messages can be read."""

import json
from typing import Any

import pytest

from conftest import Site
from holdfast import AsyncHoldfast, DecodeError, Message, Position, Undecodable
from holdfast.messages.body import MAX_DEPTH, decoded_body

# Values that another program has written into the keys of mailboxes, chats and lists

WRONG = ["x", "", "-1", "1.5", "inf", "nan", "1e400", "9" * 40, b"\xff\xfe"]


@pytest.mark.parametrize("field", ["epoch", "top", "floor"])
async def test_the_error_of_a_damaged_mailbox_names_the_key(
    hf: AsyncHoldfast, site: Site, field: str
) -> None:
    client: Any = site.client
    box, meta = hf.mailbox("jack"), f"{site.namespace}:{{mailbox:jack}}:meta"
    await box.send(1, sender="jill")
    batch, sound = await box.fetch(), client.hget(meta, field)
    calls = (
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
        for call in calls:
            with pytest.raises(DecodeError, match="mailbox:jack"):
                await call()
    client.hset(meta, field, sound)
    assert await box.send(2, sender="jill", op_id="mine") == 2
    await box.ack(batch)
    assert [message.body for message in (await box.fetch()).messages] == [2]


@pytest.mark.parametrize("field", ["epoch", "top", "floor", "keep", "idle_ms", "since"])
async def test_the_error_of_a_damaged_chat_names_the_key(
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
    calls = (
        inbox.fetch,
        inbox.unread,
        lambda: inbox.fetch(after={"c": Position(0, 0)}),
        lambda: inbox.ack(batch),
    )
    for score in ("inf", "-inf", 99, 1.5, -1):
        client.zadd(cursors, {"jack": score})
        for call in calls:
            with pytest.raises(DecodeError, match="chat:c"):
                await call()
    client.zadd(cursors, {"jack": 0})
    await inbox.ack(batch)
    assert (await chat.members())["jack"] == 1


async def test_a_log_ahead_of_its_metadata_takes_no_message(hf: AsyncHoldfast, site: Site) -> None:
    """The log already has an entry with the number of the next message."""
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


async def test_foreign_entries_of_a_list_are_ignored(hf: AsyncHoldfast, site: Site) -> None:
    """A list is a hint: entries that cannot be chats are left out."""
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


async def test_a_simple_loop_continues_after_a_damaged_message(
    hf: AsyncHoldfast, site: Site
) -> None:
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


# Bodies that a reader cannot decode: `send` refuses them, and a reader gets `Undecodable`

DEEPEST: Any = json.loads("[" * (MAX_DEPTH - 1) + '{"a":"[[\\"[["}' + "]" * (MAX_DEPTH - 1))


def write(site: Site, unit: str, seq: int, sender: bytes, body: bytes) -> None:
    """Write an entry into a log, as another program might."""
    prefix = f"{site.namespace}:{{{unit}}}"
    site.client.xadd(f"{prefix}:log", {sender: body}, id=f"{seq}-1")
    site.client.hset(f"{prefix}:meta", "top", seq)


@pytest.mark.parametrize(
    "body",
    [
        [DEEPEST],
        json.loads("[" * 600 + "null" + "]" * 600),
        [DEEPEST] * 3 + [None],
    ],
)
async def test_a_body_that_is_nested_too_deeply_is_not_sent(hf: AsyncHoldfast, body: Any) -> None:
    with pytest.raises(ValueError, match="nested more than 100 deep"):
        await hf.mailbox("jack").send(body, sender="jill")
    assert not await hf.mailbox("jack").fetch()


@pytest.mark.parametrize("body", [DEEPEST, [[]] * 200, "[" * 500, {"]": "{" * 500}])
async def test_brackets_that_are_not_nested_are_sent(hf: AsyncHoldfast, body: Any) -> None:
    """Brackets side by side, or in texts, do not count as depth."""
    await hf.mailbox("jack").send(body, sender="jill")
    [message] = (await hf.mailbox("jack").fetch()).messages
    assert isinstance(message, Message)
    assert message.body == body


FOREIGN = {
    "deep": b"j" + b"[" * 500 + b"]" * 500,
    "endless": b"j" + b"[" * 100_000,
    "unfinished": b"j" + b"[" * 500 + b'"\\',
    "large": b"j" + b'"' + b"x" * (5 << 20) + b'"',
    "large bytes": b"b" + b"x" * ((1 << 20) + 1),
    "no size": b"x12 apples",
}


@pytest.mark.parametrize("name", FOREIGN)
async def test_foreign_messages_block_no_reader(hf: AsyncHoldfast, site: Site, name: str) -> None:
    box = hf.mailbox("jack")
    chat = await hf.create_chat(["jack"], sender="jill", body=1, chat_id="c")
    await box.send(1, sender="jill")
    for unit in ("mailbox:jack", "chat:c"):
        write(site, unit, 2, b"jill", FOREIGN[name])
    await box.send(3, sender="jill")
    await chat.send(3, sender="jill")
    [batch] = await hf.inbox("jack").fetch()
    for messages in (
        (await box.fetch()).messages,
        batch.messages,
        await box.latest(),
        await chat.history(),
    ):
        assert [type(message) for message in messages] == [Message, Undecodable, Message]
        assert len(str(messages[1])) < 500
    await box.ack(await box.fetch())
    assert not await box.fetch()


async def test_a_large_sender_name_does_not_block_readers(hf: AsyncHoldfast, site: Site) -> None:
    """The name is cut, and the body is not decoded."""
    box = hf.mailbox("jack")
    await box.send(1, sender="jill")
    write(site, "mailbox:jack", 2, b"j" * (5 << 20), b"j2")
    [first, second] = (await box.fetch()).messages
    assert isinstance(first, Message)
    assert isinstance(second, Undecodable)
    assert len(second.sender) == 512
    assert "5,242,882 bytes" in second.reason


@pytest.mark.parametrize("end", [b'\\"' * 400_000, b'"' * 800_001, b"[]," * 250_000])
def test_the_depth_is_found_at_once(end: bytes) -> None:
    with pytest.raises(ValueError, match="nested more than 100 deep"):
        decoded_body(b"j" + b"[" * (MAX_DEPTH + 1) + end)
