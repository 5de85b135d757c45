"""How long a chat keeps its messages, and which members make it keep them."""

from datetime import timedelta

import pytest

from conftest import Site
from holdfast import AsyncHoldfast, Gap, Position


def key(site: Site, part: str) -> str:
    """Return the name of a key of the chat."""
    return f"{site.namespace}:{{chat:c}}:{part}"


def make_inactive(site: Site, seconds: int) -> None:
    since = int(site.client.hget(key(site, "meta"), "since"))  # type: ignore[arg-type]
    site.client.hset(key(site, "meta"), "since", since - seconds * 1000)
    site.client.hset(key(site, "meta"), "counted", 0)
    for reader, last_seen in site.client.hgetall(key(site, "active")).items():  # type: ignore[union-attr]
        site.client.hset(key(site, "active"), reader, int(last_seen) - seconds)


async def read_all(hf: AsyncHoldfast, user: str) -> list[int]:
    """Fetch and acknowledge messages, and return their numbers."""
    found: list[int] = []
    for batch in await hf.inbox(user).fetch(limit=1000):
        found += [message.seq for message in batch.messages]
        await hf.inbox(user).ack(batch)
    return found


async def test_messages_stay_until_the_last_one_has_read_them(
    hf: AsyncHoldfast, site: Site
) -> None:
    members = ["a", "b", "c"]
    chat = await hf.create_chat(members, sender="a", body=1, chat_id="c", keep="until_read")
    for n in range(2, 301):
        await chat.send(n, sender="a")
    assert len(await read_all(hf, "b")) == 300
    assert len(await chat.history(limit=1000)) == 300
    assert len(await read_all(hf, "c")) == 300
    assert await chat.history() == []
    assert site.client.xlen(key(site, "log")) <= 100
    await chat.send("more", sender="b")
    assert await hf.inbox("c").unread() == {"c": 1}
    assert await read_all(hf, "a") == [301]
    assert await read_all(hf, "c") == [301]
    assert await chat.history() == []


async def test_an_inactive_member_holds_nothing_back_and_gets_a_gap(
    hf: AsyncHoldfast, site: Site
) -> None:
    members = ["a", "b", "silent"]
    chat = await hf.create_chat(
        members, sender="a", body=1, chat_id="c", keep="until_read", idle_ttl=3600
    )
    await chat.send(2, sender="a")
    assert await read_all(hf, "b") == [1, 2]
    assert len(await chat.history()) == 2, "not idle yet"
    make_inactive(site, 4000)
    await chat.send(3, sender="a")
    assert len(await chat.history()) == 3, "`send` drops nothing while there are few"
    assert await read_all(hf, "b") == [3]
    assert await chat.history() == []
    [batch] = await hf.inbox("silent").fetch()
    assert (batch.gap, batch.messages, batch.upto) == (Gap(1, 3, "dropped"), (), 3)
    await hf.inbox("silent").ack(batch)
    await chat.send(4, sender="a")
    assert await read_all(hf, "b") == [4]
    assert len(await chat.history()) == 1, "the member is active again, so it holds messages back"
    assert await read_all(hf, "silent") == [4]


async def test_a_gap_is_reported_beside_other_chats(hf: AsyncHoldfast, site: Site) -> None:
    """All unread messages were dropped in a chat that a call reads together with others."""
    for chat_id in "cde":
        await hf.create_chat(
            ["silent"], sender="a", body=1, chat_id=chat_id, keep="until_read", idle_ttl=3600
        )
    inbox = hf.inbox("silent")
    for _ in range(2):  # The second fetch knows the states of d and e.
        batches = await inbox.fetch()
        await inbox.ack_all([batch for batch in batches if batch.source != "c"])
    make_inactive(site, 4000)
    await hf.chat("c").send(2, sender="a")
    for _ in range(2):
        await hf.chat("c").join("reader", start="floor")
        for batch in await hf.inbox("reader").fetch():
            await hf.inbox("reader").ack(batch)
        await hf.chat("c").leave("reader")
    assert await hf.chat("c").history() == []
    for reader in (inbox, hf.inbox("silent")):
        [batch] = await reader.fetch()
        assert (batch.source, batch.gap) == ("c", Gap(1, 2, "dropped"))
    after = {chat: Position(0, 0) for chat in "cde"}
    gaps = {batch.source: batch.gap for batch in await inbox.fetch(after=after)}
    assert gaps["c"] == Gap(1, 2, "dropped")


