"""Audit of a feed: every byte of the budget must belong to a chunk or a file."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar

import msgspec

from ..core.audit import Fault, Part, Snapshot, number, shown
from ..errors import DecodeError
from .keys import KIND
from .options import FeedOptions

KINDS = (KIND,)

BASE: Final = 2048
"""Bytes of the budget that each feed uses, even without files."""

_KEYS: Final[Mapping[str, Part]] = {
    "meta": Part("hash"),
    "names": Part("hash"),
    "files": Part("hash"),
    "chunks": Part("hash", reading="count"),
    "positions": Part("hash"),
    "sessions": Part("zset"),
    "consumers": Part("hash"),
    "publishing": Part("hash"),
    "waiting": Part("zset", reading="nothing"),
}
_POSITION: Final = re.compile(rb"([1-9]\d*):([1-9]\d*)")
_GROUP: Final = re.compile(rb"[1-9]\d*")
_SHOWN: Final = re.compile(rb"\d+ [1-9]\d*")


class _Name(msgspec.Struct):
    number: int
    state: str = ""
    bytes: int = 0


class _File(msgspec.Struct):
    name: str
    state: str
    count: int
    floor: int
    bytes: int
    kept: int
    cost: int
    done: str


class _StoredPosition(msgspec.Struct):
    acked: int
    read: int
    counted: int
    session: str
    token: int


S = TypeVar("S", _Name, _File, _StoredPosition)


def part(_kind: str, name: str) -> Part | None:
    """Return the expected type of the key *name*, and how the audit reads it; None: unknown key."""
    return _KEYS.get(name)


def wanted(unit: Snapshot) -> Iterator[tuple[str, bytes]]:
    """Yield the key and the field of each chunk that should exist: the audit reads their sizes."""
    for key, file in _files(unit).items():
        if file is not None:
            for i in range(file.floor, file.count):
                yield "chunks", b"%b:%d" % (key, i)


def others(_unit: Snapshot) -> Iterable[str]:
    """Return the names of all keys that a feed may have.

    The audit also reads those that were not in its listing of the keys: they may have been created
    since the listing.
    """
    return _KEYS


def faults(unit: Snapshot) -> Iterator[Fault]:
    """Yield the inconsistencies in the keys of a feed."""
    meta = unit.hash("meta")
    if meta.get(b"state") not in (b"open", b"sealed"):
        for name in unit.contents:
            if name != "meta":
                yield Fault(name, "it was not deleted when the feed ended")
        return
    try:
        options = FeedOptions.parse(meta.get(b"definition", b""), "meta")
    except DecodeError:
        yield Fault("meta", "its definition cannot be read")
        return
    counts = {
        name: number(meta.get(name.encode()))
        for name in ("used", "top", "low", "left", "bytes", "token")
    }
    if None in counts.values():
        unread = ", ".join(name for name, value in counts.items() if value is None)
        yield Fault("meta", f"{unread} cannot be read")
        return
    files = _files(unit)
    for key, file in files.items():
        if file is None:
            yield Fault("files", f"the state of file {shown(key)} cannot be read")
    if None not in files.values():
        groups = 1 if options.mode == "share" else len(options.consumers)
        known = {int(key): file for key, file in files.items() if file is not None}
        yield from _listed(unit, known, groups, counts)
        yield from _accounted(unit, known, counts)
        yield from _positions(unit, known, groups, counts)


def _files(unit: Snapshot) -> dict[bytes, _File | None]:
    return {
        key: _read(packed, _File) if number(key) else None
        for key, packed in unit.hash("files").items()
    }


def _read(packed: bytes, kind: type[S]) -> S | None:
    try:
        return msgspec.msgpack.decode(packed, type=kind)
    except msgspec.DecodeError:
        return None


def _listed(
    unit: Snapshot, files: Mapping[int, _File], groups: int, counts: Mapping[str, Any]
) -> Iterator[Fault]:
    """Compare the files with the stored names, and with the list of those being published."""
    names = {name: _read(packed, _Name) for name, packed in unit.hash("names").items()}
    for name, entry in names.items():
        if entry is None:
            yield Fault("names", f"the entry of {shown(name)} cannot be read")
        elif not entry.state and entry.number not in files:
            yield Fault("names", f"{shown(name)} is being published, and is not among the files")
    for key, file in files.items():
        entry = names.get(file.name.encode())
        if entry is None or entry.number != key:
            yield Fault("files", f"file {key} is called {file.name!r}, a name of another file")
        if key > counts["top"]:
            yield Fault("files", f"file {key} is there, but the last one is {counts['top']}")
        if len(file.done) != groups:
            yield Fault("files", f"file {key} is for {len(file.done)} groups, not for {groups}")
    being = {str(key).encode() for key, file in files.items() if file.state == "open"}
    for opened in being ^ unit.hash("publishing").keys():
        yield Fault(
            "publishing", f"file {shown(opened)} is either open or listed as published, not both"
        )
    yield from _summed(files, names.values(), counts)


def _summed(
    files: Mapping[int, _File], names: Iterable[_Name | None], counts: Mapping[str, Any]
) -> Iterator[Fault]:
    """Check the totals: published bytes (dropped files included) and number of unfinished files."""
    published = sum(entry.bytes for entry in names if entry is not None and entry.state)
    published += sum(file.bytes for file in files.values() if file.state == "open")
    if published != counts["bytes"]:
        yield Fault("meta", f"bytes says that {counts['bytes']} were published, not {published}")
    left = sum(file.done.strip("1") != "" for file in files.values())
    if left != counts["left"]:
        yield Fault("meta", f"left says that {counts['left']} files are unfinished, not {left}")


def _accounted(
    unit: Snapshot, files: Mapping[int, _File], counts: Mapping[str, Any]
) -> Iterator[Fault]:
    """Check that the used budget is the sum of what the files and their stored chunks use."""
    used = BASE + sum(file.cost + file.kept for file in files.values())
    if used != counts["used"]:
        yield Fault("meta", f"used says {counts['used']} bytes of the budget, not {used}")
    chunks = sum(max(0, file.count - file.floor) for file in files.values())
    if chunks != unit.count("chunks"):
        yield Fault("chunks", f"{unit.count('chunks')} chunks are stored, not {chunks}")
    for key, file in files.items():
        sizes = [
            unit.sizes.get(("chunks", b"%d:%d" % (key, i)), 0)
            for i in range(file.floor, file.count)
        ]
        if 0 in sizes:
            yield Fault("chunks", f"chunk {file.floor + sizes.index(0)} of file {key} is missing")
        elif (charged := sum(map(charge, sizes))) != file.kept:
            yield Fault("chunks", f"file {key} is charged {file.kept} bytes, not {charged}")


def charge(size: int) -> int:
    """Return the bytes of the budget that a chunk of *size* bytes uses (`lua/parts/budget.lua`)."""
    _, power = math.frexp(size + 16)
    step = 2 ** (power - 3)
    return int(math.ceil((size + 17) / step) * step) + 96


def _positions(
    unit: Snapshot, files: Mapping[int, _File], groups: int, counts: Mapping[str, Any]
) -> Iterator[Fault]:
    """Check the positions of groups and the latest claims of sessions."""
    for key, packed in unit.hash("positions").items():
        if key.startswith(b"*"):
            if key[1:] not in unit.zset("sessions"):
                yield Fault(
                    "positions", f"session {shown(key[1:])} was assigned a file, but does not exist"
                )
            elif not _SHOWN.fullmatch(packed):
                yield Fault("positions", f"the claim of session {shown(key[1:])} cannot be read")
        elif _GROUP.fullmatch(key):
            if not number(packed) or int(key) > groups:
                yield Fault(
                    "positions", f"group {shown(key)} has no valid position, or does not exist"
                )
        elif found := _POSITION.fullmatch(key):
            yield from _position(key, packed, files.get(int(found[2])), int(found[1]), counts)
        else:
            yield Fault("positions", f"{shown(key)} is not a position")


def _position(
    key: bytes, packed: bytes, file: _File | None, group: int, counts: Mapping[str, Any]
) -> Iterator[Fault]:
    position = _read(packed, _StoredPosition)
    if position is None:
        yield Fault("positions", f"position {shown(key)} cannot be read")
    elif file is None:
        yield Fault("positions", f"position {shown(key)} is in a file that does not exist")
    elif file.done[group - 1 : group] not in ("0", "2"):
        yield Fault("positions", f"position {shown(key)} is of a group that finished the file")
    elif max(position.acked, position.read) > file.bytes:
        far = max(position.acked, position.read)
        yield Fault("positions", f"position {shown(key)} is at {far} of {file.bytes} bytes")
    elif position.token > counts["token"]:
        yield Fault("positions", f"position {shown(key)} has a token that was never assigned")
