"""The stream of an inbox: it reads only notified chats, and misses no message."""

from __future__ import annotations

import random
import secrets
from collections.abc import AsyncIterator

import pytest

from conftest import Site
from faults.monitor import watching
from faults.servers import Server
from holdfast import AsyncHoldfast, AsyncInboxStream, Batch, ClientClosed, DecodeError

PATIENCE_S = 30.0


@pytest.fixture
async def hf(site: Site) -> AsyncIterator[AsyncHoldfast]:
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        yield hf


async def upcoming(stream: AsyncInboxStream) -> list[Batch]:
    """Return the next batches that are not empty."""
    while await stream.wait(PATIENCE_S):
        if batches := await stream.read():
            return batches
    raise AssertionError("nothing came")


async def settled(stream: AsyncInboxStream) -> None:
    """Read until all subscriptions are confirmed and nothing is due."""
    while await stream.wait(0.5):
        assert await stream.read() == []


async def test_only_notified_chats_are_read(standalone: Server) -> None:
    """A message costs one call for one chat, however many chats the user has."""
    async with AsyncHoldfast.from_url(
        standalone.url, namespace=f"cost-{secrets.token_hex(4)}"
    ) as hf:
        chats = [await hf.create_chat(["jill"], sender="jack", body=n) for n in range(80)]
        with hf.inbox("jill").stream() as stream:
            assert stream.due is None
            assert len(await upcoming(stream)) == 80
            await settled(stream)
            with watching(standalone) as watch:
                for number, chat in enumerate(chats[:5]):
                    await chat.send(number, sender="jack")
                    [batch] = await upcoming(stream)
                    assert (batch.source, batch.messages[0].body) == (chat.chat_id, number)
        read = [words for _, words in watch.commands if words[0] == "ZRANGE"]
        calls = [words for _, words in watch.commands if words[0] == "EVALSHA"]
        assert read == []
        assert len([words for words in calls if words[2] == "3"]) == 5
        assert all(int(words[2]) < 12 for words in calls)


async def test_chats_come_and_go(hf: AsyncHoldfast) -> None:
    """The stream follows chats that are created, joined, left, and joined again."""
    with hf.inbox("jill").stream() as stream:
        assert await stream.read() == []
        first = await hf.create_chat(["jill"], sender="jack", body="created")
        [batch] = await upcoming(stream)
        assert batch.messages[0].body == "created"
        other = await hf.create_chat(["jack"], sender="jack", body="before")
        await other.join("jill")
        await other.send("joined", sender="jack")
        [batch] = await upcoming(stream)
        assert [message.body for message in batch.messages] == ["joined"]
        await first.leave("jill")
        await first.send("left", sender="jack")
        await settled(stream)
        await first.join("jill")
        await first.send("back", sender="jack")
        [batch] = await upcoming(stream)
        assert [message.body for message in batch.messages] == ["back"]


async def test_a_device_continues_at_its_position(hf: AsyncHoldfast) -> None:
    """The stream ignores acknowledgments, and a limit divides the messages into more reads."""
    chat = await hf.create_chat(["jill"], sender="jack", body=0)
    for number in range(1, 30):
        await chat.send(number, sender="jack")
    with hf.inbox("jill").stream() as stream:
        [batch] = await stream.read(limit=10)
    await hf.inbox("jill").ack(batch)
    found = list[int]()
    with hf.inbox("jill").stream(after={chat.chat_id: batch.position}) as stream:
        while len(found) < 20:
            assert await stream.wait(PATIENCE_S)
            batches = await stream.read(limit=7)
            found += [message.body for batch in batches for message in batch.messages]
        assert found == [*range(10, 30)]
        await settled(stream)


async def test_lost_notifications_cost_no_message(standalone: Server) -> None:
    """When the connection of the subscriptions is gone, all chats are read again."""
    async with AsyncHoldfast.from_url(
        standalone.url, namespace=f"lost-{secrets.token_hex(4)}"
    ) as hf:
        chats = [await hf.create_chat(["jill"], sender="jack", body=n) for n in range(5)]
        with hf.inbox("jill").stream() as stream:
            assert len(await upcoming(stream)) == 5
            await settled(stream)
            standalone.execute("CLIENT", "KILL", "TYPE", "pubsub")
            await chats[3].send("late", sender="jack")
            [batch] = await upcoming(stream)
            assert (batch.source, batch.messages[0].body) == (chats[3].chat_id, "late")


async def test_a_closed_client_ends_the_wait(site: Site) -> None:
    """The next read raises ClientClosed."""
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        stream = hf.inbox("jill").stream()
        with stream:
            await stream.read()
            await settled(stream)
            await hf.close()
            assert await stream.wait(PATIENCE_S)
            with pytest.raises(ClientClosed):
                await stream.read()


async def test_a_damaged_chat_does_not_block_the_others(hf: AsyncHoldfast, site: Site) -> None:
    """Its error is raised only if no other chat has new messages."""
    await hf.create_chat(["jill"], sender="jack", body="lost", chat_id="bad")
    good = await hf.create_chat(["jill"], sender="jack", body="found", chat_id="good")
    site.client.hset(f"{site.namespace}:{{chat:bad}}:meta", "top", "damaged")
    with hf.inbox("jill").stream() as stream:
        [batch] = await stream.read()
        assert batch.source == good.chat_id
        assert await stream.wait(PATIENCE_S)
        with pytest.raises(DecodeError):
            await stream.read()
        await good.send("more", sender="jack")
        [batch] = await upcoming(stream)
        assert batch.messages[0].body == "more"


async def test_each_message_comes_once(hf: AsyncHoldfast) -> None:
    """Messages come once and in order while others are sent and chats are created."""
    seed = random.randrange(10**6)
    drawn, sent = random.Random(seed), dict[str, list[int]]()
    chats = [await hf.create_chat(["jill"], sender="jack", body=-1) for _ in range(6)]
    found: dict[str, list[int]] = {}

    def keep(batches: list[Batch]) -> None:
        for batch in batches:
            assert batch.gap is None, seed
            known = found.setdefault(batch.source, [])
            known += [message.body for message in batch.messages if message.body >= 0]

    with hf.inbox("jill").stream() as stream:
        for number in range(120):
            chat = drawn.choice(chats)
            await chat.send(number, sender="jack")
            sent.setdefault(chat.chat_id, []).append(number)
            if drawn.random() < 0.1:
                chats.append(await hf.create_chat(["jill"], sender="jack", body=-1))
            if drawn.random() < 0.3 and await stream.wait(0.01):
                keep(await stream.read(limit=drawn.randrange(1, 9)))
        while await stream.wait(0.5):
            keep(await stream.read())
    assert {chat: numbers for chat, numbers in found.items() if numbers} == sent, seed
