"""Lost requests and lost replies at each step: repeated, it counts once and answers the same."""

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

WAYS = ["drop_reply", "drop_request"]


@pytest.fixture
def direct(standalone: Server) -> Iterator[Holdfast]:
    """A client that does not go through the proxy, and has made the server know the scripts."""
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


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("script", "read"), READS)
def test_a_lost_read_is_asked_again(
    half: Half,
    proxy: Proxy,
    direct: Holdfast,
    way: str,
    script: Script,
    read: Callable[[Any], Any],
) -> None:
    fault = getattr(proxy, way)(match=script.sha1.encode())
    assert half.do(read(half.client(proxy.url, direct.namespace))) == read(direct)
    assert fault.fired == 1


@pytest.mark.parametrize("way", WAYS)
def test_a_lost_acknowledgement_is_sent_again(
    half: Half, proxy: Proxy, direct: Holdfast, way: str
) -> None:
    inbox = half.client(proxy.url, direct.namespace).inbox("b")
    [batch] = half.do(inbox.fetch())
    fault = getattr(proxy, way)(match=ACK.sha1.encode())
    half.do(inbox.ack(batch))
    assert fault.fired == 1
    assert members(direct, "warm") == {"a": 2, "b": 2}


@pytest.mark.parametrize("way", WAYS)
def test_lost_notes_in_the_lists_of_members_are_sent_again(
    half: Half, proxy: Proxy, direct: Holdfast, way: str
) -> None:
    hf = half.client(proxy.url, direct.namespace)
    fault = getattr(proxy, way)(5, match=ADD_CHAT.sha1.encode())
    users = [f"u{n}" for n in range(40)]
    chat = half.do(hf.create_chat(users, sender="u0", body="x"))
    assert fault.fired == 1
    assert all(direct.inbox(user).chats() == [chat.chat_id] for user in users)
    fault = getattr(proxy, way)(match=REMOVE_CHATS.sha1.encode())
    assert half.do(chat.leave("u7"))
    assert fault.fired == 1
    assert direct.inbox("u7").chats() == []


def test_a_lost_create_can_be_repeated_under_a_new_id(
    half: Half, proxy: Proxy, direct: Holdfast
) -> None:
    """The id belongs to the operation, so it is the same chat."""
    hf = half.client(proxy.url, direct.namespace)
    proxy.drop_reply(match=CREATE.sha1.encode())
    with pytest.raises(OutcomeUnknown) as caught:
        half.do(hf.create_chat(["p"], sender="p", body="x"))
    first = half.do(caught.value.repeat())
    again = half.do(hf.create_chat(["p"], sender="p", body="x", op_id=caught.value.op_id))
    assert first.chat_id == again.chat_id
    assert direct.inbox("p").chats() == [first.chat_id]
