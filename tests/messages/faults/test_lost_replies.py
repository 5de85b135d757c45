"""Lost requests and replies: a repeated call counts once, and returns the same answer."""

import secrets
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from faults.halves import Half
from faults.proxy import Proxy
from faults.servers import Server
from holdfast import Holdfast, OutcomeUnknown
from holdfast.core.script import Script
from holdfast.messages._sync.chat import CREATE
from holdfast.messages._sync.log import ACK, FETCH, PAGE
from holdfast.messages._sync.membership import ADD_CHAT, REMOVE_CHATS

FAULT_KINDS = ["drop_reply", "drop_request"]


@pytest.fixture
def direct_client(standalone: Server) -> Iterator[Holdfast]:
    """Return a client without the proxy, which has loaded the scripts into the server."""
    namespace = f"lost-{secrets.token_hex(4)}"
    with Holdfast.from_url(standalone.url, namespace=namespace) as hf:
        box = hf.mailbox("warm")
        box.send("x", sender="a")
        box.ack(box.fetch())
        box.latest()
        box.redefine(capacity=9)
        chat = hf.create_chat(["a", "b"], sender="a", body="x", chat_id="warm")
        chat.send("y", sender="a")
        chat.join("c")
        chat.leave("c")
        yield hf


def members(hf: Holdfast, chat: str) -> dict[str, int]:
    return dict(hf.chat(chat).members())


READS: list[tuple[Script, Callable[[Any], Any]]] = [
    (FETCH, lambda hf: hf.inbox("b").fetch()),
    (FETCH, lambda hf: hf.mailbox("warm").fetch()),
    (PAGE, lambda hf: hf.chat("warm").history()),
    (PAGE, lambda hf: hf.mailbox("warm").latest()),
]


@pytest.mark.parametrize("fault_kind", FAULT_KINDS)
@pytest.mark.parametrize(("script", "read"), READS)
def test_a_lost_read_is_sent_again(
    half: Half,
    proxy: Proxy,
    direct_client: Holdfast,
    fault_kind: str,
    script: Script,
    read: Callable[[Any], Any],
) -> None:
    fault = getattr(proxy, fault_kind)(match=script.sha1.encode())
    assert half.do(read(half.client(proxy.url, direct_client.namespace))) == read(direct_client)
    assert fault.fired == 1


@pytest.mark.parametrize("fault_kind", FAULT_KINDS)
def test_a_lost_acknowledgement_is_sent_again(
    half: Half, proxy: Proxy, direct_client: Holdfast, fault_kind: str
) -> None:
    inbox = half.client(proxy.url, direct_client.namespace).inbox("b")
    [batch] = half.do(inbox.fetch())
    fault = getattr(proxy, fault_kind)(match=ACK.sha1.encode())
    half.do(inbox.ack(batch))
    assert fault.fired == 1
    assert members(direct_client, "warm") == {"a": 2, "b": 2}


@pytest.mark.parametrize("fault_kind", FAULT_KINDS)
def test_lost_changes_of_chat_lists_are_sent_again(
    half: Half, proxy: Proxy, direct_client: Holdfast, fault_kind: str
) -> None:
    hf = half.client(proxy.url, direct_client.namespace)
    fault = getattr(proxy, fault_kind)(5, match=ADD_CHAT.sha1.encode())
    users = [f"u{n}" for n in range(40)]
    chat = half.do(hf.create_chat(users, sender="u0", body="x"))
    assert fault.fired == 1
    assert all(direct_client.inbox(user).chats() == [chat.chat_id] for user in users)
    fault = getattr(proxy, fault_kind)(match=REMOVE_CHATS.sha1.encode())
    assert half.do(chat.leave("u7"))
    assert fault.fired == 1
    assert direct_client.inbox("u7").chats() == []


def test_a_lost_create_can_be_repeated_under_a_new_id(
    half: Half, proxy: Proxy, direct_client: Holdfast
) -> None:
    """The chat id comes from the operation, so a repeated call creates the same chat."""
    hf = half.client(proxy.url, direct_client.namespace)
    proxy.drop_reply(match=CREATE.sha1.encode())
    with pytest.raises(OutcomeUnknown) as caught:
        half.do(hf.create_chat(["p"], sender="p", body="x"))
    first = half.do(caught.value.repeat())
    again = half.do(hf.create_chat(["p"], sender="p", body="x", op_id=caught.value.op_id))
    assert first.chat_id == again.chat_id
    assert direct_client.inbox("p").chats() == [first.chat_id]
