"""Check the keys of rate limiters for an audit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from struct import Struct, error
from typing import Final

from ..core.audit import Fault, Part, Snapshot
from ..errors import DecodeError
from .definition import parsed_limits
from .keys import LIMITER, SUBJECT

KINDS = (LIMITER, SUBJECT)

_NAMES: Final = {LIMITER: "definition", SUBJECT: "log"}

_VERSION: Final = 1
_HEAD: Final = Struct(">B6sBB")
_LOG: Final = Struct(">2s5sB")
_SUM_BYTES: Final = 5
_ENTRY: Final = Struct(">6s5s")
_MARK_BYTES: Final = 12
_AHEAD_BYTES: Final = 6
_MOST: Final = 2**40 - 1
"""Largest cost, and largest sum, that the state stores."""


def part(kind: str, name: str) -> Part | None:
    """Return the expected type of the key *name*; None if limiters have no such key."""
    return Part("string") if _NAMES[kind] == name else None


def others(unit: Snapshot) -> Iterable[str]:
    """Return the keys to read even if the audit's listing did not have them."""
    return (_NAMES[unit.unit.kind],)


def wanted(_unit: Snapshot) -> Iterable[tuple[str, bytes]]:
    """Return no fields: the keys are strings."""
    return ()


def faults(unit: Snapshot) -> Iterator[Fault]:
    """Yield the inconsistencies in the keys of a limiter or a subject."""
    if unit.has("definition"):
        try:
            parsed_limits(unit.string("definition"), "the definition")
        except DecodeError:
            yield Fault("definition", "it cannot be read")
    if unit.has("log"):
        for what in _wrong(unit.string("log")):
            yield Fault("log", what)


def _wrong(state: bytes) -> Iterator[str]:
    """Yield what is wrong with the state of a subject; see lua/parts/state.lua."""
    try:
        version, _, marks, logs = _HEAD.unpack_from(state)
        at = _HEAD.size + marks * _MARK_BYTES
        for _ in range(logs):
            _, _, entries = _LOG.unpack_from(state, at)
            at += _LOG.size
            total = int.from_bytes(state[at : at + _SUM_BYTES])
            at += (_SUM_BYTES if entries > 1 else 0) + entries * _ENTRY.size
            log = [*_ENTRY.iter_unpack(state[at - entries * _ENTRY.size : at])]
            if [when for when, _ in log] != sorted({when for when, _ in log}):
                yield "its instants do not ascend"
            costs = sum(int.from_bytes(cost) for _, cost in log)
            if entries > 1 and costs != total < _MOST:
                yield "its costs do not add up to their sum"
    except error:
        version = at = -1
    if version != _VERSION or at not in (len(state), len(state) - _AHEAD_BYTES):
        yield "it cannot be read"
