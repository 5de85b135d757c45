# Generated from test_membership_async.py by tools/unasync.py: edit that, then run `make sync`.
"""The lists of the chats of users, with repeated and with refused calls."""

import pytest

from conftest import Site
from holdfast import Holdfast, NoSuchChat, NotAMember


def test_a_repeated_leave_does_not_remove_a_user_who_rejoined(hf: Holdfast) -> None:
    """It returns the same answer, and the user can read the chat that it has joined again."""
    chat = hf.create_chat(["a", "b"], sender="a", body=1, chat_id="c")
    assert chat.leave("b", op_id="mine")
    chat.join("b")
    assert chat.leave("b", op_id="mine")
    assert hf.inbox("b").chats() == ["c"]
    chat.send(2, sender="a")
    [batch] = hf.inbox("b").fetch()
    assert [message.seq for message in batch.messages] == [2]


def test_a_repeated_last_leave_does_not_hide_a_new_chat(hf: Holdfast) -> None:
    chat = hf.create_chat(["a"], sender="a", body=1, chat_id="c")
    assert chat.leave("a", op_id="mine")
    hf.create_chat(["b"], sender="b", body=1, chat_id="c")
    assert chat.leave("a", op_id="mine")
    assert hf.chats() == ["c"]


def test_a_user_who_is_no_member_changes_no_list(hf: Holdfast, site: Site) -> None:
    for name in ("first", "second"):
        chat = hf.create_chat(["a"], sender="a", body=1, chat_id=name)
    before = hf.inbox("a").chats()
    for user in ("a", "nobody"):
        with pytest.raises(NotAMember):
            hf.chat("first").join(user, by="eve")
        with pytest.raises(NoSuchChat):
            hf.chat("nowhere").join(user, by="eve")
    assert hf.inbox("a").chats() == before == ["second", "first"]
    assert site.client.exists(f"{site.namespace}:{{inbox:nobody}}:chats") == 0
    assert chat.join("nobody", by="a")


def test_a_lost_list_is_restored_by_joining_again(hf: Holdfast, site: Site) -> None:
    chat = hf.create_chat(["a", "b"], sender="a", body=1, chat_id="c")
    site.client.delete(f"{site.namespace}:{{inbox:b}}:chats")
    assert hf.inbox("b").fetch() == []
    assert not chat.join("b")
    [batch] = hf.inbox("b").fetch()
    assert (batch.gap, batch.upto) == (None, 1)


def test_an_inbox_counts_the_chats_that_it_leaves_out(hf: Holdfast, site: Site) -> None:
    hf.create_chat(["jack"], sender="jack", body="hi", chat_id="kept")
    inbox = hf.inbox("jack")
    assert (inbox.unread()).skipped_chats == 0
    # Own chats that were added before this one: their scores are lower.
    earlier = {f"c{n}": n + 1 for n in range(1_002)}
    site.client.zadd(f"{site.namespace}:{{inbox:jack}}:chats", earlier)
    unread = inbox.unread()
    assert (unread, unread.skipped_chats) == ({"kept": 0}, 3)
    assert (inbox.chats()).skipped_chats == 3
    assert (inbox.fetch()).skipped_chats == 3
    site.client.zadd(f"{site.namespace}:{{inbox:jack}}:chats", earlier)  # `fetch` removed them
    with inbox.stream() as stream:
        assert (stream.read()).skipped_chats == 3
