# Generated from test_mailbox_async.py by tools/unasync.py: edit that, then run `make sync`.
"""Mailboxes, as their senders and their owner see them."""

import secrets
from typing import Any

import pytest

from conftest import Site
from holdfast import (
    Batch,
    DefinitionConflict,
    Gap,
    Holdfast,
    MailboxFull,
    MailboxStatus,
    Message,
    NoSuchMessage,
    PayloadTooLarge,
    StaleBatch,
    Undecodable,
)


def bodies(batch: Batch) -> list[Any]:
    return [message.body for message in batch.messages if isinstance(message, Message)]


def numbers(batch: Batch) -> list[int]:
    return [message.seq for message in batch.messages]


def key(site: Site, part: str, name: str = "jack451", kind: str = "mailbox") -> str:
    """Return the name of a key."""
    return f"{site.namespace}:{{{kind}:{name}}}:{part}"


def remove(site: Site, first: int, last: int) -> None:
    log = key(site, "log")
    site.client.xdel(log, *[name for name, _ in site.client.xrange(log, first, last)])


def test_messages_come_in_order_until_they_are_acknowledged(hf: Holdfast) -> None:
    """Defect 12: a fetch removed the messages. Here it changes nothing."""
    box = hf.mailbox("jack451")
    assert box.send({"text": "hi"}, sender="jill") == 1
    assert box.send(b"\x89PNG\x00", sender="jeff") == 2
    assert box.send("bye", sender="jill") == 3
    batch = box.fetch()
    assert batch.source == "jack451"
    assert batch.gap is None
    assert batch.upto == 3
    assert [(m.seq, m.sender) for m in batch.messages] == [(1, "jill"), (2, "jeff"), (3, "jill")]
    assert bodies(batch) == [{"text": "hi"}, b"\x89PNG\x00", "bye"]
    assert box.fetch() == batch
    box.ack(batch)
    nothing = box.fetch()
    assert not nothing
    assert nothing == Batch("jack451", (), None, batch.epoch, 3, batch.upto_ms)
    assert hf.mailboxes() == ["jack451"]


def test_a_mailbox_without_messages_is_empty(hf: Holdfast) -> None:
    box = hf.mailbox("new")
    assert not box.fetch()
    assert box.latest() == []
    assert box.status() == MailboxStatus(0, None, None, 0, 0, 10_000, "reject")
    assert hf.mailboxes() == []


def test_a_part_can_be_acknowledged(hf: Holdfast) -> None:
    box = hf.mailbox("jack451")
    for n in range(5):
        box.send(n, sender="jill")
    first = box.fetch(limit=2)
    assert bodies(first) == [0, 1]
    box.ack(first)
    box.ack(4)
    assert bodies(box.fetch()) == [4]
    box.ack(2)
    assert (box.status()).read_seq == 4
    assert [m.seq for m in box.latest(3)] == [3, 4, 5]


def test_the_status_shows_whether_the_owner_has_acknowledged(hf: Holdfast) -> None:
    box = hf.mailbox("jack451")
    box.send("a", sender="jill")
    box.send("b", sender="jill")
    before = box.status()
    assert (before.unread, before.last_seen_at, before.read_seq) == (2, None, 0)
    assert before.oldest_at == (box.latest())[0].sent_at
    box.ack(box.fetch())
    after = box.status()
    assert (after.unread, after.oldest_at, after.read_seq) == (0, None, 2)
    assert after.last_seen_at is not None


def test_a_full_mailbox_refuses(hf: Holdfast) -> None:
    """Defect 12: a mailbox had no limit.

    Only unread messages count. Messages that are read stay for `latest` while there is room.
    """
    box = hf.mailbox("jack451", capacity=3)
    for n in range(3):
        box.send(n, sender="jill")
    with pytest.raises(MailboxFull) as caught:
        box.send(3, sender="jill")
    oldest = (box.latest())[0].sent_at
    assert (caught.value.mailbox, caught.value.capacity) == ("jack451", 3)
    assert caught.value.oldest_at == oldest
    assert (box.status()).unread == 3
    box.ack(1)
    assert box.send(3, sender="jill") == 4
    assert (box.status()).dropped == 0
    assert [m.seq for m in box.latest(100)] == [2, 3, 4]


def test_a_full_mailbox_drops_the_oldest_and_reports_a_gap(hf: Holdfast) -> None:
    box = hf.mailbox("jack451", capacity=3, overflow="drop_oldest")
    for n in range(10):
        box.send(n, sender="jill")
    batch = box.fetch()
    assert batch.gap == Gap(1, 7, "dropped")
    assert numbers(batch) == [8, 9, 10]
    status = box.status()
    assert (status.unread, status.dropped, status.overflow) == (3, 7, "drop_oldest")
    box.ack(batch)
    assert not box.fetch()


