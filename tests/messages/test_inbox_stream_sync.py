# Generated from test_inbox_stream_async.py by tools/unasync.py: edit that, then run `make sync`.
"""The stream of an inbox: it reads only notified chats, and misses no message."""

from __future__ import annotations

import random
import secrets
from collections.abc import Iterator

import pytest

from conftest import Site
from faults.monitor import watching
from faults.servers import Server
from holdfast import Batch, ClientClosed, DecodeError, Holdfast, InboxStream

PATIENCE_S = 30.0


@pytest.fixture
def hf(site: Site) -> Iterator[Holdfast]:
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        yield hf


def upcoming(stream: InboxStream) -> list[Batch]:
    """Return the next batches that are not empty."""
    while stream.wait(PATIENCE_S):
        if batches := stream.read():
            return batches
    raise AssertionError("nothing came")


def settled(stream: InboxStream) -> None:
    """Read until all subscriptions are confirmed and nothing is due."""
    while stream.wait(0.5):
        assert stream.read() == []


def test_only_notified_chats_are_read(standalone: Server) -> None:
    """A message costs one call for one chat, however many chats the user has."""
    with Holdfast.from_url(standalone.url, namespace=f"cost-{secrets.token_hex(4)}") as hf:
        chats = [hf.create_chat(["jill"], sender="jack", body=n) for n in range(80)]
        with hf.inbox("jill").stream() as stream:
            assert stream.due is None
            assert len(upcoming(stream)) == 80
            settled(stream)
            with watching(standalone) as watch:
                for number, chat in enumerate(chats[:5]):
                    chat.send(number, sender="jack")
                    [batch] = upcoming(stream)
                    assert (batch.source, batch.messages[0].body) == (chat.chat_id, number)
        read = [words for _, words in watch.commands if words[0] == "ZRANGE"]
        calls = [words for _, words in watch.commands if words[0] == "EVALSHA"]
        assert read == []
        assert len([words for words in calls if words[2] == "3"]) == 5
        assert all(int(words[2]) < 12 for words in calls)


def test_chats_come_and_go(hf: Holdfast) -> None:
    """The stream follows chats that are created, joined, left, and joined again."""
    with hf.inbox("jill").stream() as stream:
        assert stream.read() == []
        first = hf.create_chat(["jill"], sender="jack", body="created")
        [batch] = upcoming(stream)
        assert batch.messages[0].body == "created"
        other = hf.create_chat(["jack"], sender="jack", body="before")
        other.join("jill")
        other.send("joined", sender="jack")
        [batch] = upcoming(stream)
        assert [message.body for message in batch.messages] == ["joined"]
        first.leave("jill")
        first.send("left", sender="jack")
        settled(stream)
        first.join("jill")
        first.send("back", sender="jack")
        [batch] = upcoming(stream)
        assert [message.body for message in batch.messages] == ["back"]


def test_a_device_continues_at_its_position(hf: Holdfast) -> None:
    """The stream ignores acknowledgments, and a limit divides the messages into more reads."""
    chat = hf.create_chat(["jill"], sender="jack", body=0)
    for number in range(1, 30):
        chat.send(number, sender="jack")
    with hf.inbox("jill").stream() as stream:
        [batch] = stream.read(limit=10)
    hf.inbox("jill").ack(batch)
    found = list[int]()
    with hf.inbox("jill").stream(after={chat.chat_id: batch.position}) as stream:
        while len(found) < 20:
            assert stream.wait(PATIENCE_S)
            batches = stream.read(limit=7)
            found += [message.body for batch in batches for message in batch.messages]
        assert found == [*range(10, 30)]
        settled(stream)


def test_lost_notifications_cost_no_message(standalone: Server) -> None:
    """When the connection of the subscriptions is gone, all chats are read again."""
    with Holdfast.from_url(standalone.url, namespace=f"lost-{secrets.token_hex(4)}") as hf:
        chats = [hf.create_chat(["jill"], sender="jack", body=n) for n in range(5)]
        with hf.inbox("jill").stream() as stream:
            assert len(upcoming(stream)) == 5
            settled(stream)
            standalone.execute("CLIENT", "KILL", "TYPE", "pubsub")
            chats[3].send("late", sender="jack")
            [batch] = upcoming(stream)
            assert (batch.source, batch.messages[0].body) == (chats[3].chat_id, "late")


def test_a_closed_client_ends_the_wait(site: Site) -> None:
    """The next read raises ClientClosed."""
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        stream = hf.inbox("jill").stream()
        with stream:
            stream.read()
            settled(stream)
            hf.close()
            assert stream.wait(PATIENCE_S)
            with pytest.raises(ClientClosed):
                stream.read()


def test_a_damaged_chat_does_not_block_the_others(hf: Holdfast, site: Site) -> None:
    """Its error is raised only if no other chat has new messages."""
    hf.create_chat(["jill"], sender="jack", body="lost", chat_id="bad")
    good = hf.create_chat(["jill"], sender="jack", body="found", chat_id="good")
    site.client.hset(f"{site.namespace}:{{chat:bad}}:meta", "top", "damaged")
    with hf.inbox("jill").stream() as stream:
        [batch] = stream.read()
        assert batch.source == good.chat_id
        assert stream.wait(PATIENCE_S)
        with pytest.raises(DecodeError):
            stream.read()
        good.send("more", sender="jack")
        [batch] = upcoming(stream)
        assert batch.messages[0].body == "more"


def test_each_message_comes_once(hf: Holdfast) -> None:
    """Messages come once and in order while others are sent and chats are created."""
    seed = random.randrange(10**6)
    drawn, sent = random.Random(seed), dict[str, list[int]]()
    chats = [hf.create_chat(["jill"], sender="jack", body=-1) for _ in range(6)]
    found: dict[str, list[int]] = {}

    def keep(batches: list[Batch]) -> None:
        for batch in batches:
            assert batch.gap is None, seed
            known = found.setdefault(batch.source, [])
            known += [message.body for message in batch.messages if message.body >= 0]

    with hf.inbox("jill").stream() as stream:
        for number in range(120):
            chat = drawn.choice(chats)
            chat.send(number, sender="jack")
            sent.setdefault(chat.chat_id, []).append(number)
            if drawn.random() < 0.1:
                chats.append(hf.create_chat(["jill"], sender="jack", body=-1))
            if drawn.random() < 0.3 and stream.wait(0.01):
                keep(stream.read(limit=drawn.randrange(1, 9)))
        while stream.wait(0.5):
            keep(stream.read())
    assert {chat: numbers for chat, numbers in found.items() if numbers} == sent, seed
