# Generated from test_ack_all_async.py by tools/unasync.py: edit that, then run `make sync`.
"""`Inbox.ack_all`: one call acknowledges the batches of many chats, each by itself."""

from typing import Any

import pytest

from conftest import Site
from holdfast import Batch, DecodeError, Holdfast, NoSuchChat, NotAMember, StaleBatch
from holdfast.messages._sync.log import ACK


def news(hf: Holdfast, *chats: str) -> None:
    """Create chats of jack in which jill has sent two messages."""
    for chat_id in chats:
        chat = hf.create_chat(["jack"], sender="jill", body=1, chat_id=chat_id)
        chat.send(2, sender="jill")


def acknowledged(hf: Holdfast, *chats: str) -> dict[str, int]:
    """Return up to which message jack has acknowledged each chat."""
    return {chat: (hf.chat(chat).members())["jack"] for chat in chats}


def test_all_batches_are_acknowledged(hf: Holdfast) -> None:
    chats = [f"c{n}" for n in range(70)]  # more than one call takes
    news(hf, *chats)
    inbox = hf.inbox("jack")
    found = inbox.fetch(limit=1000)
    inbox.ack_all(found)
    assert acknowledged(hf, *chats) == dict.fromkeys(chats, 2)
    assert inbox.fetch() == []
    inbox.ack_all(found)
    assert acknowledged(hf, *chats) == dict.fromkeys(chats, 2), "harmless to repeat"


def test_nothing_to_acknowledge(hf: Holdfast) -> None:
    inbox = hf.inbox("jack")
    inbox.ack_all([])
    inbox.ack_all(inbox.fetch())
    inbox.ack_all([Batch("c", (), None, 0, 0)])


def test_an_older_batch_takes_nothing_back(hf: Holdfast) -> None:
    news(hf, "c", "d")
    inbox = hf.inbox("jack")
    older = inbox.fetch(limit=1)
    inbox.ack_all([*inbox.fetch(), *older])
    inbox.ack_all(older)
    assert acknowledged(hf, "c", "d") == {"c": 2, "d": 2}


def test_a_refused_batch_stops_no_other(hf: Holdfast, site: Site) -> None:
    chats = ["left", "gone", "lost", "damaged", "fine", "last"]
    news(hf, *chats)
    client: Any = site.client
    inbox = hf.inbox("jack")
    batches = {batch.source: batch for batch in inbox.fetch()}
    assert set(batches) == set(chats)
    hf.chat("left").leave("jack")
    for user in ("jack", "jill"):
        hf.chat("gone").leave(user)
        hf.chat("lost").leave(user)
    news(hf, "lost")  # another chat of the same name
    client.hset(f"{site.namespace}:{{chat:damaged}}:meta", "floor", "1e400")
    errors: dict[str, type[Exception]] = {
        "left": NotAMember,
        "gone": NoSuchChat,
        "lost": StaleBatch,
        "damaged": DecodeError,
    }
    for chat, error in errors.items():
        others = [batches[each] for each in chats if each != chat]
        with pytest.raises(error, match=chat):
            inbox.ack_all([batches[chat], *others])
    assert acknowledged(hf, "fine", "last") == {"fine": 2, "last": 2}
    assert acknowledged(hf, "lost") == {"lost": 0}
    client.hset(f"{site.namespace}:{{chat:damaged}}:meta", "floor", "1")
    assert acknowledged(hf, "damaged") == {"damaged": 0}


def test_only_batches_are_taken(hf: Holdfast) -> None:
    news(hf, "c")
    inbox: Any = hf.inbox("jack")
    found = inbox.fetch()
    with pytest.raises(TypeError, match="ack_all takes what fetch returned"):
        inbox.ack_all([*found, 2])
    assert acknowledged(hf, "c") == {"c": 0}, "nothing is acknowledged"


def test_acknowledged_chats_are_the_users_own(hf: Holdfast, site: Site) -> None:
    """As after `ack`: their scores in the list of the user are 0 or more."""
    news(hf, "c", "d", "e")
    inbox, client = hf.inbox("jack"), site.client
    inbox.ack_all([each for each in inbox.fetch() if each.source != "e"])
    scores: Any = client.zrange(f"{site.namespace}:{{inbox:jack}}:chats", 0, -1, withscores=True)
    own = {chat.decode() for chat, score in scores if chat and score >= 0}
    assert own == {"c", "d"}


def test_one_call_takes_64_chats(hf: Holdfast, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a cluster it takes those of one slot."""
    news(hf, *(f"c{n}" for n in range(100)))
    inbox = hf.inbox("jack")
    found = inbox.fetch(limit=1000)
    inbox.ack_all(found)  # records that the user is active
    caller, calls = hf._resources.caller, list[Any]()
    call_many = caller.call_many

    def counted(script: Any, steps: Any, **options: Any) -> Any:
        assert script is ACK
        calls.extend(steps)
        return call_many(script, steps, **options)

    monkeypatch.setattr(caller, "call_many", counted)
    inbox.ack_all(found)
    assert len(calls) == 2 if site.shape[0] == "standalone" else 2 < len(calls) <= 100
