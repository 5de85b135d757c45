"""Chats and inboxes, as their members see them."""

import secrets
from collections.abc import Callable
from typing import Any

import pytest

from conftest import Site
from holdfast import (
    AsyncHoldfast,
    Batch,
    ChatExists,
    Gap,
    Message,
    NoSuchChat,
    NoSuchMessage,
    NotAMember,
    StaleBatch,
    TooManyMembers,
)
from holdfast.core.concurrency._async.primitives import sleep


def bodies(batch: Batch) -> list[Any]:
    return [message.body for message in batch.messages if isinstance(message, Message)]


def key(site: Site, part: str, chat: str = "c") -> str:
    """Return the name of a key."""
    return f"{site.namespace}:{{chat:{chat}}}:{part}"


async def test_a_chat_begins_with_a_message_for_all(hf: AsyncHoldfast) -> None:
    chat = await hf.create_chat(["jason22", "jeff24"], sender="jason22", body="hello")
    assert await chat.members() == {"jason22": 1, "jeff24": 0}
    assert not await hf.inbox("jason22").fetch()
    [batch] = await hf.inbox("jeff24").fetch()
    assert (batch.source, batch.gap, bodies(batch)) == (chat.chat_id, None, ["hello"])
    assert await hf.chats() == [chat.chat_id]
    assert await hf.inbox("jason22").chats() == [chat.chat_id]


async def test_messages_reach_everyone_until_they_acknowledge(hf: AsyncHoldfast) -> None:
    """Unread counts and receipts come from the cursors."""
    chat = await hf.create_chat(["a", "b", "c"], sender="a", body=1, chat_id="827")
    assert await hf.chat("827").send(2, sender="b") == 2
    assert await chat.send(3, sender="a") == 3
    inbox = hf.inbox("c")
    assert await inbox.unread() == {"827": 3}
    [batch] = await inbox.fetch()
    assert bodies(batch) == [1, 2, 3]
    assert await inbox.fetch() == [batch]
    await inbox.ack(batch)
    assert await inbox.fetch() == []
    assert await inbox.unread() == {"827": 0}
    assert await chat.members() == {"a": 1, "b": 0, "c": 3}
    assert await chat.read_by(1) == ["a", "c"]
    assert await chat.read_by(3) == ["c"]
    assert await chat.read_by(4) == []


async def test_a_second_chat_of_the_same_id_changes_nothing(hf: AsyncHoldfast) -> None:
    """Defect 6: a second creation reset all cursors. The list of the caller also stays as it is."""
    members = ["a", "b", "a"]
    chat = await hf.create_chat(members, sender="z", body="one", chat_id="c")
    assert members == ["a", "b", "a"]
    [batch] = await hf.inbox("a").fetch()
    await hf.inbox("a").ack(batch)
    with pytest.raises(ChatExists):
        await hf.create_chat(["q"], sender="q", body="two", chat_id="c")
    assert await chat.members() == {"a": 1, "b": 0, "z": 1}
    assert await hf.inbox("q").chats() == []
    assert await hf.inbox("q").fetch() == []


async def test_a_new_member_begins_at_start(hf: AsyncHoldfast) -> None:
    chat = await hf.create_chat(["a"], sender="a", body=1, chat_id="c")
    for n in range(2, 6):
        await chat.send(n, sender="a")
    assert await chat.join("now")
    assert await chat.join("all", start="floor")
    assert await chat.join("some", start=4)
    assert await chat.join("next", start=6)
    with pytest.raises(NoSuchMessage):
        await chat.join("late", start=7)
    assert await chat.members() == {"a": 5, "now": 5, "all": 0, "some": 3, "next": 5}
    await chat.send(6, sender="a")
    expected = {"now": [6], "all": [1, 2, 3, 4, 5, 6], "some": [4, 5, 6], "next": [6]}
    for user, wanted in expected.items():
        [batch] = await hf.inbox(user).fetch()
        assert bodies(batch) == wanted


async def test_a_second_join_changes_no_cursor(hf: AsyncHoldfast) -> None:
    chat = await hf.create_chat(["a", "b"], sender="a", body=1, chat_id="c")
    assert not await chat.join("b")
    assert not await chat.join("b", start="floor")
    [batch] = await hf.inbox("b").fetch()
    await hf.inbox("b").ack(batch)
    assert not await chat.join("b", start=1)
    assert await hf.inbox("b").fetch() == []


