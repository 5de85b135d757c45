"""Limits for chats and messages that other users put into an inbox or a mailbox."""

from typing import Any

import pytest

from conftest import Site
from holdfast import AsyncHoldfast, MailboxFull

OWN, LEAST = 1000, 100  # as in lua/parts/chat_list.lua


async def add_many(hf: AsyncHoldfast, site: Site, user: str, adder: str, count: int) -> None:
    """Store *count* chats to which *adder* has added *user*."""
    client: Any = site.client
    await hf.create_chat([user], sender=adder, body=1, chat_id=f"{adder}-begin")
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


async def test_chats_added_by_others_displace_no_own_chat(hf: AsyncHoldfast, site: Site) -> None:
    """Chats that the user created or joined, or in which it sent, acknowledged, or did nothing."""
    await hf.create_chat(["bob"], sender="jack", body=1, chat_id="created")
    written = await hf.create_chat(["jack"], sender="eve", body=1, chat_id="written")
    await written.send(2, sender="jack")
    await hf.create_chat(["jack"], sender="eve", body=1, chat_id="read")
    for batch in await hf.inbox("jack").fetch():
        if batch.source == "read":
            await hf.inbox("jack").ack(batch)
    await (await hf.create_chat(["bob"], sender="bob", body=1, chat_id="joined")).join("jack")
    await hf.create_chat(["jack"], sender="bob", body=1, chat_id="silent")
    await hf.create_chat(["bob"], sender="bob", body=1, chat_id="added")
    await hf.chat("added").join("jack", by="bob")
    await add_many(hf, site, "jack", "eve", OWN)
    for n in range(60):
        await hf.create_chat(["jack"], sender="eve", body=1, chat_id=f"junk-{n}")
    mine = {"created", "written", "read", "joined", "silent", "added"}
    there = listed(site, "jack")
    assert mine < there
    assert len(there) <= OWN + 1
    assert {f"junk-{n}" for n in range(60)} < there, "only the oldest ones are removed"
    for chat in mine:
        members = await hf.chat(chat).members()
        [other] = {"bob", "eve"} & set(members)
        await hf.chat(chat).send("news", sender=other)
    found = await hf.inbox("jack").fetch(limit=50)
    own = {"created", "written", "read", "joined"}
    assert {batch.source for batch in found[:4]} == own, "the user's own chats come first"
    assert mine < set(await hf.inbox("jack").unread())


async def test_many_adders_share_the_places(hf: AsyncHoldfast, site: Site) -> None:
    client: Any = site.client
    prefix = f"{site.namespace}:{{inbox:jack}}"
    await hf.create_chat(["jack"], sender="bob", body=1, chat_id="bob")
    await add_many(hf, site, "jack", "eve", 600)
    await add_many(hf, site, "jack", "mallory", 399)
    await hf.create_chat(["jack"], sender="ann", body=1, chat_id="ann")
    await hf.create_chat(["jack"], sender="mallory", body=1, chat_id="mallory")
    adders = [adder.decode() for adder in client.hvals(f"{prefix}:added")]
    counts = {adder: adders.count(adder) for adder in set(adders)}
    assert counts == {"=bob": 1, "=eve": 598, "=mallory": 400, "=ann": 1}
    assert {"eve-598", "eve-599"}.isdisjoint(listed(site, "jack")), "its oldest ones"


async def test_a_user_with_many_chats_still_gets_new_ones(hf: AsyncHoldfast, site: Site) -> None:
    client: Any = site.client
    await hf.create_chat(["bob"], sender="jack", body=1, chat_id="own")
    chats = f"{site.namespace}:{{inbox:jack}}:chats"
    note = client.zscore(chats, "own")
    client.zadd(chats, {f"own-{n}": note - n for n in range(1, OWN + 50)})
    await add_many(hf, site, "jack", "eve", LEAST)
    await hf.create_chat(["jack"], sender="bob", body=1, chat_id="new")
    [batch, *_] = [b for b in await hf.inbox("jack").fetch() if b.source == "new"]
    assert batch.upto == 1
    there = listed(site, "jack")
    assert len([chat for chat in there if chat.startswith("own")]) == OWN + 50
    assert len(there) == OWN + 50 + LEAST
    await hf.inbox("jack").ack(batch)
    assert len(listed(site, "jack")) == OWN + 50 + LEAST, "it is the user's own now"


