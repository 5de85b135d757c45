# Generated from test_chat_limits_async.py by tools/unasync.py: edit that, then run `make sync`.
"""Limits for chats and messages that other users put into an inbox or a mailbox."""

from typing import Any

import pytest

from conftest import Site
from holdfast import Holdfast, MailboxFull

OWN, LEAST = 1000, 100  # as in lua/parts/chat_list.lua


def add_many(hf: Holdfast, site: Site, user: str, adder: str, count: int) -> None:
    """Store *count* chats to which *adder* has added *user*."""
    client: Any = site.client
    hf.create_chat([user], sender=adder, body=1, chat_id=f"{adder}-begin")
    prefix = f"{site.namespace}:{{inbox:{user}}}"
    note = client.zscore(f"{prefix}:chats", f"{adder}-begin")
    names = {f"{adder}-{n}": note - n for n in range(1, count)}
    client.zadd(f"{prefix}:chats", names)
    client.hset(f"{prefix}:added", mapping=dict.fromkeys(names, f"={adder}"))


def listed(site: Site, user: str) -> set[str]:
    """Return the chats in the list of a user."""
    client: Any = site.client
    found = client.zrange(f"{site.namespace}:{{inbox:{user}}}:chats", 0, -1)
    return {chat.decode() for chat in found if chat}


def test_chats_added_by_others_displace_no_own_chat(hf: Holdfast, site: Site) -> None:
    """Chats that the user created or joined, or in which it sent, acknowledged, or did nothing."""
    hf.create_chat(["bob"], sender="jack", body=1, chat_id="created")
    written = hf.create_chat(["jack"], sender="eve", body=1, chat_id="written")
    written.send(2, sender="jack")
    hf.create_chat(["jack"], sender="eve", body=1, chat_id="read")
    for batch in hf.inbox("jack").fetch():
        if batch.source == "read":
            hf.inbox("jack").ack(batch)
    (hf.create_chat(["bob"], sender="bob", body=1, chat_id="joined")).join("jack")
    hf.create_chat(["jack"], sender="bob", body=1, chat_id="silent")
    hf.create_chat(["bob"], sender="bob", body=1, chat_id="added")
    hf.chat("added").join("jack", by="bob")
    add_many(hf, site, "jack", "eve", OWN)
    for n in range(60):
        hf.create_chat(["jack"], sender="eve", body=1, chat_id=f"junk-{n}")
    mine = {"created", "written", "read", "joined", "silent", "added"}
    there = listed(site, "jack")
    assert mine < there
    assert len(there) <= OWN + 1
    assert {f"junk-{n}" for n in range(60)} < there, "only the oldest ones are removed"
    for chat in mine:
        members = hf.chat(chat).members()
        [other] = {"bob", "eve"} & set(members)
        hf.chat(chat).send("news", sender=other)
    found = hf.inbox("jack").fetch(limit=50)
    own = {"created", "written", "read", "joined"}
    assert {batch.source for batch in found[:4]} == own, "the user's own chats come first"
    assert mine < set(hf.inbox("jack").unread())


def test_many_adders_share_the_places(hf: Holdfast, site: Site) -> None:
    client: Any = site.client
    prefix = f"{site.namespace}:{{inbox:jack}}"
    hf.create_chat(["jack"], sender="bob", body=1, chat_id="bob")
    add_many(hf, site, "jack", "eve", 600)
    add_many(hf, site, "jack", "mallory", 399)
    hf.create_chat(["jack"], sender="ann", body=1, chat_id="ann")
    hf.create_chat(["jack"], sender="mallory", body=1, chat_id="mallory")
    adders = [adder.decode() for adder in client.hvals(f"{prefix}:added")]
    counts = {adder: adders.count(adder) for adder in set(adders)}
    assert counts == {"=bob": 1, "=eve": 598, "=mallory": 400, "=ann": 1}
    assert {"eve-598", "eve-599"}.isdisjoint(listed(site, "jack")), "its oldest ones"


