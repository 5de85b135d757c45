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

# Messages that are kept, read from either end, for members only if a reader is named


def read_on(page: Callable[[int], Awaitable[Any]], seq: int) -> list[list[int]]:
    """Return the numbers on each page after *seq*."""
    pages: list[list[int]] = []
    while found := page(seq):
        pages.append([message.seq for message in found])
        seq = found[-1].seq
    return pages


def test_history_can_be_read_forwards(hf: Holdfast) -> None:
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
    ("edges", "error", "match"),
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
    hf: Holdfast, edges: dict[str, Any], error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        hf.chat("none").history(**edges)
    with pytest.raises(error, match=match):
        hf.mailbox("none").latest(**edges)


MEMBER_CALLS: list[Callable[[Chat, str], Awaitable[Any]]] = [
    lambda chat, who: chat.history(reader=who),
    lambda chat, who: chat.history(after=0, reader=who),
    lambda chat, who: chat.members(reader=who),
    lambda chat, who: chat.read_by(1, reader=who),
    lambda chat, who: chat.join("friend", by=who),
]


@pytest.mark.parametrize("call", MEMBER_CALLS)
def test_only_members_read_and_add_if_a_user_is_given(
    hf: Holdfast, call: Callable[[Chat, str], Awaitable[Any]]
) -> None:
    chat = hf.create_chat(["a", "b"], sender="a", body=1)
    assert call(chat, "a")
    chat.leave("friend")
    with pytest.raises(NotAMember) as caught:
        call(chat, "stranger")
    assert (caught.value.user, caught.value.chat_id) == ("stranger", chat.chat_id)
    assert set(chat.members()) == {"a", "b"}
    assert hf.inbox("friend").chats() == []
    with pytest.raises(NoSuchChat):
        call(hf.chat("none"), "a")
    with pytest.raises(ValueError, match="a member needs one"):
        call(chat, "")


def test_a_repeated_join_answers_the_same(hf: Holdfast) -> None:
    chat = hf.create_chat(["a", "b"], sender="a", body=1)
    assert chat.join("c", by="b", op_id="mine")
    chat.leave("b")
    assert chat.join("c", by="b", op_id="mine")
    assert hf.inbox("c").chats() == [chat.chat_id]


def test_a_refused_join_does_not_change_the_list_of_a_member(hf: Holdfast) -> None:
    chat = hf.create_chat(["a", "b"], sender="a", body=1)
    with pytest.raises(NotAMember):
        chat.join("b", by="stranger")
    assert hf.inbox("b").chats() == [chat.chat_id]
    [batch] = hf.inbox("b").fetch()
    assert batch.source == chat.chat_id


# Reading on from the position of a device instead of the acknowledged messages


def test_a_device_gets_what_another_has_acknowledged(hf: Holdfast) -> None:
    chat = hf.create_chat(["jill", "jack"], sender="jill", body=1)
    chat.send(2, sender="jill")
    phone, endpoint = hf.inbox("jack"), hf.inbox("jack")
    [first] = phone.fetch(limit=1)
    [both] = endpoint.fetch()
    endpoint.ack(both)
    assert phone.fetch() == []
    [second] = phone.fetch(after={chat.chat_id: first.position})
    assert [message.seq for message in second.messages] == [2]
    assert phone.fetch(after={chat.chat_id: second.position}) == []
    assert (chat.members())["jack"] == 2


def test_a_wait_does_not_return_what_the_device_has(hf: Holdfast) -> None:
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


def test_a_device_without_messages_gets_all_messages(hf: Holdfast) -> None:
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


def test_a_device_gets_a_gap_for_dropped_messages(hf: Holdfast) -> None:
    box = hf.mailbox("jack", capacity=2, overflow="drop_oldest")
    for n in range(1, 6):
        box.send(n, sender="jill")
    batch = box.fetch(after=Position(0, 0))
    assert (batch.gap, [message.seq for message in batch.messages]) == (
        Gap(1, 3, "dropped"),
        [4, 5],
    )


def test_dropped_messages_that_were_read_are_no_reset(hf: Holdfast) -> None:
    """A chat that keeps messages until they are read still holds the last one of them."""
    chat = hf.create_chat(["jack"], sender="jill", body=0, keep="until_read")
    inbox, after = hf.inbox("jack"), {chat.chat_id: Position(0, 0)}
    for n in range(1, 300):
        chat.send(n, sender="jill")
        [batch] = inbox.fetch(after=after)
        assert batch.gap is None
        after = {chat.chat_id: batch.position}
        inbox.ack(batch)
    assert (chat.status()).first_seq > 200


def test_a_device_without_messages_gets_no_reset(hf: Holdfast) -> None:
    box = hf.mailbox("jack")
    nothing = box.fetch()
    box.send(1, sender="jill")
    batch = box.fetch(after=nothing.position)
    assert (batch.gap, batch.upto) == (None, 1)
    chat = hf.create_chat(["jack"], sender="jill", body=1)
    [batch] = hf.inbox("jack").fetch(after={chat.chat_id: nothing.position})
    assert (batch.gap, batch.upto) == (None, 1)