def test_settings_that_contradict_the_server_are_refused(hf: Holdfast) -> None:
    hf.mailbox("jack451").send("a", sender="jill")
    hf.mailbox("jack451", capacity=2).send("b", sender="jill")
    with pytest.raises(DefinitionConflict) as caught:
        hf.mailbox("jack451", capacity=5, on_conflict="error").send("c", sender="jill")
    assert (caught.value.stored, caught.value.given) == (2, 5)
    box = hf.mailbox("jack451", overflow="drop_oldest")
    box.send("c", sender="jill")
    with pytest.raises(DefinitionConflict, match="overflow"):
        hf.mailbox("jack451", overflow="reject", on_conflict="error").send("d", sender="jill")
    box.redefine(capacity=4, overflow="reject")
    status = box.status()
    assert (status.capacity, status.overflow, status.unread) == (4, "reject", 2)
    hf.mailbox("fresh").redefine(capacity=1)
    hf.mailbox("fresh").send("a", sender="jill")
    with pytest.raises(MailboxFull):
        hf.mailbox("fresh").send("b", sender="jill")


def test_acknowledging_what_was_never_sent_is_an_error(hf: Holdfast) -> None:
    box = hf.mailbox("jack451")
    with pytest.raises(NoSuchMessage):
        box.ack(1)
    box.send("a", sender="jill")
    with pytest.raises(NoSuchMessage) as caught:
        box.ack(2)
    assert (caught.value.seq, caught.value.top) == (2, 1)
    assert (box.status()).unread == 1
    other = hf.mailbox("other").fetch()
    with pytest.raises(ValueError, match="'other'"):
        box.ack(other)


def test_a_poison_body_does_not_block_the_mailbox(hf: Holdfast, site: Site) -> None:
    box = hf.mailbox("jack451")
    box.send("before", sender="jill")
    raw: list[dict[str, str | bytes]] = [
        {"evil": b"jnot json"},
        {"x": "y", "z": "j1"},
        {b"\xff\xfe": b"?"},
        {"": ""},
    ]
    for seq, fields in enumerate(raw, 2):
        site.client.xadd(key(site, "log"), fields, id=f"{seq}-{2**64 - seq}")  # type: ignore[arg-type]
    site.client.hset(key(site, "meta"), "top", 5)
    box.send("after", sender="jill")
    batch = box.fetch()
    assert numbers(batch) == [1, 2, 3, 4, 5, 6]
    assert [type(m) for m in batch.messages] == [Message, *[Undecodable] * 4, Message]
    assert all(m.reason for m in batch.messages if isinstance(m, Undecodable))
    box.ack(1)
    assert (box.status()).unread == 5
    box.ack(batch)
    assert not box.fetch()


def test_a_hole_in_the_log_is_a_gap(hf: Holdfast, site: Site) -> None:
    box = hf.mailbox("jack451")
    for n in range(6):
        box.send(n, sender="jill")
    remove(site, 3, 4)
    first = box.fetch()
    assert numbers(first) == [1, 2]
    box.ack(first)
    second = box.fetch()
    assert (second.gap, numbers(second)) == (Gap(3, 4, "dropped"), [5, 6])
    site.client.delete(key(site, "log"))
    third = box.fetch()
    assert (third.gap, numbers(third), third.upto) == (Gap(3, 6, "dropped"), [], 6)
    box.ack(third)
    assert not box.fetch()


def test_a_server_that_lost_everything_is_noticed(hf: Holdfast, site: Site) -> None:
    box = hf.mailbox("jack451")
    for n in range(3):
        box.send(n, sender="jill")
    old = box.fetch()
    for part in ("meta", "log", "cursors", "active"):
        site.client.delete(key(site, part))
    lost = box.fetch()
    assert (lost.gap, lost.messages) == (Gap(1, 3, "reset"), ())
    box.ack(lost)
    assert not box.fetch()
    with pytest.raises(StaleBatch):
        box.ack(old)
    box.send("new", sender="jill")
    with pytest.raises(StaleBatch):
        box.ack(old)
    batch = box.fetch()
    assert (batch.gap, bodies(batch)) == (None, ["new"])


def test_a_mailbox_that_was_created_again_is_noticed(hf: Holdfast, site: Site) -> None:
    box = hf.mailbox("jack451")
    box.send("a", sender="jill")
    box.fetch()
    for part in ("meta", "log", "cursors", "active"):
        site.client.delete(key(site, part))
    box.send("b", sender="jill")
    batch = box.fetch()
    assert (batch.gap, bodies(batch)) == (Gap(1, 1, "reset"), ["b"])
    assert (box.fetch()).gap is None


def test_a_lost_tail_is_noticed(hf: Holdfast, site: Site) -> None:
    """A failover may lose the newest messages, and new messages get their numbers."""
    box = hf.mailbox("jack451")
    for n in range(5):
        box.send(n, sender="jill")
    shown = box.fetch()
    remove(site, 4, 5)
    site.client.hset(key(site, "meta"), "top", 3)
    with pytest.raises(NoSuchMessage):
        box.ack(shown)
    batch = box.fetch()
    assert (batch.gap, numbers(batch)) == (Gap(4, 5, "reset"), [1, 2, 3])
    assert (box.fetch()).gap is None


