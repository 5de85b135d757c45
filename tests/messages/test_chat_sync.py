# Generated from test_chat_async.py by tools/unasync.py: edit that, then run `make sync`.
"""Chats and inboxes, as their members see them."""

import secrets
from collections.abc import Callable
from typing import Any

import pytest

from conftest import Site
from holdfast import (
    Batch,
    ChatExists,
    Gap,
    Holdfast,
    Message,
    NoSuchChat,
    NoSuchMessage,
    NotAMember,
    StaleBatch,
    TooManyMembers,
)
from holdfast.core.concurrency._sync.primitives import sleep


def bodies(batch: Batch) -> list[Any]:
    return [message.body for message in batch.messages if isinstance(message, Message)]


def key(site: Site, part: str, chat: str = "c") -> str:
    """Return the name of a key."""
    return f"{site.namespace}:{{chat:{chat}}}:{part}"


def test_a_chat_begins_with_a_message_for_all(hf: Holdfast) -> None:
    chat = hf.create_chat(["jason22", "jeff24"], sender="jason22", body="hello")
    assert chat.members() == {"jason22": 1, "jeff24": 0}
    assert not hf.inbox("jason22").fetch()
    [batch] = hf.inbox("jeff24").fetch()
    assert (batch.source, batch.gap, bodies(batch)) == (chat.chat_id, None, ["hello"])
    assert hf.chats() == [chat.chat_id]
    assert hf.inbox("jason22").chats() == [chat.chat_id]


def test_messages_reach_everyone_until_they_acknowledge(hf: Holdfast) -> None:
    """Unread counts and receipts come from the cursors."""
    chat = hf.create_chat(["a", "b", "c"], sender="a", body=1, chat_id="827")
    assert hf.chat("827").send(2, sender="b") == 2
    assert chat.send(3, sender="a") == 3
    inbox = hf.inbox("c")
    assert inbox.unread() == {"827": 3}
    [batch] = inbox.fetch()
    assert bodies(batch) == [1, 2, 3]
    assert inbox.fetch() == [batch]
    inbox.ack(batch)
    assert inbox.fetch() == []
    assert inbox.unread() == {"827": 0}
    assert chat.members() == {"a": 1, "b": 0, "c": 3}
    assert chat.read_by(1) == ["a", "c"]
    assert chat.read_by(3) == ["c"]
    assert chat.read_by(4) == []


def test_a_second_chat_of_the_same_id_changes_nothing(hf: Holdfast) -> None:
    """Defect 6: a second creation reset all cursors. The list of the caller also stays as it is."""
    members = ["a", "b", "a"]
    chat = hf.create_chat(members, sender="z", body="one", chat_id="c")
    assert members == ["a", "b", "a"]
    [batch] = hf.inbox("a").fetch()
    hf.inbox("a").ack(batch)
    with pytest.raises(ChatExists):
        hf.create_chat(["q"], sender="q", body="two", chat_id="c")
    assert chat.members() == {"a": 1, "b": 0, "z": 1}
    assert hf.inbox("q").chats() == []
    assert hf.inbox("q").fetch() == []


def test_a_new_member_begins_at_start(hf: Holdfast) -> None:
    chat = hf.create_chat(["a"], sender="a", body=1, chat_id="c")
    for n in range(2, 6):
        chat.send(n, sender="a")
    assert chat.join("now")
    assert chat.join("all", start="floor")
    assert chat.join("some", start=4)
    assert chat.join("next", start=6)
    with pytest.raises(NoSuchMessage):
        chat.join("late", start=7)
    assert chat.members() == {"a": 5, "now": 5, "all": 0, "some": 3, "next": 5}
    chat.send(6, sender="a")
    expected = {"now": [6], "all": [1, 2, 3, 4, 5, 6], "some": [4, 5, 6], "next": [6]}
    for user, wanted in expected.items():
        [batch] = hf.inbox(user).fetch()
        assert bodies(batch) == wanted


def test_a_second_join_changes_no_cursor(hf: Holdfast) -> None:
    chat = hf.create_chat(["a", "b"], sender="a", body=1, chat_id="c")
    assert not chat.join("b")
    assert not chat.join("b", start="floor")
    [batch] = hf.inbox("b").fetch()
    hf.inbox("b").ack(batch)
    assert not chat.join("b", start=1)
    assert hf.inbox("b").fetch() == []