async def test_a_missing_chat_is_named(hf: AsyncHoldfast, site: Site) -> None:
    chat = hf.chat("nowhere")
    calls: list[Callable[[], Any]] = [
        lambda: chat.send("x", sender="a"),
        lambda: chat.join("a"),
        chat.members,
        chat.status,
        chat.history,
        lambda: chat.read_by(1),
        lambda: chat.redefine(keep=5),
    ]
    for call in calls:
        with pytest.raises(NoSuchChat) as caught:
            await call()
        assert caught.value.chat_id == "nowhere"
    assert not await chat.leave("a")
    with pytest.raises(NoSuchChat):
        await hf.inbox("a").ack(Batch("nowhere", (), None, 0, 1))
    assert await hf.inbox("a").chats() == []
    assert await hf.inbox("a").fetch() == []
    assert await hf.chats() == []
    left = {
        name.rpartition(b":")[0] for name in site.client.scan_iter(f"{site.namespace}*nowhere*")
    }
    assert left <= {f"{site.namespace}:{{chat:nowhere}}:ledger".encode()}


async def test_only_a_member_may_send(hf: AsyncHoldfast) -> None:
    chat = await hf.create_chat(["a"], sender="a", body=1, chat_id="c")
    with pytest.raises(NotAMember) as caught:
        await chat.send("spam", sender="mallory")
    assert (caught.value.user, caught.value.chat_id) == ("mallory", "c")
    assert len(await chat.history()) == 1
    with pytest.raises(NotAMember):
        await hf.inbox("mallory").ack(Batch("c", (), None, 0, 1))
    assert await chat.members() == {"a": 1}


async def test_leaving_during_a_fetch_leaves_no_cursor(hf: AsyncHoldfast) -> None:
    chat = await hf.create_chat(["a", "b"], sender="a", body=1, chat_id="c")
    inbox = hf.inbox("b")
    [batch] = await inbox.fetch()
    assert await chat.leave("b")
    with pytest.raises(NotAMember):
        await inbox.ack(batch)
    assert await chat.members() == {"a": 1}
    assert await inbox.fetch() == []
    assert await inbox.chats() == []
    assert not await chat.leave("b")
    await chat.send(2, sender="a")
    assert await inbox.unread() == {}


async def test_two_devices_never_decrease_a_cursor(hf: AsyncHoldfast) -> None:
    """Defect 3: the slower device acknowledges fewer messages, and later."""
    chat = await hf.create_chat(["a", "b"], sender="a", body=1, chat_id="c")
    phone, desktop = hf.inbox("b"), hf.inbox("b")
    [early] = await phone.fetch()
    for n in range(2, 5):
        await chat.send(n, sender="a")
    [late] = await desktop.fetch()
    await desktop.ack(late)
    await phone.ack(early)
    assert await chat.members() == {"a": 4, "b": 4}
    assert await phone.fetch() == []
    await chat.send(5, sender="a")
    [batch] = await phone.fetch()
    assert (batch.gap, bodies(batch)) == (None, [5])


async def test_a_crash_between_fetch_and_ack_loses_nothing(hf: AsyncHoldfast) -> None:
    chat = await hf.create_chat(["a", "b"], sender="a", body=1, chat_id="c")
    [shown] = await hf.inbox("b").fetch()
    await chat.send(2, sender="a")
    [again] = await hf.inbox("b").fetch()
    assert bodies(shown) == [1]
    assert bodies(again) == [1, 2]


async def test_the_last_leave_deletes_the_chat(hf: AsyncHoldfast, site: Site) -> None:
    """Defect 11: only the ledger is left, which expires."""
    chat = await hf.create_chat(["a", "b"], sender="a", body=1, chat_id="c")
    assert await chat.leave("a")
    assert await chat.leave("b")
    assert not await chat.leave("b")
    with pytest.raises(NoSuchChat):
        await chat.members()
    with pytest.raises(NoSuchChat):
        await chat.send("x", sender="a")
    assert await hf.chats() == []
    left = sorted(site.client.scan_iter(f"{site.namespace}:*chat:c*"))
    assert all(b":ledger:" in name for name in left)
    assert all(site.client.ttl(name) > 0 for name in left)
    assert await hf.inbox("a").fetch() == []


async def test_a_recreated_chat_does_not_alias_the_old_one(hf: AsyncHoldfast) -> None:
    chat = await hf.create_chat(["a", "b"], sender="a", body="old 1", chat_id="c")
    for n in range(2, 6):
        await chat.send(f"old {n}", sender="a")
    inbox = hf.inbox("b")
    [old] = await inbox.fetch()
    await chat.leave("a")
    await chat.leave("b")
    await hf.create_chat(["a", "b"], sender="a", body="new 1", chat_id="c")
    with pytest.raises(StaleBatch):
        await inbox.ack(old)
    [new] = await inbox.fetch()
    assert bodies(new) == ["new 1"]
    assert new.gap == Gap(1, 5, "reset")
    await inbox.ack(new)
    assert await chat.members() == {"a": 1, "b": 1}


