# Generated from test_since_join_async.py by tools/unasync.py: edit that one, then `make sync`.
"""What a member who joined later may read: what was sent since, or in an open chat everything."""

from collections.abc import Sequence
from typing import Any

import pytest

from holdfast import Chat, Holdfast, Message, Position, Undecodable


def numbers(messages: Sequence[Message | Undecodable]) -> list[int]:
    return [message.seq for message in messages]


def begun(hf: Holdfast, **settings: Any) -> Chat:
    """A chat with three messages, which jack joins, and then a fourth."""
    start = settings.pop("start", "now")
    chat = hf.create_chat(["jill"], sender="jill", body=1, chat_id="c", **settings)
    for n in (2, 3):
        chat.send(n, sender="jill")
    chat.join("jack", start=start)
    chat.send(4, sender="jill")
    return chat


def all_ways(hf: Holdfast, user: str) -> list[list[int]]:
    """What a user can get in each way of reading, whatever it says that it has."""
    chat, inbox = hf.chat("c"), hf.inbox(user)
    [batch] = inbox.fetch(after={"c": Position(0, 0)})
    ways = [numbers(batch.messages)]
    for position in (
        Position(batch.epoch, 0),
        Position(batch.epoch, 1),
        Position(batch.epoch, 1, 1),
        Position(17, 5),
        Position(batch.epoch, 900, 5),
    ):
        found = hf.inbox(user).fetch(after={"c": position})
        ways += [numbers(each.messages) for each in found]
    ways += [
        numbers(chat.history(reader=user)),
        numbers(chat.history(reader=user, after=0)),
        numbers(chat.history(reader=user, before=99)),
    ]
    return ways


def test_a_later_member_reads_what_was_sent_since(hf: Holdfast) -> None:
    chat = begun(hf)
    [batch] = hf.inbox("jack").fetch()
    assert (batch.gap, numbers(batch.messages)) == (None, [4])
    ways = all_ways(hf, "jack")
    assert ways == [[4]] * len(ways)
    assert chat.history(reader="jack", before=4) == []
    assert (all_ways(hf, "jill"))[0] == [1, 2, 3, 4]
    assert numbers(chat.history()) == [1, 2, 3, 4], "the application itself sees all"


@pytest.mark.parametrize(("start", "first"), [("floor", 1), (1, 1), (3, 3), (4, 4)])
def test_who_adds_a_member_says_from_where(hf: Holdfast, start: Any, first: int) -> None:
    begun(hf, start=start)
    ways = all_ways(hf, "jack")
    assert ways[0] == ways[-1] == ways[-2] == list(range(first, 5))


def test_an_open_chat_shows_everything(hf: Holdfast) -> None:
    """A later member begins to read where it joined, and can look back."""
    begun(hf, history="open")
    [batch] = hf.inbox("jack").fetch()
    assert numbers(batch.messages) == [4]
    ways = all_ways(hf, "jack")
    assert ways[0] == ways[-1] == ways[-2] == [1, 2, 3, 4]


def test_who_left_and_is_back_reads_what_was_sent_since(hf: Holdfast) -> None:
    chat = begun(hf)
    chat.leave("jill")
    chat.send(5, sender="jack")
    chat.join("jill")
    chat.send(6, sender="jack")
    ways = all_ways(hf, "jill")
    assert ways[0] == ways[-1] == ways[-2] == [6]
    chat.leave("jill")
    chat.join("jill", start=5)
    assert numbers(chat.history(reader="jill")) == [5, 6]
    assert not chat.join("jill", start="floor"), "who is a member stays where it is"
    assert numbers(chat.history(reader="jill")) == [5, 6]


def test_a_chat_can_be_opened_and_closed(hf: Holdfast) -> None:
    chat = begun(hf)
    chat.redefine(history="open")
    assert numbers(chat.history(reader="jack")) == [1, 2, 3, 4]
    chat.redefine(history="since_join")
    assert numbers(chat.history(reader="jack")) == [4]
    with pytest.raises(ValueError, match="since_join, open"):
        chat.redefine(history="closed")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="since_join, open"):
        hf.create_chat(["jill"], sender="jill", body=1, history="")  # type: ignore[arg-type]


def test_what_a_later_member_may_not_read_is_no_gap(hf: Holdfast) -> None:
    chat = begun(hf, keep=2)
    [batch] = hf.inbox("jack").fetch(after={"c": Position(0, 0)})
    assert (batch.gap, numbers(batch.messages)) == (None, [4])
    for n in range(5, 9):
        chat.send(n, sender="jill")
    [batch] = hf.inbox("jack").fetch(after={"c": Position(0, 0)})
    assert batch.gap is not None
    assert (batch.gap.first, batch.gap.last, numbers(batch.messages)) == (4, 6, [7, 8])