async def test_a_second_adder_does_not_replace_the_first(hf: AsyncHoldfast, site: Site) -> None:
    client: Any = site.client
    chat = await hf.create_chat(["eve", "jack"], sender="bob", body=1, chat_id="c")
    assert not await chat.join("jack", by="eve")
    added = f"{site.namespace}:{{inbox:jack}}:added"
    assert client.hget(added, "c") == b"=bob"
    await chat.leave("jack")
    assert client.hget(added, "c") is None
    assert listed(site, "jack") == set()


async def test_inboxes_are_ordered_by_activity(hf: AsyncHoldfast) -> None:
    """The chat with the newest message comes first, and `size` returns how many there are."""
    for name in ("a", "b", "c"):
        await hf.create_chat(["jack"], sender="jill", body=1, chat_id=name)
    inbox = hf.inbox("jack")
    assert await inbox.chats() == ["c", "b", "a"]
    await hf.chat("a").send(2, sender="jill")
    assert await inbox.chats() == ["a", "c", "b"]
    assert await inbox.unread() == {"a": 2, "c": 1, "b": 1}
    assert await inbox.size() == 3
    assert await hf.inbox("nobody").size() == 0


async def test_one_sender_cannot_fill_a_mailbox(hf: AsyncHoldfast) -> None:
    """`per_sender` limits the unread messages of each sender."""
    box = hf.mailbox("jack", capacity=20)
    for n in range(10):
        await box.send(n, sender="eve", per_sender=50)
    with pytest.raises(MailboxFull, match="of one sender, and 'eve'") as caught:
        await box.send(11, sender="eve", per_sender=50)
    assert (caught.value.sender, caught.value.capacity) == ("eve", 10)
    await box.send(1, sender="jill", per_sender=50)
    await box.ack(4)
    for n in range(4):
        await box.send(n, sender="eve", per_sender=50)
    with pytest.raises(MailboxFull):
        await box.send(15, sender="eve", per_sender=50)
    await box.send(16, sender="eve")
    await box.ack(await box.fetch())
    for n in range(10):
        await box.send(n, sender="eve", per_sender=50)


@pytest.mark.parametrize("bound", [3, 40])
async def test_unread_messages_of_a_sender_never_exceed_the_limit(
    hf: AsyncHoldfast, bound: int
) -> None:
    box = hf.mailbox("jack", overflow="drop_oldest")
    sent = 0
    for _ in range(4):
        refused = 0
        while not refused:
            try:
                sent = await box.send(1, sender="eve", per_sender=bound)
            except MailboxFull:
                refused = 1
        unread = (await box.status()).unread
        assert bound - bound // 16 - 1 <= unread <= bound
        await box.ack(sent - unread // 2)
    await box.ack(sent)
    for _ in range(bound):
        await box.send(1, sender="eve", per_sender=bound)
    with pytest.raises(ValueError, match="per_sender"):
        await box.send(1, sender="eve", per_sender=0)


async def test_senders_who_have_nothing_unread_are_forgotten(hf: AsyncHoldfast, site: Site) -> None:
    box = hf.mailbox("jack")
    for n in range(150):
        await box.send(n, sender=f"s{n}", per_sender=5)
        await box.ack(n + 1)
    client: Any = site.client
    assert client.hlen(f"{site.namespace}:{{mailbox:jack}}:senders") < 30


async def test_a_send_that_is_repeated_counts_once(hf: AsyncHoldfast) -> None:
    box = hf.mailbox("jack")
    for _ in range(3):
        assert await box.send(1, sender="eve", per_sender=2, op_id="mine") == 1
    assert await box.send(2, sender="eve", per_sender=2) == 2
    assert await box.send(1, sender="eve", per_sender=2, op_id="mine") == 1