async def test_a_silent_member_cannot_fill_the_server(hf: AsyncHoldfast, site: Site) -> None:
    chat = await hf.create_chat(["a", "silent"], sender="a", body=1, chat_id="c", keep=50)
    for n in range(2, 1001):
        await chat.send(n, sender="a")
    assert site.client.xlen(key(site, "log")) <= 50 + 100
    [batch] = await hf.inbox("silent").fetch(limit=1000)
    assert batch.gap == Gap(1, 950, "dropped")
    assert bodies(batch) == list(range(951, 1001))
    assert await hf.inbox("silent").unread() == {"c": 50}
    await hf.inbox("silent").ack(batch)
    assert await hf.inbox("silent").fetch() == []
    assert [m.seq for m in await chat.history(limit=100)] == list(range(951, 1001))


async def test_history_can_be_read_backwards(hf: AsyncHoldfast) -> None:
    chat = await hf.create_chat(["a"], sender="a", body=1, chat_id="c")
    for n in range(2, 46):
        await chat.send(n, sender="a")
    pages: list[list[int]] = []
    before: int | None = None
    while page := await chat.history(before=before, limit=20):
        pages.append([message.seq for message in page])
        before = page[0].seq
    assert pages == [list(range(26, 46)), list(range(6, 26)), list(range(1, 6))]


async def test_the_limit_goes_to_the_oldest_unread_messages(hf: AsyncHoldfast) -> None:
    """The chat with the oldest unread message comes first, also if chats are on several nodes."""
    for name in ("x", "y", "z"):
        await hf.create_chat(["a", "b"], sender="a", body=f"{name}1", chat_id=name)
    inbox = hf.inbox("b")
    for batch in await inbox.fetch():
        await inbox.ack(batch)
    for name in ("z", "x", "y"):
        for n in (2, 3):
            await hf.chat(name).send(f"{name}{n}", sender="a")
        await sleep(0.01)  # the times in ids are milliseconds
    batches = await inbox.fetch(limit=3)
    assert [(b.source, bodies(b)) for b in batches] == [("z", ["z2", "z3"]), ("x", ["x2"])]
    for batch in batches:
        await inbox.ack(batch)
    batches = await inbox.fetch(limit=3)
    assert [(b.source, bodies(b)) for b in batches] == [("x", ["x3"]), ("y", ["y2", "y3"])]


async def test_an_inbox_of_many_chats_with_large_messages_ends(hf: AsyncHoldfast) -> None:
    picture = secrets.token_bytes(1 << 20)
    for n in range(12):
        await hf.create_chat(["a", "b"], sender="a", body=picture, chat_id=f"c{n}")
    inbox, order = hf.inbox("b"), list[str]()
    while batches := await inbox.fetch():
        assert sum(len(batch.messages) for batch in batches) <= 12
        for batch in batches:
            order.append(batch.source)
            await inbox.ack(batch)
    assert sorted(order) == sorted(f"c{n}" for n in range(12))
    assert order[0] == "c0"


async def test_a_poison_body_does_not_block_the_inbox(hf: AsyncHoldfast, site: Site) -> None:
    """Defect 9: one such body made all chats of the user unreadable."""
    chat = await hf.create_chat(["a", "b"], sender="a", body=1, chat_id="c")
    await hf.create_chat(["a", "b"], sender="a", body="fine", chat_id="d")
    site.client.xadd(key(site, "log"), {b"\xff": "jno"}, id="2-0")
    site.client.hset(key(site, "meta"), "top", 2)
    await chat.send(3, sender="a")
    inbox = hf.inbox("b")
    batches = await inbox.fetch()
    assert {b.source: [m.seq for m in b.messages] for b in batches} == {"c": [1, 2, 3], "d": [1]}
    for batch in batches:
        await inbox.ack(batch)
    assert await inbox.fetch() == []


async def test_a_lost_list_and_a_lost_chat_are_noticed(hf: AsyncHoldfast, site: Site) -> None:
    await hf.create_chat(["a", "b"], sender="a", body=1, chat_id="c")
    await hf.create_chat(["a", "b"], sender="a", body=1, chat_id="left")
    inbox = hf.inbox("b")
    assert len(await inbox.fetch()) == 2
    await hf.chat("left").leave("b")
    for name in list(site.client.scan_iter(f"{site.namespace}:*")):
        site.client.delete(name)
    [lost] = [batch for batch in await inbox.fetch() if batch.source == "c"]
    assert (lost.gap, lost.messages) == (Gap(1, 1, "reset"), ())
    await inbox.ack(lost)
    assert await inbox.fetch() == []
    await hf.create_chat(["a", "b"], sender="a", body=2, chat_id="c")
    [batch] = await inbox.fetch()
    assert (batch.gap, bodies(batch)) == (None, [2])