def test_a_missing_chat_is_named(hf: Holdfast, site: Site) -> None:
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
            call()
        assert caught.value.chat_id == "nowhere"
    assert not chat.leave("a")
    with pytest.raises(NoSuchChat):
        hf.inbox("a").ack(Batch("nowhere", (), None, 0, 1))
    assert hf.inbox("a").chats() == []
    assert hf.inbox("a").fetch() == []
    assert hf.chats() == []
    left = {
        name.rpartition(b":")[0] for name in site.client.scan_iter(f"{site.namespace}*nowhere*")
    }
    assert left <= {f"{site.namespace}:{{chat:nowhere}}:ledger".encode()}


def test_only_a_member_may_send(hf: Holdfast) -> None:
    chat = hf.create_chat(["a"], sender="a", body=1, chat_id="c")
    with pytest.raises(NotAMember) as caught:
        chat.send("spam", sender="mallory")
    assert (caught.value.user, caught.value.chat_id) == ("mallory", "c")
    assert len(chat.history()) == 1
    with pytest.raises(NotAMember):
        hf.inbox("mallory").ack(Batch("c", (), None, 0, 1))
    assert chat.members() == {"a": 1}


def test_leaving_during_a_fetch_leaves_no_cursor(hf: Holdfast) -> None:
    chat = hf.create_chat(["a", "b"], sender="a", body=1, chat_id="c")
    inbox = hf.inbox("b")
    [batch] = inbox.fetch()
    assert chat.leave("b")
    with pytest.raises(NotAMember):
        inbox.ack(batch)
    assert chat.members() == {"a": 1}
    assert inbox.fetch() == []
    assert inbox.chats() == []
    assert not chat.leave("b")
    chat.send(2, sender="a")
    assert inbox.unread() == {}


def test_two_devices_never_decrease_a_cursor(hf: Holdfast) -> None:
    """Defect 3: the slower device acknowledges fewer messages, and later."""
    chat = hf.create_chat(["a", "b"], sender="a", body=1, chat_id="c")
    phone, desktop = hf.inbox("b"), hf.inbox("b")
    [early] = phone.fetch()
    for n in range(2, 5):
        chat.send(n, sender="a")
    [late] = desktop.fetch()
    desktop.ack(late)
    phone.ack(early)
    assert chat.members() == {"a": 4, "b": 4}
    assert phone.fetch() == []
    chat.send(5, sender="a")
    [batch] = phone.fetch()
    assert (batch.gap, bodies(batch)) == (None, [5])


def test_a_crash_between_fetch_and_ack_loses_nothing(hf: Holdfast) -> None:
    chat = hf.create_chat(["a", "b"], sender="a", body=1, chat_id="c")
    [shown] = hf.inbox("b").fetch()
    chat.send(2, sender="a")
    [again] = hf.inbox("b").fetch()
    assert bodies(shown) == [1]
    assert bodies(again) == [1, 2]


def test_the_last_leave_deletes_the_chat(hf: Holdfast, site: Site) -> None:
    """Defect 11: only the ledger is left, which expires."""
    chat = hf.create_chat(["a", "b"], sender="a", body=1, chat_id="c")
    assert chat.leave("a")
    assert chat.leave("b")
    assert not chat.leave("b")
    with pytest.raises(NoSuchChat):
        chat.members()
    with pytest.raises(NoSuchChat):
        chat.send("x", sender="a")
    assert hf.chats() == []
    left = sorted(site.client.scan_iter(f"{site.namespace}:*chat:c*"))
    assert all(b":ledger:" in name for name in left)
    assert all(site.client.ttl(name) > 0 for name in left)
    assert hf.inbox("a").fetch() == []


def test_a_recreated_chat_does_not_alias_the_old_one(hf: Holdfast) -> None:
    chat = hf.create_chat(["a", "b"], sender="a", body="old 1", chat_id="c")
    for n in range(2, 6):
        chat.send(f"old {n}", sender="a")
    inbox = hf.inbox("b")
    [old] = inbox.fetch()
    chat.leave("a")
    chat.leave("b")
    hf.create_chat(["a", "b"], sender="a", body="new 1", chat_id="c")
    with pytest.raises(StaleBatch):
        inbox.ack(old)
    [new] = inbox.fetch()
    assert bodies(new) == ["new 1"]
    assert new.gap == Gap(1, 5, "reset")
    inbox.ack(new)
    assert chat.members() == {"a": 1, "b": 1}


