# Generated from test_retention_async.py by tools/unasync.py: edit that, then run `make sync`.
"""How long a chat keeps its messages, and which members make it keep them."""

from datetime import timedelta

import pytest

from conftest import Site
from holdfast import Gap, Holdfast, Position


def key(site: Site, part: str) -> str:
    """Return the name of a key of the chat."""
    return f"{site.namespace}:{{chat:c}}:{part}"


def make_inactive(site: Site, seconds: int) -> None:
    since = int(site.client.hget(key(site, "meta"), "since"))  # type: ignore[arg-type]
    site.client.hset(key(site, "meta"), "since", since - seconds * 1000)
    site.client.hset(key(site, "meta"), "counted", 0)
    for reader, last_seen in site.client.hgetall(key(site, "active")).items():  # type: ignore[union-attr]
        site.client.hset(key(site, "active"), reader, int(last_seen) - seconds)


def read_all(hf: Holdfast, user: str) -> list[int]:
    """Fetch and acknowledge messages, and return their numbers."""
    found: list[int] = []
    for batch in hf.inbox(user).fetch(limit=1000):
        found += [message.seq for message in batch.messages]
        hf.inbox(user).ack(batch)
    return found


def test_messages_stay_until_the_last_one_has_read_them(hf: Holdfast, site: Site) -> None:
    members = ["a", "b", "c"]
    chat = hf.create_chat(members, sender="a", body=1, chat_id="c", keep="until_read")
    for n in range(2, 301):
        chat.send(n, sender="a")
    assert len(read_all(hf, "b")) == 300
    assert len(chat.history(limit=1000)) == 300
    assert len(read_all(hf, "c")) == 300
    assert chat.history() == []
    assert site.client.xlen(key(site, "log")) <= 100
    chat.send("more", sender="b")
    assert hf.inbox("c").unread() == {"c": 1}
    assert read_all(hf, "a") == [301]
    assert read_all(hf, "c") == [301]
    assert chat.history() == []


def test_an_inactive_member_holds_nothing_back_and_gets_a_gap(hf: Holdfast, site: Site) -> None:
    members = ["a", "b", "silent"]
    chat = hf.create_chat(
        members, sender="a", body=1, chat_id="c", keep="until_read", idle_ttl=3600
    )
    chat.send(2, sender="a")
    assert read_all(hf, "b") == [1, 2]
    assert len(chat.history()) == 2, "not idle yet"
    make_inactive(site, 4000)
    chat.send(3, sender="a")
    assert len(chat.history()) == 3, "`send` drops nothing while there are few"
    assert read_all(hf, "b") == [3]
    assert chat.history() == []
    [batch] = hf.inbox("silent").fetch()
    assert (batch.gap, batch.messages, batch.upto) == (Gap(1, 3, "dropped"), (), 3)
    hf.inbox("silent").ack(batch)
    chat.send(4, sender="a")
    assert read_all(hf, "b") == [4]
    assert len(chat.history()) == 1, "the member is active again, so it holds messages back"
    assert read_all(hf, "silent") == [4]


def test_a_gap_is_reported_beside_other_chats(hf: Holdfast, site: Site) -> None:
    """All unread messages were dropped in a chat that a call reads together with others."""
    for chat_id in "cde":
        hf.create_chat(
            ["silent"], sender="a", body=1, chat_id=chat_id, keep="until_read", idle_ttl=3600
        )
    inbox = hf.inbox("silent")
    for _ in range(2):  # The second fetch knows the states of d and e.
        batches = inbox.fetch()
        inbox.ack_all([batch for batch in batches if batch.source != "c"])
    make_inactive(site, 4000)
    hf.chat("c").send(2, sender="a")
    for _ in range(2):
        hf.chat("c").join("reader", start="floor")
        for batch in hf.inbox("reader").fetch():
            hf.inbox("reader").ack(batch)
        hf.chat("c").leave("reader")
    assert hf.chat("c").history() == []
    for reader in (inbox, hf.inbox("silent")):
        [batch] = reader.fetch()
        assert (batch.source, batch.gap) == ("c", Gap(1, 2, "dropped"))
    after = {chat: Position(0, 0) for chat in "cde"}
    gaps = {batch.source: batch.gap for batch in inbox.fetch(after=after)}
    assert gaps["c"] == Gap(1, 2, "dropped")


