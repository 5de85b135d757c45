# Generated from test_history_async.py by tools/unasync.py: edit that, then run `make sync`.
"""The history of a chat: pages, positions, and what new members see."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from holdfast import (
    Chat,
    Gap,
    Holdfast,
    Message,
    NoSuchChat,
    NotAMember,
    Position,
    Undecodable,
)

# What is kept, read or not: from either end, and only for members where that is asked for


def read_on(page: Callable[[int], Awaitable[Any]], seq: int) -> list[list[int]]:
    """The numbers of all pages after a number."""
    pages: list[list[int]] = []
    while found := page(seq):
        pages.append([message.seq for message in found])
        seq = found[-1].seq
    return pages


def test_history_goes_on_page_by_page(hf: Holdfast) -> None:
    chat = hf.create_chat(["a", "b"], sender="a", body=1, chat_id="c", keep=50)
    for n in range(2, 91):
        chat.send(n, sender="a")
    pages = read_on(lambda seq: chat.history(after=seq, limit=20), 0)
    assert pages == [[*range(41, 61)], [*range(61, 81)], [*range(81, 91)]]
    assert read_on(lambda seq: chat.history(after=seq), 88) == [[89, 90]]
    assert chat.history(after=1_000_000) == []
    assert [message.seq for message in chat.history(before=43)] == [41, 42]
    assert chat.history(before=1) == []


def test_a_mailbox_is_read_from_either_end(hf: Holdfast) -> None:
    box = hf.mailbox("jack")
    assert box.latest(after=0) == []
    for n in range(1, 8):
        box.send(n, sender="jill")
    box.ack(3)
    assert read_on(lambda seq: box.latest(3, after=seq), 0) == [[1, 2, 3], [4, 5, 6], [7]]
    assert [message.seq for message in box.latest(2, before=4)] == [2, 3]


def test_large_messages_come_in_several_pages(hf: Holdfast) -> None:
    box = hf.mailbox("jack")
    for _ in range(6):
        box.send(b"x" * (1 << 20), sender="jill")
    assert read_on(lambda seq: box.latest(after=seq), 0) == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize(
    ("edges", "error", "told"),
    [
        ({"before": 1, "after": 1}, ValueError, "exclude each other"),
        ({"before": 0}, ValueError, "before must be 1 to"),
        ({"before": -1}, ValueError, "before"),
        ({"after": -1}, ValueError, "after must be the number of a message"),
        ({"after": 2**53}, ValueError, "after"),
        ({"after": "1"}, TypeError, "after"),
        ({"before": True}, TypeError, "before"),
    ],
)
def test_edges_are_checked(
    hf: Holdfast, edges: dict[str, Any], error: type[Exception], told: str
) -> None:
    with pytest.raises(error, match=told):
        hf.chat("none").history(**edges)
    with pytest.raises(error, match=told):
        hf.mailbox("none").latest(**edges)


LOOKS: list[Callable[[Chat, str], Awaitable[Any]]] = [
    lambda chat, who: chat.history(reader=who),
    lambda chat, who: chat.history(after=0, reader=who),
    lambda chat, who: chat.members(reader=who),
    lambda chat, who: chat.read_by(1, reader=who),
    lambda chat, who: chat.join("friend", by=who),
]


@pytest.mark.parametrize("look", LOOKS)
def test_only_members_look_and_add_where_it_is_said_who_does(
    hf: Holdfast, look: Callable[[Chat, str], Awaitable[Any]]
) -> None:
    chat = hf.create_chat(["a", "b"], sender="a", body=1)
    assert look(chat, "a")
    chat.leave("friend")
    with pytest.raises(NotAMember) as caught:
        look(chat, "stranger")
    assert (caught.value.user, caught.value.chat_id) == ("stranger", chat.chat_id)
    assert set(chat.members()) == {"a", "b"}
    assert hf.inbox("friend").chats() == []
    with pytest.raises(NoSuchChat):
        look(hf.chat("none"), "a")
    with pytest.raises(ValueError, match="a member needs one"):
        look(chat, "")


def test_an_add_that_is_repeated_answers_the_same(hf: Holdfast) -> None:
    chat = hf.create_chat(["a", "b"], sender="a", body=1)
    assert chat.join("c", by="b", op_id="mine")
    chat.leave("b")
    assert chat.join("c", by="b", op_id="mine")
    assert hf.inbox("c").chats() == [chat.chat_id]


def test_a_stranger_who_adds_a_member_takes_nothing_from_it(hf: Holdfast) -> None:
    chat = hf.create_chat(["a", "b"], sender="a", body=1)
    with pytest.raises(NotAMember):
        chat.join("b", by="stranger")
    assert hf.inbox("b").chats() == [chat.chat_id]
    [batch] = hf.inbox("b").fetch()
    assert batch.source == chat.chat_id


# Reading past what a device has, not past what the user acknowledged


def test_a_device_gets_what_another_has_acknowledged(hf: Holdfast) -> None:
    chat = hf.create_chat(["jill", "jack"], sender="jill", body=1)
    chat.send(2, sender="jill")
    phone, desk = hf.inbox("jack"), hf.inbox("jack")
    [first] = phone.fetch(limit=1)
    [both] = desk.fetch()
    desk.ack(both)
    assert phone.fetch() == []
    [second] = phone.fetch(after={chat.chat_id: first.position})
    assert [message.seq for message in second.messages] == [2]
    assert phone.fetch(after={chat.chat_id: second.position}) == []
    assert (chat.members())["jack"] == 2


def test_what_a_device_has_is_not_waited_for(hf: Holdfast) -> None:
    box = hf.mailbox("jack")
    box.send(1, sender="jill")
    batch = box.fetch()
    assert not box.fetch(timeout=0.1, after=batch.position)
    assert (box.fetch()).upto == 1


def test_a_position_that_the_server_lost_is_a_reset(hf: Holdfast) -> None:
    chat = hf.create_chat(["jack"], sender="jill", body=1)
    [batch] = hf.inbox("jack").fetch()
    [other] = hf.inbox("jack").fetch(after={chat.chat_id: Position(17, 5)})
    assert (other.gap, len(other.messages)) == (Gap(1, 5, "reset"), 1)
    [lost] = hf.inbox("jack").fetch(after={chat.chat_id: Position(batch.epoch, 5)})
    assert (lost.gap, len(lost.messages)) == (Gap(1, 5, "reset"), 1)


def test_a_position_of_an_older_version_is_a_reset(hf: Holdfast) -> None:
    box = hf.mailbox("jack")
    box.send(1, sender="jill")
    box.send(2, sender="jill")
    batch = box.fetch()
    again = box.fetch(after=Position(batch.epoch, batch.upto))
    assert (again.gap, len(again.messages)) == (Gap(1, 2, "reset"), 2)
    assert not box.fetch(after=again.position)


def test_a_device_that_has_nothing_misses_nothing(hf: Holdfast) -> None:
    box = hf.mailbox("jack")
    nothing = (box.fetch()).position
    chat = hf.create_chat(["jack"], sender="jill", body=1)
    for n in (1, 2):
        box.send(n, sender="jill")
    box.ack(box.fetch())
    for other in hf.inbox("jack").fetch():
        hf.inbox("jack").ack(other)
    assert not box.fetch()
    batch = box.fetch(after=nothing)
    assert (batch.gap, [message.body for message in batch.messages]) == (None, [1, 2])
    [batch] = hf.inbox("jack").fetch(after={chat.chat_id: nothing})
    assert (batch.gap, [message.body for message in batch.messages]) == (None, [1])


def test_a_device_is_told_what_is_not_kept(hf: Holdfast) -> None:
    box = hf.mailbox("jack", capacity=2, overflow="drop_oldest")
    for n in range(1, 6):
        box.send(n, sender="jill")
    batch = box.fetch(after=Position(0, 0))
    assert (batch.gap, [message.seq for message in batch.messages]) == (
        Gap(1, 3, "dropped"),
        [4, 5],
    )


def test_what_is_read_and_gone_is_no_reset(hf: Holdfast) -> None:
    """A chat that keeps messages until they are read still knows the last one of them."""
    chat = hf.create_chat(["jack"], sender="jill", body=0, keep="until_read")
    inbox, after = hf.inbox("jack"), {chat.chat_id: Position(0, 0)}
    for n in range(1, 300):
        chat.send(n, sender="jill")
        [batch] = inbox.fetch(after=after)
        assert batch.gap is None
        after = {chat.chat_id: batch.position}
        inbox.ack(batch)
    assert (chat.status()).first_seq > 200


def test_a_device_that_has_nothing_is_told_of_no_reset(hf: Holdfast) -> None:
    box = hf.mailbox("jack")
    nothing = box.fetch()
    box.send(1, sender="jill")
    batch = box.fetch(after=nothing.position)
    assert (batch.gap, batch.upto) == (None, 1)
    chat = hf.create_chat(["jack"], sender="jill", body=1)
    [batch] = hf.inbox("jack").fetch(after={chat.chat_id: nothing.position})
    assert (batch.gap, batch.upto) == (None, 1)


def test_a_stranger_reads_nothing_after_any_position(hf: Holdfast) -> None:
    chat = hf.create_chat(["jack"], sender="jill", body=1)
    [batch] = hf.inbox("jack").fetch()
    after = {chat.chat_id: Position(batch.epoch, 0)}
    assert hf.inbox("eve").fetch(after=after) == []


def test_positions_are_checked_before_anything_is_asked(hf: Holdfast) -> None:
    with pytest.raises(TypeError, match="Position"):
        hf.mailbox("jack").fetch(after=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="epoch"):
        hf.inbox("jack").fetch(after={"c": Position(-1, 0)})


# What a member who joined later may read: what was sent since, or in an open chat everything


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
