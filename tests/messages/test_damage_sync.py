# Generated from test_damage_async.py by tools/unasync.py: edit that, then run `make sync`.
"""Damaged keys and messages: errors name them, and other messages can be read."""

import json
from typing import Any

import pytest

from conftest import Site
from holdfast import DecodeError, Holdfast, Message, Position, Undecodable
from holdfast.messages.body import MAX_DEPTH, decoded_body

# Values that another program has written into the keys of mailboxes, chats and lists

WRONG = ["x", "", "-1", "1.5", "inf", "nan", "1e400", "9" * 40, b"\xff\xfe"]


@pytest.mark.parametrize("field", ["epoch", "top", "floor"])
def test_the_error_of_a_damaged_mailbox_names_the_key(hf: Holdfast, site: Site, field: str) -> None:
    client: Any = site.client
    box, meta = hf.mailbox("jack"), f"{site.namespace}:{{mailbox:jack}}:meta"
    box.send(1, sender="jill")
    batch, sound = box.fetch(), client.hget(meta, field)
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
                call()
    client.hset(meta, field, sound)
    assert box.send(2, sender="jill", op_id="mine") == 2
    box.ack(batch)
    assert [message.body for message in (box.fetch()).messages] == [2]


@pytest.mark.parametrize("field", ["epoch", "top", "floor", "keep", "idle_ms", "since"])
def test_the_error_of_a_damaged_chat_names_the_key(hf: Holdfast, site: Site, field: str) -> None:
    client: Any = site.client
    chat = hf.create_chat(["jack"], sender="jill", body=1, chat_id="c", keep="until_read")
    hf.create_chat(["jack"], sender="jill", body=1, chat_id="d")
    meta, inbox = f"{site.namespace}:{{chat:c}}:meta", hf.inbox("jack")
    sound = client.hget(meta, field)
    client.hset(meta, field, "1e400")
    with pytest.raises(DecodeError, match="chat:c"):
        chat.send(2, sender="jill")
    with pytest.raises(DecodeError, match="chat:c"):
        chat.status()
    batches = inbox.fetch()
    assert "d" in [batch.source for batch in batches]
    for batch in batches:
        if batch.source == "d":
            inbox.ack(batch)
    if field in ("epoch", "top", "floor"):
        with pytest.raises(DecodeError, match="chat:c"):
            inbox.fetch(timeout=1.0)
    client.hset(meta, field, sound)
    assert chat.send(2, sender="jill") == 2
    [batch] = inbox.fetch()
    assert (batch.source, batch.gap, len(batch.messages)) == ("c", None, 2)


def test_a_damaged_cursor_skips_nothing(hf: Holdfast, site: Site) -> None:
    client: Any = site.client
    chat = hf.create_chat(["jack"], sender="jill", body=1, chat_id="c")
    cursors, inbox = f"{site.namespace}:{{chat:c}}:cursors", hf.inbox("jack")
    [batch] = inbox.fetch()
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
                call()
    client.zadd(cursors, {"jack": 0})
    inbox.ack(batch)
    assert (chat.members())["jack"] == 1


def test_a_log_ahead_of_its_metadata_takes_no_message(hf: Holdfast, site: Site) -> None:
    """The log already has an entry with the number of the next message."""
    client: Any = site.client
    box, unit = hf.mailbox("jack"), f"{site.namespace}:{{mailbox:jack}}"
    for n in (1, 2, 3):
        box.send(n, sender="jill")
    client.hset(f"{unit}:meta", "top", 1)
    for _ in range(2):
        with pytest.raises(DecodeError, match="mailbox:jack}:log"):
            box.send(4, sender="jill")
    client.hset(f"{unit}:meta", "top", 3)
    assert box.send(4, sender="jill") == 4