def test_a_user_with_many_chats_still_gets_new_ones(hf: Holdfast, site: Site) -> None:
    client: Any = site.client
    hf.create_chat(["bob"], sender="jack", body=1, chat_id="own")
    chats = f"{site.namespace}:{{inbox:jack}}:chats"
    note = client.zscore(chats, "own")
    client.zadd(chats, {f"own-{n}": note - n for n in range(1, OWN + 50)})
    add_many(hf, site, "jack", "eve", LEAST)
    hf.create_chat(["jack"], sender="bob", body=1, chat_id="new")
    [batch, *_] = [b for b in hf.inbox("jack").fetch() if b.source == "new"]
    assert batch.upto == 1
    there = listed(site, "jack")
    assert len([chat for chat in there if chat.startswith("own")]) == OWN + 50
    assert len(there) == OWN + 50 + LEAST
    hf.inbox("jack").ack(batch)
    assert len(listed(site, "jack")) == OWN + 50 + LEAST, "it is the user's own now"


def test_a_second_adder_does_not_replace_the_first(hf: Holdfast, site: Site) -> None:
    client: Any = site.client
    chat = hf.create_chat(["eve", "jack"], sender="bob", body=1, chat_id="c")
    assert not chat.join("jack", by="eve")
    added = f"{site.namespace}:{{inbox:jack}}:added"
    assert client.hget(added, "c") == b"=bob"
    chat.leave("jack")
    assert client.hget(added, "c") is None
    assert listed(site, "jack") == set()


def test_inboxes_are_ordered_by_activity(hf: Holdfast) -> None:
    """The chat with the newest message comes first, and `size` returns how many there are."""
    for name in ("a", "b", "c"):
        hf.create_chat(["jack"], sender="jill", body=1, chat_id=name)
    inbox = hf.inbox("jack")
    assert inbox.chats() == ["c", "b", "a"]
    hf.chat("a").send(2, sender="jill")
    assert inbox.chats() == ["a", "c", "b"]
    assert inbox.unread() == {"a": 2, "c": 1, "b": 1}
    assert inbox.size() == 3
    assert hf.inbox("nobody").size() == 0


def test_one_sender_cannot_fill_a_mailbox(hf: Holdfast) -> None:
    """`per_sender` limits the unread messages of each sender."""
    box = hf.mailbox("jack", capacity=20)
    for n in range(10):
        box.send(n, sender="eve", per_sender=50)
    with pytest.raises(MailboxFull, match="of one sender, and 'eve'") as caught:
        box.send(11, sender="eve", per_sender=50)
    assert (caught.value.sender, caught.value.capacity) == ("eve", 10)
    box.send(1, sender="jill", per_sender=50)
    box.ack(4)
    for n in range(4):
        box.send(n, sender="eve", per_sender=50)
    with pytest.raises(MailboxFull):
        box.send(15, sender="eve", per_sender=50)
    box.send(16, sender="eve")
    box.ack(box.fetch())
    for n in range(10):
        box.send(n, sender="eve", per_sender=50)


@pytest.mark.parametrize("bound", [3, 40])
def test_unread_messages_of_a_sender_never_exceed_the_limit(hf: Holdfast, bound: int) -> None:
    box = hf.mailbox("jack", overflow="drop_oldest")
    sent = 0
    for _ in range(4):
        refused = 0
        while not refused:
            try:
                sent = box.send(1, sender="eve", per_sender=bound)
            except MailboxFull:
                refused = 1
        unread = (box.status()).unread
        assert bound - bound // 16 - 1 <= unread <= bound
        box.ack(sent - unread // 2)
    box.ack(sent)
    for _ in range(bound):
        box.send(1, sender="eve", per_sender=bound)
    with pytest.raises(ValueError, match="per_sender"):
        box.send(1, sender="eve", per_sender=0)


def test_senders_who_have_nothing_unread_are_forgotten(hf: Holdfast, site: Site) -> None:
    box = hf.mailbox("jack")
    for n in range(150):
        box.send(n, sender=f"s{n}", per_sender=5)
        box.ack(n + 1)
    client: Any = site.client
    assert client.hlen(f"{site.namespace}:{{mailbox:jack}}:senders") < 30


def test_a_send_that_is_repeated_counts_once(hf: Holdfast) -> None:
    box = hf.mailbox("jack")
    for _ in range(3):
        assert box.send(1, sender="eve", per_sender=2, op_id="mine") == 1
    assert box.send(2, sender="eve", per_sender=2) == 2
    assert box.send(1, sender="eve", per_sender=2, op_id="mine") == 1
