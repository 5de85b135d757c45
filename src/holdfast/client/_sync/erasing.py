# Generated from _async/erasing.py by tools/unasync.py: edit that, then run `make sync`.
"""Removes all of a namespace, a bounded step at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final

from ...core._sync.caller import Caller
from ...core.names import Namespace
from ...core.transport.settings import Address

STEP: Final = 1000
"""Keys that the server looks at in one step: less than a millisecond."""


def erased(caller: Caller, namespace: Namespace) -> int:
    """Remove every key of *namespace*, on every server; how many there were."""
    number = 0
    for address in caller.primaries():
        number += _erased_at(caller, namespace, address)
    return number


def _erased_at(caller: Caller, namespace: Namespace, address: Address) -> int:
    unit = namespace.unit("namespace", namespace.name)
    pattern = f"{namespace.prefix}*"  # a prefix holds nothing that is special in a pattern
    number, cursor = 0, b"0"
    while True:
        cursor, keys = caller.ask(address, unit, "SCAN", cursor, "MATCH", pattern, "COUNT", STEP)
        for together in _by_slot(keys):
            number += caller.ask(address, unit, "UNLINK", *together)
        if cursor == b"0":
            return number


def _by_slot(keys: Iterable[bytes]) -> Iterator[list[bytes]]:
    """The keys of each unit: a cluster takes only keys of one slot together."""
    for _, together in groupby(sorted(keys), lambda key: key.partition(b"}")[0]):
        yield list(together)
