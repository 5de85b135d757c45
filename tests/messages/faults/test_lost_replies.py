"""Lost requests and lost replies at each step: repeated, it counts once and answers the same."""

import secrets
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from faults.halves import Half
from faults.proxy import Proxy
from faults.servers import Server
from holdfast import Holdfast, OutcomeUnknown
from holdfast.core.script import Script
from holdfast.messages._sync import DELIVER, FETCH
from holdfast.messages.chat._sync import CREATE, JOIN, LEAVE
from holdfast.messages.index._sync import ENLIST, STRIKE
from holdfast.messages.log._sync import ACK, PAGE, REDEFINE
from holdfast.messages.outbox._sync import SEND

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
    """Who is in it, and how far."""
    return dict(hf.chat(chat).members())


def bodies(found: list[Any]) -> list[Any]:
    """What messages say."""
    return [message.body for message in found]


class Write(NamedTuple):
    """What is done, what it answers, and what is there afterwards."""

    script: Script
    do: Callable[[Any], Any]
    answer: Any
    look: Callable[[Holdfast], Any]
    expected: Any


WRITES = [
    Write(
        DELIVER,
        lambda hf: hf.mailbox("warm").send("again", sender="z"),
        2,
        lambda hf: bodies(hf.mailbox("warm").latest()),
        ["x", "again"],
    ),
    Write(
        SEND,
        lambda hf: hf.chat("warm").send("again", sender="a"),
        3,
        lambda hf: bodies(hf.chat("warm").history()),
        ["x", "y", "again"],
    ),
    Write(
        JOIN,
        lambda hf: hf.chat("warm").join("d", start="floor"),
        True,
        lambda hf: members(hf, "warm"),
        {"a": 2, "b": 0, "d": 0},
    ),
    Write(
        LEAVE,
        lambda hf: hf.chat("warm").leave("b"),
        True,
        lambda hf: members(hf, "warm"),
        {"a": 2},
    ),
    Write(
        CREATE,
        lambda hf: hf.create_chat(["p", "q"], sender="p", body="new", chat_id="n"),
        ...,
        lambda hf: (members(hf, "n"), bodies(hf.chat("n").history())),
        ({"p": 1, "q": 0}, ["new"]),
    ),
    Write(
        REDEFINE,
        lambda hf: hf.mailbox("warm").redefine(capacity=3),
        None,
        lambda hf: hf.mailbox("warm").status().capacity,
        3,
    ),
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.script.name)
def test_a_lost_write_is_the_users_to_repeat(
    half: Half,
    proxy: Proxy,
    direct: Holdfast,
    way: str,
    write: Write,
) -> None:
    hf = half.client(proxy.url, direct.namespace)
    fault = getattr(proxy, way)(match=write.script.sha1.encode())
    with pytest.raises(OutcomeUnknown) as caught:
        half.do(write.do(hf))
    assert fault.fired == 1
    for _ in range(2):
        repeated = half.do(caught.value.repeat())
        assert write.answer is ... or repeated == write.answer
        assert write.look(direct) == write.expected


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
    fault = getattr(proxy, way)(5, match=ENLIST.sha1.encode())
    users = [f"u{n}" for n in range(40)]
    chat = half.do(hf.create_chat(users, sender="u0", body="x"))
    assert fault.fired == 1
    assert all(direct.inbox(user).chats() == [chat.chat_id] for user in users)
    fault = getattr(proxy, way)(match=STRIKE.sha1.encode())
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