def test_the_status_shows_members_that_hold_messages_back(hf: Holdfast, site: Site) -> None:
    members = ["a", "b", "silent"]
    chat = hf.create_chat(
        members, sender="a", body=1, chat_id="c", keep="until_read", idle_ttl=3600
    )
    chat.send(2, sender="a")
    make_inactive(site, 4000)
    chat.join("late", start="floor")
    chat.send(3, sender="a")
    status = chat.status()
    assert (status.members, status.first_seq, status.last_seq) == (4, 1, 3)
    assert (status.keep, status.idle_ttl) == ("until_read", 3600.0)
    assert status.stored_bytes > 0
    readers = {r.user: (r.read_seq, r.unread, r.holds_back) for r in status.behind}
    assert readers == {
        "b": (0, 3, False),
        "silent": (0, 3, False),
        "late": (0, 3, True),
        "a": (3, 0, False),
    }
    assert [r.user for r in status.behind][-1] == "a"
    lets_go_at = {r.user: r.lets_go_at for r in status.behind if r.lets_go_at}
    late = next(r for r in status.behind if r.user == "late")
    assert late.last_seen_at is not None
    assert lets_go_at == {"late": late.last_seen_at + timedelta(seconds=3601)}
    assert len((chat.status(limit=2)).behind) == 2
    chat.redefine(keep=10)
    assert not any(r.holds_back for r in (chat.status()).behind)


def test_a_former_member_holds_nothing_back(hf: Holdfast) -> None:
    members = ["a", "b", "c"]
    chat = hf.create_chat(members, sender="a", body=1, chat_id="c", keep="until_read")
    chat.send(2, sender="a")
    assert read_all(hf, "b") == [1, 2]
    assert len(chat.history()) == 2
    chat.leave("c")
    assert chat.history() == []
    assert read_all(hf, "b") == []


def test_inactive_members_cannot_fill_the_server_without_readers(hf: Holdfast, site: Site) -> None:
    chat = hf.create_chat(
        ["a", "silent"], sender="a", body=1, chat_id="c", keep="until_read", idle_ttl=3600
    )
    site.client.hset(key(site, "meta"), "top", 5000)
    site.client.zadd(key(site, "cursors"), {"a": 5000})
    chat.send("x", sender="a")
    assert int(site.client.hget(key(site, "meta"), "floor")) == 1  # type: ignore[arg-type]
    make_inactive(site, 4000)
    chat.send("y", sender="a")
    assert int(site.client.hget(key(site, "meta"), "floor")) == 5003  # type: ignore[arg-type]


def test_no_chat_keeps_more_than_100_000_messages(hf: Holdfast, site: Site) -> None:
    chat = hf.create_chat(["a", "b"], sender="a", body=1, chat_id="c", keep="until_read")
    site.client.hset(key(site, "meta"), "top", 150_000)
    chat.send("x", sender="a")
    assert int(site.client.hget(key(site, "meta"), "floor")) == 50_002  # type: ignore[arg-type]
    [batch] = hf.inbox("b").fetch()
    assert batch.gap == Gap(1, 150_000, "dropped")
    assert [message.seq for message in batch.messages] == [150_001]


def test_other_settings_stay_after_redefine(hf: Holdfast) -> None:
    chat = hf.create_chat(["a"], sender="a", body=1, keep="until_read", idle_ttl=3600)
    chat.redefine(keep=5)
    chat.redefine(keep="until_read")
    assert (chat.status()).idle_ttl == 3600.0
    chat.redefine(idle_ttl=60)
    status = chat.status()
    assert (status.keep, status.idle_ttl) == ("until_read", 60.0)
    with pytest.raises(ValueError, match="keep, idle_ttl or history"):
        chat.redefine()


def test_keep_can_be_redefined(hf: Holdfast, site: Site) -> None:
    chat = hf.create_chat(["a", "b"], sender="a", body=1, chat_id="c", keep=5)
    for n in range(2, 9):
        chat.send(n, sender="a")
    chat.redefine(keep="until_read")
    for n in range(9, 20):
        chat.send(n, sender="a")
    assert [message.seq for message in chat.history()] == list(range(4, 20))
    assert read_all(hf, "b") == list(range(4, 20))
    assert chat.history() == []
    chat.redefine(keep=3)
    for n in range(20, 30):
        chat.send(n, sender="b")
    assert [message.seq for message in chat.history()] == [27, 28, 29]