def test_large_messages_come_in_several_batches(hf: Holdfast) -> None:
    box = hf.mailbox("jack451")
    picture = secrets.token_bytes(1 << 20)
    for n in range(6):
        box.send(picture, sender="jill")
        box.send(n, sender="jill")
    found: list[int] = []
    while batch := box.fetch():
        assert 1 <= len(batch.messages) <= 8
        found += numbers(batch)
        box.ack(batch)
    assert found == list(range(1, 13))
    assert 1 <= len(box.latest(12)) <= 8


WRONG_SENDS: list[tuple[Any, Any, type[Exception]]] = [
    ("", "jill", ValueError),
    (b"", "jill", ValueError),
    (float("nan"), "jill", TypeError),
    (object(), "jill", TypeError),
    ("\ud800", "jill", TypeError),
    (b"x" * ((1 << 20) + 1), "jill", PayloadTooLarge),
    ("x" * (1 << 20), "jill", PayloadTooLarge),
    ("x", "", ValueError),
    ("x", 7, TypeError),
    ("x", "\ud800", ValueError),
    ("x", "j" * 600, ValueError),
]


@pytest.mark.parametrize(("body", "sender", "error"), WRONG_SENDS)
def test_wrong_messages_write_nothing(
    hf: Holdfast, site: Site, body: Any, sender: Any, error: type[Exception]
) -> None:
    """The client raises an error before it sends anything."""
    with pytest.raises(error):
        hf.mailbox("jack451").send(body, sender=sender)
    assert list(site.client.scan_iter(f"{site.namespace}:*")) == []


def test_wrong_arguments_are_named(hf: Holdfast, site: Site) -> None:
    box: Any = hf.mailbox("jack451")
    make: Any = hf.mailbox
    for wrong in (0, -1, 1001):
        with pytest.raises(ValueError, match="limit"):
            box.fetch(limit=wrong)
        with pytest.raises(ValueError, match="limit"):
            box.latest(wrong)
    for wrong in (-1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="timeout"):
            box.fetch(timeout=wrong)
    for strange in ("5", 1.5, True):
        with pytest.raises(TypeError):
            box.fetch(limit=strange)
        with pytest.raises(TypeError):
            box.ack(strange)
    with pytest.raises(ValueError, match="seq"):
        box.ack(-1)
    for name in ("", "x" * 600, "\ud800"):
        with pytest.raises(ValueError, match="invalid name"):
            make(name)
    with pytest.raises(TypeError):
        make(7)
    with pytest.raises(ValueError, match="capacity"):
        make("a", capacity=0)
    with pytest.raises(ValueError, match="overflow"):
        make("a", overflow="explode")
    with pytest.raises(ValueError, match="nothing to change"):
        box.redefine()
    assert list(site.client.scan_iter(f"{site.namespace}:*")) == []


def test_unusual_names_do_not_collide(hf: Holdfast) -> None:
    names = ["a:b", "a}b", "{a}", "a b", "ä", "a\u0308", "💌", "a\nb", "%", "*"]
    for name in names:
        hf.mailbox(name).send(name, sender=name)
    for name in names:
        batch = hf.mailbox(name).fetch()
        assert [(m.sender, m.seq) for m in batch.messages] == [(name, 1)]
        assert bodies(batch) == [name]
    assert sorted(hf.mailboxes()) == sorted(names)


def test_a_send_with_an_op_id_counts_once(hf: Holdfast) -> None:
    """Defect 12: the message came twice. The second call returns the answer of the first."""
    box = hf.mailbox("jack451")
    assert box.send("a", sender="jill", op_id="mine") == 1
    assert box.send("b", sender="jill") == 2
    assert box.send("a", sender="jill", op_id="mine") == 1
    assert numbers(box.fetch()) == [1, 2]


def test_a_mailbox_created_by_redefine_expires(hf: Holdfast, site: Site) -> None:
    """Its log expires too, although `send` creates it later than the other keys."""
    hf.mailbox("jack451").redefine(capacity=4)
    hf.mailbox("jack451").send("hi", sender="jill")
    for part in ("meta", "log", "cursors"):
        assert site.client.ttl(key(site, part)) > 399 * 86_400, part


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"a": [b"x"]}, "a bytes in it would become text"),
        ([{1, 2}], "a set in it would become a list"),
        ({"a": {1: "x"}}, "the key 1 in it would become text"),
    ],
)
def test_a_body_that_json_would_change_is_refused(hf: Holdfast, body: object, problem: str) -> None:
    box = hf.mailbox("jack451")
    with pytest.raises(TypeError, match=f"cannot be stored: {problem}"):
        box.send(body, sender="jill")
    assert (box.status()).unread == 0
