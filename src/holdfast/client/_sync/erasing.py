# Generated from _async/erasing.py by tools/unasync.py: edit that, then run `make sync`.
"""Remove all keys of a namespace, in bounded steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final

from ...core._sync.caller import Caller
from ...core.names import Namespace
from ...core.transport.settings import Address

STEP: Final = 1000
"""Number of keys that one step of the scan checks, in less than a millisecond."""


def erase(caller: Caller, namespace: Namespace) -> int:
    """Remove all keys of *namespace* on all servers. Return the number of removed keys."""
    number = 0
    for address in caller.primaries():
        number += _erase_at(caller, namespace, address)
    return number


def _erase_at(caller: Caller, namespace: Namespace, address: Address) -> int:
    unit = namespace.unit("namespace", namespace.name)
    pattern = f"{namespace.prefix}*"  # a prefix has no characters that are special in patterns
    number, cursor = 0, b"0"
    while True:
        cursor, keys = caller.ask(address, unit, "SCAN", cursor, "MATCH", pattern, "COUNT", STEP)
        for together in _by_slot(keys):
            number += caller.ask(address, unit, "UNLINK", *together)
        if cursor == b"0":
            return number


def _by_slot(keys: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Yield the keys of each unit as a list, because a command in a cluster takes only keys of one
    slot."""
    for _, together in groupby(sorted(keys), lambda key: key.partition(b"}")[0]):
        yield list(together)
