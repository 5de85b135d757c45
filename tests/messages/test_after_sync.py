# Generated from test_after_async.py by tools/unasync.py: edit that one, then `make sync`.
"""Reading past what a device has, not past what the user acknowledged."""

import pytest

from holdfast import Gap, Holdfast, Position


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
