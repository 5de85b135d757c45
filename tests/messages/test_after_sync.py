# Generated from test_after_async.py by tools/unasync.py: edit that one, then `make sync`.
"""Reading past what a device has, not past what the user acknowledged."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conftest import Site
from holdfast import Gap, Holdfast, Position


@pytest.fixture
def hf(site: Site) -> Iterator[Holdfast]:
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        yield hf


def test_a_device_gets_what_another_has_acknowledged(hf: Holdfast) -> None:
    """Each reads from where it is."""
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
    """Though nobody has acknowledged it."""
    box = hf.mailbox("jack")
    box.send(1, sender="jill")
    batch = box.fetch()
    assert not box.fetch(timeout=0.1, after=batch.position)
    assert (box.fetch()).upto == 1


def test_a_position_that_the_server_lost_is_a_reset(hf: Holdfast) -> None:
    """Of another incarnation: all that is there comes. Of a lost tail: nothing does."""
    chat = hf.create_chat(["jack"], sender="jill", body=1)
    [batch] = hf.inbox("jack").fetch()
    [other] = hf.inbox("jack").fetch(after={chat.chat_id: Position(17, 5)})
    assert (other.gap, len(other.messages)) == (Gap(1, 5, "reset"), 1)
    [lost] = hf.inbox("jack").fetch(after={chat.chat_id: Position(batch.epoch, 5)})
    assert (lost.gap, lost.messages) == (Gap(2, 5, "reset"), ())


def test_a_device_that_has_nothing_is_told_of_no_reset(hf: Holdfast) -> None:
    """Where nobody has written yet, or where nothing is any more."""
    box = hf.mailbox("jack")
    nothing = box.fetch()
    box.send(1, sender="jill")
    batch = box.fetch(after=nothing.position)
    assert (batch.gap, batch.upto) == (None, 1)
    chat = hf.create_chat(["jack"], sender="jill", body=1)
    [batch] = hf.inbox("jack").fetch(after={chat.chat_id: nothing.position})
    assert (batch.gap, batch.upto) == (None, 1)


def test_a_stranger_reads_nothing_after_any_position(hf: Holdfast) -> None:
    """A position is no proof of membership."""
    chat = hf.create_chat(["jack"], sender="jill", body=1)
    [batch] = hf.inbox("jack").fetch()
    after = {chat.chat_id: Position(batch.epoch, 0)}
    assert hf.inbox("eve").fetch(after=after) == []


def test_positions_are_checked_before_anything_is_asked(hf: Holdfast) -> None:
    """Like every argument."""
    with pytest.raises(TypeError, match="Position"):
        hf.mailbox("jack").fetch(after=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="epoch"):
        hf.inbox("jack").fetch(after={"c": Position(-1, 0)})