async def test_a_lost_chat_is_noticed(hf: AsyncHoldfast, site: Site) -> None:
    await hf.create_chat(["a", "b"], sender="a", body=1, chat_id="c")
    inbox = hf.inbox("b")
    await inbox.fetch()
    for part in ("meta", "log", "cursors"):
        site.client.delete(key(site, part))
    [lost] = await inbox.fetch()
    assert (lost.source, lost.gap) == ("c", Gap(1, 1, "reset"))
    assert await inbox.fetch() == []


async def test_the_list_of_chats_is_repaired_on_reading(hf: AsyncHoldfast, site: Site) -> None:
    inbox = hf.inbox("b")
    listed = f"{site.namespace}:{{inbox:b}}:chats"
    site.client.zadd(listed, {"": 1, "ghost": 1000})
    await hf._resources.messaging.membership.add(["b"], "coming")
    assert await inbox.fetch() == []
    assert [name for name in site.client.zrange(listed, 0, -1) if name] == [b"coming"]
    assert await inbox.chats() == []


async def test_a_chat_that_was_added_again_is_not_removed(hf: AsyncHoldfast) -> None:
    membership = hf._resources.messaging.membership
    await membership.add(["b"], "c")
    seen = await membership.score("b", "c")
    assert seen is not None
    await membership.add(["b"], "c")
    await membership.remove("b", {"c": seen}, age_ms=0)
    again = await membership.score("b", "c")
    assert again is not None
    assert float(again) > float(seen)
    await membership.remove("b", {"c": again}, age_ms=60_000)
    assert await membership.score("b", "c") == again
    await membership.remove("b", {"c": again}, age_ms=0)
    assert await membership.score("b", "c") is None


async def test_a_user_of_many_chats_reads_them_all(hf: AsyncHoldfast) -> None:
    for n in range(150):
        await hf.create_chat(["a", "b"], sender="a", body=n, chat_id=f"c{n}")
    inbox, found = hf.inbox("b"), list[Any]()
    assert await inbox.unread() == {f"c{n}": 1 for n in range(150)}
    while batches := await inbox.fetch(limit=40):
        assert sum(len(batch.messages) for batch in batches) <= 40
        for batch in batches:
            found += bodies(batch)
            await inbox.ack(batch)
    assert sorted(found) == list(range(150))


async def test_wrong_chats_are_named(hf: AsyncHoldfast, site: Site) -> None:
    create: Any = hf.create_chat
    for wrong in (0, -5, 100_001, "all"):
        with pytest.raises(ValueError, match="keep"):
            await create(["a"], sender="a", body=1, keep=wrong)
    with pytest.raises(TypeError):
        await create(["a"], sender="a", body=1, keep=1.5)
    with pytest.raises(TypeError):
        await create("abc", sender="a", body=1)
    with pytest.raises(ValueError, match="empty"):
        await create(["a"], sender="a", body="")
    with pytest.raises(ValueError, match="invalid name"):
        await create(["a", ""], sender="a", body=1)
    with pytest.raises(ValueError, match="invalid name"):
        await create(["a"], sender="a", body=1, chat_id="")
    with pytest.raises(ValueError, match="idle_ttl"):
        await create(["a"], sender="a", body=1, idle_ttl=0)
    with pytest.raises(TooManyMembers) as caught:
        await create([f"u{n}" for n in range(10_000)], sender="a", body=1)
    assert (caught.value.members, caught.value.limit) == (10_001, 10_000)
    chat, inbox = hf.chat("c"), hf.inbox("a")
    for start in ("then", 0, -1):
        with pytest.raises(ValueError, match="start"):
            await chat.join("a", start=start)
    for limit in (0, 1001):
        with pytest.raises(ValueError, match="limit"):
            await chat.history(limit=limit)
        with pytest.raises(ValueError, match="limit"):
            await inbox.fetch(limit=limit)
    with pytest.raises(TypeError):
        await inbox.ack(5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="timeout"):
        await inbox.fetch(timeout=float("nan"))
    assert list(site.client.scan_iter(f"{site.namespace}:*")) == []


async def test_every_key_expires_when_it_is_abandoned(hf: AsyncHoldfast, site: Site) -> None:
    chat = await hf.create_chat(["a", "b"], sender="a", body=1, keep="until_read")
    await chat.send(2, sender="b")
    await hf.mailbox("a").send(1, sender="b")
    [batch] = await hf.inbox("b").fetch()
    await hf.inbox("b").ack(batch)
    await hf.mailbox("a").ack(1)
    names = list(site.client.scan_iter(f"{site.namespace}:*"))
    assert len(names) >= 10
    [lasting] = [name for name in names if site.client.ttl(name) < 0]
    assert lasting.endswith(b":{layout:%}:version")
