# Generated from test_idle_inbox_async.py by tools/unasync.py: edit that, then run `make sync`.
"""An inbox that has found nothing new: later fetches leave out chats that are in the same state."""

from typing import Any

import pytest

from conftest import Site
from holdfast import Gap, Holdfast, Inbox, Position
from holdfast.core._sync.prepared_call import PreparedRead
from holdfast.core.clock import Deadline
from holdfast.messages._sync.log import FETCH


@pytest.fixture
def inbox(hf: Holdfast) -> Inbox:
    """Return an inbox of jack with three chats, in which it has found nothing new twice."""
    inbox = hf.inbox("jack")
    for chat_id in "cde":
        hf.create_chat(["jack"], sender="jill", body=1, chat_id=chat_id, history="open", keep=5)
    inbox.ack_all(inbox.fetch())
    assert inbox.fetch() == []
    assert inbox.fetch() == []
    return inbox


def cursors(site: Site) -> str:
    return f"{site.namespace}:{{chat:c}}:cursors"


def seqs(inbox: Inbox) -> dict[str, list[int]]:
    return {each.source: [message.seq for message in each.messages] for each in inbox.fetch()}


def test_chats_in_the_same_state_are_not_in_the_reply(
    hf: Holdfast, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller, replies = hf._resources.caller, list[Any]()
    call_many = caller.call_many

    def recorded(script: Any, steps: Any, **options: Any) -> Any:
        answers = call_many(script, steps, **options)
        if script is FETCH:
            replies.extend(each for each in answers if each)
        return answers

    attempt = PreparedRead.attempt

    def recorded_again(read: Any) -> Any:
        answers = attempt(read)
        replies.extend(each for each in (answers or [None])[1:] if each)
        return answers

    monkeypatch.setattr(caller, "call_many", recorded)
    monkeypatch.setattr(PreparedRead, "attempt", recorded_again)
    assert inbox.fetch() == []
    assert replies == []
    hf.chat("d").send(2, sender="jill")
    assert seqs(inbox) == {"d": [2]}
    assert len(replies) == 1


def test_new_messages_are_returned_until_they_are_acknowledged(hf: Holdfast, inbox: Inbox) -> None:
    for number in (2, 3, 4):
        hf.chat("d").send(0, sender="jill")
        for _ in range(2):
            assert seqs(inbox) == {"d": [number]}
        hf.inbox("jack").ack_all(hf.inbox("jack").fetch())
        for _ in range(3):
            assert seqs(inbox) == {}


def test_a_member_that_joins_again_begins_again(hf: Holdfast, inbox: Inbox) -> None:
    hf.chat("c").leave("jack")
    hf.chat("c").join("jack", start=1)
    assert seqs(inbox) == {"c": [1]}


def test_a_lost_acknowledgement_is_noticed(hf: Holdfast, site: Site, inbox: Inbox) -> None:
    """A failover may lose a cursor, and nothing else."""
    client: Any = site.client
    client.zadd(cursors(site), {"jack": 0})
    assert seqs(inbox) == {"c": [1]}


def test_a_removed_member_and_a_member_of_a_lost_chat(
    hf: Holdfast, site: Site, inbox: Inbox
) -> None:
    client: Any = site.client
    client.zrem(cursors(site), "jack")
    hf.chat("d").leave("jill")
    unit = f"{site.namespace}:{{chat:d}}"
    for part in ("meta", "log", "cursors"):
        client.delete(f"{unit}:{part}")
    [batch] = inbox.fetch()
    assert (batch.source, batch.gap) == ("d", Gap(1, 1, "reset"))
    assert inbox.fetch() == []


def test_another_chat_with_the_same_id_and_as_many_messages(hf: Holdfast, inbox: Inbox) -> None:
    for user in ("jack", "jill"):
        hf.chat("c").leave(user)
    hf.create_chat(["jill"], sender="jack", body=1, chat_id="c")
    [batch] = inbox.fetch()
    assert (batch.source, batch.gap) == ("c", Gap(1, 1, "reset"))


def test_messages_that_were_dropped_before_they_were_read(hf: Holdfast, inbox: Inbox) -> None:
    for _ in range(7):
        hf.chat("c").send(0, sender="jill")
    [batch] = inbox.fetch()
    assert (batch.gap, batch.upto) == (Gap(2, 3, "dropped"), 8)


def test_a_device_with_its_own_position(hf: Holdfast, inbox: Inbox) -> None:
    assert [each.source for each in inbox.fetch(after={"c": Position(0, 0)})] == ["c"]
    assert inbox.fetch() == []


def test_a_message_that_was_replaced_by_another(hf: Holdfast, site: Site, inbox: Inbox) -> None:
    """The server lost the message, and gave its number to a later one."""
    client: Any = site.client
    unit = f"{site.namespace}:{{chat:c}}"
    client.delete(f"{unit}:log")
    client.hset(f"{unit}:meta", mapping={"top": 0, "last": "0-0"})
    client.zadd(cursors(site), {"jack": 0, "jill": 0})
    hf.chat("c").send("other", sender="jill")
    [batch] = inbox.fetch()
    assert [message.body for message in batch.messages] == ["other"]
    assert batch.gap == Gap(1, 1, "reset")


def test_a_lost_acknowledgement_beside_one_of_another_device(
    hf: Holdfast, site: Site, inbox: Inbox
) -> None:
    """The sum of the cursors stays the same."""
    hf.chat("d").send(2, sender="jill")
    other = hf.inbox("jack")
    other.ack_all(other.fetch())
    client: Any = site.client
    client.zadd(cursors(site), {"jack": 0})
    assert seqs(inbox) == {"c": [1]}


def test_many_members(hf: Holdfast, site: Site, inbox: Inbox) -> None:
    """Chats with many members are examined one by one."""
    client: Any = site.client
    for chat_id in "cde":
        members = {f"member-{number}": 1 for number in range(20)}
        client.zadd(f"{site.namespace}:{{chat:{chat_id}}}:cursors", members)
    assert inbox.fetch() == []
    hf.chat("d").send(2, sender="jill")
    client.zadd(cursors(site), {"jack": 0})
    assert seqs(inbox) == {"c": [1], "d": [2]}


def test_each_chat_is_examined_now_and_then(site: Site, inbox: Inbox) -> None:
    """The message was replaced by another one, and the clock of the server was set back."""
    client: Any = site.client
    unit = f"{site.namespace}:{{chat:c}}"
    client.delete(f"{unit}:log")
    client.xadd(f"{unit}:log", {"jill": "j2"}, id="1-1000")
    client.hset(f"{unit}:meta", "last", "1-1000")
    inbox._chats._states_end = Deadline(0)
    [batch] = inbox.fetch()
    assert (batch.source, batch.gap) == ("c", Gap(1, 1, "reset"))


def test_new_chats_and_other_limits(hf: Holdfast, inbox: Inbox) -> None:
    hf.create_chat(["jack"], sender="jill", body=1, chat_id="f")
    assert seqs(inbox) == {"f": [1]}
    inbox.ack_all(inbox.fetch(limit=1))
    for limit in (1, 1, 2, 2):
        assert inbox.fetch(limit=limit) == []
    hf.chat("f").leave("jack")
    assert inbox.fetch() == []
    hf.chat("c").send(2, sender="jill")
    assert seqs(inbox) == {"c": [2]}
