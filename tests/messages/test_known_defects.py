"""Those of the 13 defects of the usual design that need a proxy or unusual clients to test."""

from typing import Any

import pytest
import redis
import redis.asyncio

from faults.halves import Half
from faults.proxy import Proxy
from faults.servers import Server
from holdfast import AsyncHoldfast, Batch, Holdfast
from holdfast.core.names import Namespace
from holdfast.messages import keys

CHATS = 30
LAST = 2**53 - 4


@pytest.fixture
def namespace(request: pytest.FixtureRequest) -> str:
    return str(request.node.name)


def test_an_inbox_costs_two_calls_and_has_one_shape(
    half: Half, proxy: Proxy, standalone: Server, namespace: str
) -> None:
    """Defect 10: two calls for each chat, and results of several types."""
    with Holdfast.from_url(standalone.url, namespace=namespace) as direct_client:
        for n in range(CHATS):
            direct_client.create_chat(["jack", "jill"], sender="jill", body=n, chat_id=f"c{n}")
        assert direct_client.inbox("jill").fetch() == [], "a user has read its own messages"
        inbox = half.client(proxy.url, namespace).inbox("jack")
        half.do(inbox.fetch())
        before = proxy.commands.total()
        batches = half.do(inbox.fetch(limit=10))
        assert proxy.commands.total() - before == 2
        assert all(isinstance(batch, Batch) for batch in batches)
        assert sum(len(batch.messages) for batch in batches) == 10
        for batch in direct_client.inbox("jack").fetch():
            direct_client.inbox("jack").ack(batch)
        assert half.do(inbox.fetch()) == []


def test_large_numbers_are_exact(half: Half, standalone: Server, namespace: str) -> None:
    """Defect 10: numbers were floats, which cannot represent all of them."""
    hf = half.client(standalone.url, namespace)
    chat = half.do(hf.create_chat(["jack", "jill"], sender="jill", body=1, chat_id="c"))
    unit = Namespace.of(namespace).unit(keys.CHAT, "c")
    with standalone.client() as client:
        client.hset(keys.meta(unit), mapping={"top": LAST - 3, "floor": LAST - 2})
        client.zadd(keys.cursors(unit), {"jack": LAST - 3, "jill": LAST - 3})
    assert [half.do(chat.send(n, sender="jill")) for n in range(3)] == [LAST - 2, LAST - 1, LAST]
    inbox = hf.inbox("jack")
    [batch] = half.do(inbox.fetch(limit=2))
    assert [message.seq for message in batch.messages] == [LAST - 2, LAST - 1]
    half.do(inbox.ack(batch))
    [batch] = half.do(inbox.fetch())
    assert (batch.gap, [message.seq for message in batch.messages]) == (None, [LAST])
    assert half.do(inbox.unread()) == {"c": 1}
    assert half.do(chat.members()) == {"jack": LAST - 1, "jill": LAST}


@pytest.mark.parametrize(
    "settings", [{}, {"decode_responses": True}, {"protocol": 3}, {"protocol": 2}], ids=str
)
def test_texts_and_bytes_are_not_mixed_up(
    half: Half, standalone: Server, namespace: str, settings: dict[str, Any]
) -> None:
    """Defect 13: only some settings of the client worked."""
    kind, client_kind = {
        "sync": (Holdfast, redis.Redis),
        "async": (AsyncHoldfast, redis.asyncio.Redis),
    }[half.name]
    client = client_kind.from_url(standalone.url, **settings)
    hf: Any = kind(client, namespace=namespace)
    chat = half.do(hf.create_chat(["jäck", "jill"], sender="jill", body="ä", chat_id="ü"))
    half.do(chat.send(b"\xff\x00", sender="jill"))
    inbox = hf.inbox("jäck")
    [batch] = half.do(inbox.fetch())
    assert [message.body for message in batch.messages] == ["ä", b"\xff\x00"]
    half.do(inbox.ack(batch))
    assert half.do(inbox.unread()) == {"ü": 0}
    assert half.do(chat.members()) == {"jäck": 2, "jill": 2}
    half.do(hf.mailbox("jäck").send(b"\xff", sender="ü"))
    [message] = half.do(hf.mailbox("jäck").fetch()).messages
    assert (message.sender, message.body) == ("ü", b"\xff")
    assert half.do(hf.mailbox("jäck").status()).unread == 1
    half.do(hf.close())
    half.do(client.aclose() if half.name == "async" else client.close())