def test_a_silent_member_cannot_fill_the_server(hf: Holdfast, site: Site) -> None:
    chat = hf.create_chat(["a", "silent"], sender="a", body=1, chat_id="c", keep=50)
    for n in range(2, 1001):
        chat.send(n, sender="a")
    assert site.client.xlen(key(site, "log")) <= 50 + 100
    [batch] = hf.inbox("silent").fetch(limit=1000)
    assert batch.gap == Gap(1, 950, "dropped")
    assert bodies(batch) == list(range(951, 1001))
    assert hf.inbox("silent").unread() == {"c": 50}
    hf.inbox("silent").ack(batch)
    assert hf.inbox("silent").fetch() == []
    assert [m.seq for m in chat.history(limit=100)] == list(range(951, 1001))


def test_history_can_be_read_backwards(hf: Holdfast) -> None:
    chat = hf.create_chat(["a"], sender="a", body=1, chat_id="c")
    for n in range(2, 46):
        chat.send(n, sender="a")
    pages: list[list[int]] = []
    before: int | None = None
    while page := chat.history(before=before, limit=20):
        pages.append([message.seq for message in page])
        before = page[0].seq
    assert pages == [list(range(26, 46)), list(range(6, 26)), list(range(1, 6))]


def test_the_limit_goes_to_the_oldest_unread_messages(hf: Holdfast) -> None:
    """The chat with the oldest unread message comes first, also if chats are on several nodes."""
    for name in ("x", "y", "z"):
        hf.create_chat(["a", "b"], sender="a", body=f"{name}1", chat_id=name)
    inbox = hf.inbox("b")
    for batch in inbox.fetch():
        inbox.ack(batch)
    for name in ("z", "x", "y"):
        for n in (2, 3):
            hf.chat(name).send(f"{name}{n}", sender="a")
        sleep(0.01)  # the times in ids are milliseconds
    batches = inbox.fetch(limit=3)
    assert [(b.source, bodies(b)) for b in batches] == [("z", ["z2", "z3"]), ("x", ["x2"])]
    for batch in batches:
        inbox.ack(batch)
    batches = inbox.fetch(limit=3)
    assert [(b.source, bodies(b)) for b in batches] == [("x", ["x3"]), ("y", ["y2", "y3"])]


def test_an_inbox_of_many_chats_with_large_messages_ends(hf: Holdfast) -> None:
    picture = secrets.token_bytes(1 << 20)
    for n in range(12):
        hf.create_chat(["a", "b"], sender="a", body=picture, chat_id=f"c{n}")
    inbox, order = hf.inbox("b"), list[str]()
    while batches := inbox.fetch():
        assert sum(len(batch.messages) for batch in batches) <= 12
        for batch in batches:
            order.append(batch.source)
            inbox.ack(batch)
    assert sorted(order) == sorted(f"c{n}" for n in range(12))
    assert order[0] == "c0"


def test_a_poison_body_does_not_block_the_inbox(hf: Holdfast, site: Site) -> None:
    """Defect 9: one such body made all chats of the user unreadable."""
    chat = hf.create_chat(["a", "b"], sender="a", body=1, chat_id="c")
    hf.create_chat(["a", "b"], sender="a", body="fine", chat_id="d")
    site.client.xadd(key(site, "log"), {b"\xff": "jno"}, id="2-0")
    site.client.hset(key(site, "meta"), "top", 2)
    chat.send(3, sender="a")
    inbox = hf.inbox("b")
    batches = inbox.fetch()
    assert {b.source: [m.seq for m in b.messages] for b in batches} == {"c": [1, 2, 3], "d": [1]}
    for batch in batches:
        inbox.ack(batch)
    assert inbox.fetch() == []


def test_a_lost_list_and_a_lost_chat_are_noticed(hf: Holdfast, site: Site) -> None:
    hf.create_chat(["a", "b"], sender="a", body=1, chat_id="c")
    hf.create_chat(["a", "b"], sender="a", body=1, chat_id="left")
    inbox = hf.inbox("b")
    assert len(inbox.fetch()) == 2
    hf.chat("left").leave("b")
    for name in list(site.client.scan_iter(f"{site.namespace}:*")):
        site.client.delete(name)
    [lost] = [batch for batch in inbox.fetch() if batch.source == "c"]
    assert (lost.gap, lost.messages) == (Gap(1, 1, "reset"), ())
    inbox.ack(lost)
    assert inbox.fetch() == []
    hf.create_chat(["a", "b"], sender="a", body=2, chat_id="c")
    [batch] = inbox.fetch()
    assert (batch.gap, bodies(batch)) == (None, [2])