async def test_the_status_shows_members_that_hold_messages_back(
    hf: AsyncHoldfast, site: Site
) -> None:
    members = ["a", "b", "silent"]
    chat = await hf.create_chat(
        members, sender="a", body=1, chat_id="c", keep="until_read", idle_ttl=3600
    )
    await chat.send(2, sender="a")
    make_inactive(site, 4000)
    await chat.join("late", start="floor")
    await chat.send(3, sender="a")
    status = await chat.status()
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
    assert len((await chat.status(limit=2)).behind) == 2
    await chat.redefine(keep=10)
    assert not any(r.holds_back for r in (await chat.status()).behind)


async def test_a_former_member_holds_nothing_back(hf: AsyncHoldfast) -> None:
    members = ["a", "b", "c"]
    chat = await hf.create_chat(members, sender="a", body=1, chat_id="c", keep="until_read")
    await chat.send(2, sender="a")
    assert await read_all(hf, "b") == [1, 2]
    assert len(await chat.history()) == 2
    await chat.leave("c")
    assert await chat.history() == []
    assert await read_all(hf, "b") == []


async def test_inactive_members_cannot_fill_the_server_without_readers(
    hf: AsyncHoldfast, site: Site
) -> None:
    chat = await hf.create_chat(
        ["a", "silent"], sender="a", body=1, chat_id="c", keep="until_read", idle_ttl=3600
    )
    site.client.hset(key(site, "meta"), "top", 5000)
    site.client.zadd(key(site, "cursors"), {"a": 5000})
    await chat.send("x", sender="a")
    assert int(site.client.hget(key(site, "meta"), "floor")) == 1  # type: ignore[arg-type]
    make_inactive(site, 4000)
    await chat.send("y", sender="a")
    assert int(site.client.hget(key(site, "meta"), "floor")) == 5003  # type: ignore[arg-type]


async def test_no_chat_keeps_more_than_100_000_messages(hf: AsyncHoldfast, site: Site) -> None:
    chat = await hf.create_chat(["a", "b"], sender="a", body=1, chat_id="c", keep="until_read")
    site.client.hset(key(site, "meta"), "top", 150_000)
    await chat.send("x", sender="a")
    assert int(site.client.hget(key(site, "meta"), "floor")) == 50_002  # type: ignore[arg-type]
    [batch] = await hf.inbox("b").fetch()
    assert batch.gap == Gap(1, 150_000, "dropped")
    assert [message.seq for message in batch.messages] == [150_001]


async def test_other_settings_stay_after_redefine(hf: AsyncHoldfast) -> None:
    chat = await hf.create_chat(["a"], sender="a", body=1, keep="until_read", idle_ttl=3600)
    await chat.redefine(keep=5)
    await chat.redefine(keep="until_read")
    assert (await chat.status()).idle_ttl == 3600.0
    await chat.redefine(idle_ttl=60)
    status = await chat.status()
    assert (status.keep, status.idle_ttl) == ("until_read", 60.0)
    with pytest.raises(ValueError, match="keep, idle_ttl or history"):
        await chat.redefine()


async def test_keep_can_be_redefined(hf: AsyncHoldfast, site: Site) -> None:
    chat = await hf.create_chat(["a", "b"], sender="a", body=1, chat_id="c", keep=5)
    for n in range(2, 9):
        await chat.send(n, sender="a")
    await chat.redefine(keep="until_read")
    for n in range(9, 20):
        await chat.send(n, sender="a")
    assert [message.seq for message in await chat.history()] == list(range(4, 20))
    assert await read_all(hf, "b") == list(range(4, 20))
    assert await chat.history() == []
    await chat.redefine(keep=3)
    for n in range(20, 30):
        await chat.send(n, sender="b")
    assert [message.seq for message in await chat.history()] == [27, 28, 29]