def test_foreign_entries_of_a_list_are_ignored(hf: Holdfast, site: Site) -> None:
    """A list is a hint: entries that cannot be chats are left out."""
    client: Any = site.client
    hf.create_chat(["jack"], sender="jill", body=1, chat_id="c")
    chats = f"{site.namespace}:{{inbox:jack}}:chats"
    for begin in ("inf", "-inf", 0):
        client.zadd(chats, {b"\xff\xfe": 5, "x" * 600: 7, "": begin, "gone": "inf", "left": "-inf"})
        assert hf.inbox("jack").chats() == ["c"]
        [batch] = hf.inbox("jack").fetch()
        assert (batch.source, batch.gap) == ("c", None)
    hf.create_chat(["jack"], sender="jill", body=1, chat_id="d")
    assert hf.inbox("jack").chats() == ["d", "c"]


def test_a_simple_loop_continues_after_a_damaged_message(hf: Holdfast, site: Site) -> None:
    client: Any = site.client
    box, unit = hf.mailbox("jack"), f"{site.namespace}:{{mailbox:jack}}"
    box.send("a", sender="jill")
    client.xadd(f"{unit}:log", {"jill": b"j{"}, id="2-5")
    client.hset(f"{unit}:meta", "top", 2)
    box.send("b", sender="jill")
    batch = box.fetch()
    seen = [(message.seq, message.sender, message.body) for message in batch.messages]
    box.ack(batch)
    assert seen == [(1, "jill", "a"), (2, "jill", None), (3, "jill", "b")]
    assert [type(message) for message in box.latest()][1] is Undecodable
    assert not box.fetch()
    assert not box.fetch(after=batch.position)


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
def test_a_body_that_is_nested_too_deeply_is_not_sent(hf: Holdfast, body: Any) -> None:
    with pytest.raises(ValueError, match="nested more than 100 deep"):
        hf.mailbox("jack").send(body, sender="jill")
    assert not hf.mailbox("jack").fetch()


@pytest.mark.parametrize("body", [DEEPEST, [[]] * 200, "[" * 500, {"]": "{" * 500}])
def test_brackets_that_are_not_nested_are_sent(hf: Holdfast, body: Any) -> None:
    """Brackets side by side, or in texts, do not count as depth."""
    hf.mailbox("jack").send(body, sender="jill")
    [message] = (hf.mailbox("jack").fetch()).messages
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
def test_foreign_messages_block_no_reader(hf: Holdfast, site: Site, name: str) -> None:
    box = hf.mailbox("jack")
    chat = hf.create_chat(["jack"], sender="jill", body=1, chat_id="c")
    box.send(1, sender="jill")
    for unit in ("mailbox:jack", "chat:c"):
        write(site, unit, 2, b"jill", FOREIGN[name])
    box.send(3, sender="jill")
    chat.send(3, sender="jill")
    [batch] = hf.inbox("jack").fetch()
    for messages in (
        (box.fetch()).messages,
        batch.messages,
        box.latest(),
        chat.history(),
    ):
        assert [type(message) for message in messages] == [Message, Undecodable, Message]
        assert len(str(messages[1])) < 500
    box.ack(box.fetch())
    assert not box.fetch()


def test_a_large_sender_name_does_not_block_readers(hf: Holdfast, site: Site) -> None:
    """The name is cut, and the body is not decoded."""
    box = hf.mailbox("jack")
    box.send(1, sender="jill")
    write(site, "mailbox:jack", 2, b"j" * (5 << 20), b"j2")
    [first, second] = (box.fetch()).messages
    assert isinstance(first, Message)
    assert isinstance(second, Undecodable)
    assert len(second.sender) == 512
    assert "5,242,882 bytes" in second.reason


@pytest.mark.parametrize("end", [b'\\"' * 400_000, b'"' * 800_001, b"[]," * 250_000])
def test_the_depth_is_found_at_once(end: bytes) -> None:
    with pytest.raises(ValueError, match="nested more than 100 deep"):
        decoded_body(b"j" + b"[" * (MAX_DEPTH + 1) + end)
