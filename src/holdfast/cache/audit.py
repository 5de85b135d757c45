"""Check the keys of cached functions for an audit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from ..core.audit import Fault, Part, Snapshot, number
from ..errors import DecodeError
from .function_counts import status_of
from .keys import FUNCTION, SHARD, TAG

KINDS = (FUNCTION, SHARD, TAG)

_FUNCTION: Final = {"definition": Part("string"), "statistics": Part("hash")}
_EPOCH: Final = Part("string")
_VALUE: Final = Part("string", reading="nothing")


def part(kind: str, name: str) -> Part | None:
    """Return the expected type of the key *name*; None if cached functions have no such key."""
    if kind == FUNCTION:
        return _FUNCTION.get(name)
    if name == "epoch":
        return _EPOCH
    is_value = kind == SHARD and name.startswith(("value:", "load:"))
    return _VALUE if is_value else None


def others(_unit: Snapshot) -> Iterable[str]:
    """Return no names: no key requires another one. A value without its epoch is only invalid."""
    return ()


def wanted(_unit: Snapshot) -> Iterable[tuple[str, bytes]]:
    """Return no fields: all hashes are read whole."""
    return ()


def faults(unit: Snapshot) -> Iterator[Fault]:
    """Yield what is wrong with an epoch, or with the options and the statistics of a function."""
    if unit.has("epoch") and number(unit.string("epoch")) is None:
        yield Fault("epoch", "it cannot be read; the next load replaces it")
    if unit.has("definition"):
        try:
            reply = [unit.string("definition"), b"0", *unit.hash("statistics").values()]
            status_of(unit.unit.name, reply)
        except DecodeError:
            yield Fault("definition", "it or the statistics cannot be read")
