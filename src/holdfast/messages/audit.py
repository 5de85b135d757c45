"""Audit of mailboxes, chats and lists of chats: their keys must not contradict each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from ..core.audit import Fault, Part, Snapshot, number, shown
from .keys import CHAT, INBOX, MAILBOX

KINDS = (MAILBOX, CHAT, INBOX)

_LOG: Final[Mapping[str, Part]] = {
    "meta": Part("hash"),
    "log": Part("stream"),
    "cursors": Part("zset"),
    "active": Part("hash"),
}

_PARTS: Final[Mapping[str, Mapping[str, Part]]] = {
    MAILBOX: {**_LOG, "senders": Part("hash", reading="nothing")},
    CHAT: _LOG,
    INBOX: {"chats": Part("zset"), "added": Part("hash")},
}


def part(kind: str, name: str) -> Part | None:
    """Return the expected type of the key *name*, and how the audit reads it; None: unknown key."""
    return _PARTS[kind].get(name)


def others(unit: Snapshot) -> Iterable[str]:
    """Return the names of all keys that a mailbox, chat or list of chats may have.

    The audit also reads those that were not in its listing of the keys: they may have been created
    since the listing.
    """
    return _PARTS[unit.unit.kind]


def wanted(_unit: Snapshot) -> Iterable[tuple[str, bytes]]:
    """Return nothing, because the checks need no sizes of values."""
    return ()


def faults(unit: Snapshot) -> Iterator[Fault]:
    """Yield the inconsistencies in the keys of *unit*."""
    if unit.unit.kind == INBOX:
        yield from _list_faults(unit)
    elif not unit.has("meta"):
        for name in _LOG:
            if unit.has(name):
                yield Fault(name, "it is left over: the key meta, which describes it, is missing")
    else:
        yield from _log_faults(unit)
        yield from _reader_faults(unit)


def _list_faults(unit: Snapshot) -> Iterator[Fault]:
    chats, added = unit.zset("chats"), unit.hash("added")
    if b"" not in chats:
        yield Fault("chats", "the time of its creation is missing, so devices cannot follow it")
    for chat in added:
        if chats.get(chat, 0.0) >= 0:
            yield Fault("added", f"{shown(chat)} is not among the chats that others added")
    for chat, score in chats.items():
        if score < 0 and chat not in added:
            yield Fault("chats", f"it is not stored who added the user to {shown(chat)}")


def _log_faults(unit: Snapshot) -> Iterator[Fault]:
    meta, log = unit.hash("meta"), unit.stream("log")
    top, floor = number(meta.get(b"top")), number(meta.get(b"floor"))
    if not number(meta.get(b"epoch")) or top is None or not floor:
        yield Fault("meta", "epoch, top or floor cannot be read")
        return
    if floor > top + 1:
        yield Fault("meta", f"floor is {floor}, which is after the last message, {top}")
    if log.length and log.length != log.last - log.first + 1:
        missing = log.last - log.first + 1 - log.length
        yield Fault("log", f"{missing} messages between {log.first} and {log.last} are missing")
    if log.length and log.last != top:
        yield Fault("log", f"the last message is {log.last}, not {top}")
    if top >= floor and (not log.length or log.first > floor):
        found = f"begins with message {log.first}" if log.length else "is empty"
        yield Fault("log", f"messages from {floor} on are missing: the log {found}")


def _reader_faults(unit: Snapshot) -> Iterator[Fault]:
    cursors, top = unit.zset("cursors"), number(unit.hash("meta").get(b"top")) or 0
    if not cursors:
        yield Fault("cursors", "it has no reader")
    for reader, cursor in cursors.items():
        if not 0 <= cursor <= top:
            yield Fault("cursors", f"{shown(reader)} has read up to {cursor:.0f} of {top}")
        if unit.unit.kind == MAILBOX and reader != unit.unit.name.encode():
            yield Fault("cursors", f"{shown(reader)} is a reader, but does not own the mailbox")
    for reader, last_seen in unit.hash("active").items():
        if reader not in cursors:
            yield Fault("active", f"{shown(reader)} was active, but is not a reader")
        elif number(last_seen) is None:
            yield Fault("active", f"the time when {shown(reader)} was last active cannot be read")