def test_a_position_gives_no_access_to_other_users(hf: Holdfast) -> None:
    chat = hf.create_chat(["jack"], sender="jill", body=1)
    [batch] = hf.inbox("jack").fetch()
    after = {chat.chat_id: Position(batch.epoch, 0)}
    assert hf.inbox("eve").fetch(after=after) == []


def test_positions_are_checked_before_the_call(hf: Holdfast) -> None:
    with pytest.raises(TypeError, match="Position"):
        hf.mailbox("jack").fetch(after=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="epoch"):
        hf.inbox("jack").fetch(after={"c": Position(-1, 0)})


# A member who joined later reads what was sent since, or all messages of an open chat


def numbers(messages: Sequence[Message | Undecodable]) -> list[int]:
    return [message.seq for message in messages]


def create_history(hf: Holdfast, **settings: Any) -> Chat:
    """Create a chat with three messages, let jack join, and send a fourth one."""
    start = settings.pop("start", "now")
    chat = hf.create_chat(["jill"], sender="jill", body=1, chat_id="c", **settings)
    for n in (2, 3):
        chat.send(n, sender="jill")
    chat.join("jack", start=start)
    chat.send(4, sender="jill")
    return chat


def readable(hf: Holdfast, user: str) -> list[list[int]]:
    """Return the numbers that a user gets from each call, and with each position."""
    chat, inbox = hf.chat("c"), hf.inbox(user)
    [batch] = inbox.fetch(after={"c": Position(0, 0)})
    found = [numbers(batch.messages)]
    for position in (
        Position(batch.epoch, 0),
        Position(batch.epoch, 1),
        Position(batch.epoch, 1, 1),
        Position(17, 5),
        Position(batch.epoch, 900, 5),
    ):
        batches = hf.inbox(user).fetch(after={"c": position})
        found += [numbers(each.messages) for each in batches]
    found += [
        numbers(chat.history(reader=user)),
        numbers(chat.history(reader=user, after=0)),
        numbers(chat.history(reader=user, before=99)),
    ]
    return found


def test_a_later_member_reads_what_was_sent_since(hf: Holdfast) -> None:
    chat = create_history(hf)
    [batch] = hf.inbox("jack").fetch()
    assert (batch.gap, numbers(batch.messages)) == (None, [4])
    pages_read = readable(hf, "jack")
    assert pages_read == [[4]] * len(pages_read)
    assert chat.history(reader="jack", before=4) == []
    assert (readable(hf, "jill"))[0] == [1, 2, 3, 4]
    assert numbers(chat.history()) == [1, 2, 3, 4], "the application itself sees all"


@pytest.mark.parametrize(("start", "first"), [("floor", 1), (1, 1), (3, 3), (4, 4)])
def test_start_decides_what_a_new_member_reads(hf: Holdfast, start: Any, first: int) -> None:
    create_history(hf, start=start)
    pages_read = readable(hf, "jack")
    assert pages_read[0] == pages_read[-1] == pages_read[-2] == list(range(first, 5))


def test_an_open_chat_shows_everything(hf: Holdfast) -> None:
    """A later member begins to read where it joined, and may read earlier messages."""
    create_history(hf, history="open")
    [batch] = hf.inbox("jack").fetch()
    assert numbers(batch.messages) == [4]
    pages_read = readable(hf, "jack")
    assert pages_read[0] == pages_read[-1] == pages_read[-2] == [1, 2, 3, 4]


def test_a_returning_member_reads_what_was_sent_since(hf: Holdfast) -> None:
    chat = create_history(hf)
    chat.leave("jill")
    chat.send(5, sender="jack")
    chat.join("jill")
    chat.send(6, sender="jack")
    pages_read = readable(hf, "jill")
    assert pages_read[0] == pages_read[-1] == pages_read[-2] == [6]
    chat.leave("jill")
    chat.join("jill", start=5)
    assert numbers(chat.history(reader="jill")) == [5, 6]
    assert not chat.join("jill", start="floor"), "the cursor of a member does not change"
    assert numbers(chat.history(reader="jill")) == [5, 6]


def test_history_can_be_opened_and_closed(hf: Holdfast) -> None:
    chat = create_history(hf)
    chat.redefine(history="open")
    assert numbers(chat.history(reader="jack")) == [1, 2, 3, 4]
    chat.redefine(history="since_join")
    assert numbers(chat.history(reader="jack")) == [4]
    with pytest.raises(ValueError, match="since_join, open"):
        chat.redefine(history="closed")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="since_join, open"):
        hf.create_chat(["jill"], sender="jill", body=1, history="")  # type: ignore[arg-type]


def test_messages_before_a_join_are_no_gap(hf: Holdfast) -> None:
    chat = create_history(hf, keep=2)
    [batch] = hf.inbox("jack").fetch(after={"c": Position(0, 0)})
    assert (batch.gap, numbers(batch.messages)) == (None, [4])
    for n in range(5, 9):
        chat.send(n, sender="jill")
    [batch] = hf.inbox("jack").fetch(after={"c": Position(0, 0)})
    assert batch.gap is not None
    assert (batch.gap.first, batch.gap.last, numbers(batch.messages)) == (4, 6, [7, 8])