def test_a_lost_chat_is_noticed(hf: Holdfast, site: Site) -> None:
    hf.create_chat(["a", "b"], sender="a", body=1, chat_id="c")
    inbox = hf.inbox("b")
    inbox.fetch()
    for part in ("meta", "log", "cursors"):
        site.client.delete(key(site, part))
    [lost] = inbox.fetch()
    assert (lost.source, lost.gap) == ("c", Gap(1, 1, "reset"))
    assert inbox.fetch() == []


def test_the_list_of_chats_is_repaired_on_reading(hf: Holdfast, site: Site) -> None:
    inbox = hf.inbox("b")
    listed = f"{site.namespace}:{{inbox:b}}:chats"
    site.client.zadd(listed, {"": 1, "ghost": 1000})
    hf._resources.messaging.membership.add(["b"], "coming")
    assert inbox.fetch() == []
    assert [name for name in site.client.zrange(listed, 0, -1) if name] == [b"coming"]
    assert inbox.chats() == []


def test_a_chat_that_was_added_again_is_not_removed(hf: Holdfast) -> None:
    membership = hf._resources.messaging.membership
    membership.add(["b"], "c")
    seen = membership.score("b", "c")
    assert seen is not None
    membership.add(["b"], "c")
    membership.remove("b", {"c": seen}, age_ms=0)
    again = membership.score("b", "c")
    assert again is not None
    assert float(again) > float(seen)
    membership.remove("b", {"c": again}, age_ms=60_000)
    assert membership.score("b", "c") == again
    membership.remove("b", {"c": again}, age_ms=0)
    assert membership.score("b", "c") is None


def test_a_user_of_many_chats_reads_them_all(hf: Holdfast) -> None:
    for n in range(150):
        hf.create_chat(["a", "b"], sender="a", body=n, chat_id=f"c{n}")
    inbox, found = hf.inbox("b"), list[Any]()
    assert inbox.unread() == {f"c{n}": 1 for n in range(150)}
    while batches := inbox.fetch(limit=40):
        assert sum(len(batch.messages) for batch in batches) <= 40
        for batch in batches:
            found += bodies(batch)
            inbox.ack(batch)
    assert sorted(found) == list(range(150))


def test_wrong_chats_are_named(hf: Holdfast, site: Site) -> None:
    create: Any = hf.create_chat
    for wrong in (0, -5, 100_001, "all"):
        with pytest.raises(ValueError, match="keep"):
            create(["a"], sender="a", body=1, keep=wrong)
    with pytest.raises(TypeError):
        create(["a"], sender="a", body=1, keep=1.5)
    with pytest.raises(TypeError):
        create("abc", sender="a", body=1)
    with pytest.raises(ValueError, match="empty"):
        create(["a"], sender="a", body="")
    with pytest.raises(ValueError, match="invalid name"):
        create(["a", ""], sender="a", body=1)
    with pytest.raises(ValueError, match="invalid name"):
        create(["a"], sender="a", body=1, chat_id="")
    with pytest.raises(ValueError, match="idle_ttl"):
        create(["a"], sender="a", body=1, idle_ttl=0)
    with pytest.raises(TooManyMembers) as caught:
        create([f"u{n}" for n in range(10_000)], sender="a", body=1)
    assert (caught.value.members, caught.value.limit) == (10_001, 10_000)
    chat, inbox = hf.chat("c"), hf.inbox("a")
    for start in ("then", 0, -1):
        with pytest.raises(ValueError, match="start"):
            chat.join("a", start=start)
    for limit in (0, 1001):
        with pytest.raises(ValueError, match="limit"):
            chat.history(limit=limit)
        with pytest.raises(ValueError, match="limit"):
            inbox.fetch(limit=limit)
    with pytest.raises(TypeError):
        inbox.ack(5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="timeout"):
        inbox.fetch(timeout=float("nan"))
    assert list(site.client.scan_iter(f"{site.namespace}:*")) == []


def test_every_key_expires_when_it_is_abandoned(hf: Holdfast, site: Site) -> None:
    chat = hf.create_chat(["a", "b"], sender="a", body=1, keep="until_read")
    chat.send(2, sender="b")
    hf.mailbox("a").send(1, sender="b")
    [batch] = hf.inbox("b").fetch()
    hf.inbox("b").ack(batch)
    hf.mailbox("a").ack(1)
    names = list(site.client.scan_iter(f"{site.namespace}:*"))
    assert len(names) >= 10
    [lasting] = [name for name in names if site.client.ttl(name) < 0]
    assert lasting.endswith(b":{layout:%}:version")
