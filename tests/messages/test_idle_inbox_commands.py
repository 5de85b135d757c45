"""How many commands the server runs for an inbox without news."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from faults.servers import Server
from holdfast import Holdfast, Inbox, acl_rule

CHATS = [f"chat-{number}" for number in range(100)]
CALLS = 2
"""Calls that read a hundred chats."""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """Start a server."""
    with Server() as server:
        yield server


@pytest.fixture
def hf(server: Server) -> Iterator[Holdfast]:
    """Return a client of the server, which is empty."""
    server.execute("FLUSHALL")
    with Holdfast.from_url(server.url) as hf:
        yield hf


@pytest.fixture
def inbox(hf: Holdfast) -> Inbox:
    """Return an inbox that has found nothing new in a hundred chats, twice."""
    for chat_id in CHATS:
        hf.create_chat(["jack"], sender="jill", body=1, chat_id=chat_id)
    inbox = hf.inbox("jack")
    while batches := inbox.fetch(limit=1000):
        inbox.ack_all(batches)
    assert inbox.fetch() == []
    return inbox


def commands(server: Server, inbox: Inbox) -> tuple[dict[str, int], list[str]]:
    """Return how often a fetch lets the server run each command, and the chats with news."""
    with server.client() as client:
        client.config_resetstat()
        found = [batch.source for batch in inbox.fetch()]
        stats: dict[str, Any] = client.info("commandstats")
    counted = {name.removeprefix("cmdstat_"): each["calls"] for name, each in stats.items()}
    return {
        name: n for name, n in counted.items() if name not in ("config|resetstat", "info")
    }, found


def test_an_inbox_without_news_takes_few_commands(server: Server, inbox: Inbox) -> None:
    for _ in range(2):
        counted, found = commands(server, inbox)
        assert found == []
        assert counted == {"zrange": 1} | dict.fromkeys(
            ("evalsha", "xread", "zcard", "zinter"), CALLS
        )


def test_only_chats_with_news_are_read(server: Server, hf: Holdfast, inbox: Inbox) -> None:
    hf.chat("chat-7").send(2, sender="jill")
    for _ in range(3):
        counted, found = commands(server, inbox)
        assert found == ["chat-7"]
        assert counted["hmget"] == 1
        assert sum(counted.values()) < 15


def test_a_user_without_the_rights_of_this_version_reads_each_chat(
    server: Server, hf: Holdfast, inbox: Inbox
) -> None:
    """Its rule was written for a former version."""
    assert inbox.fetch() == []
    rule = acl_rule().replace(" +xread", "").replace(" +zinter", "")
    server.execute("ACL", "SETUSER", "former", *rule.split(), "on", ">secret")
    with Holdfast(server.client(username="former", password="secret")) as former:
        theirs = former.inbox("jack")
        for _ in range(3):
            assert theirs.fetch() == []
        hf.chat("chat-7").send(2, sender="jill")
        assert [batch.source for batch in theirs.fetch()] == ["chat-7"]
