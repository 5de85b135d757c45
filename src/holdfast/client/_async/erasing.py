"""Remove all keys of a namespace, in bounded steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final

from ...core._async.caller import AsyncCaller
from ...core.names import Namespace
from ...core.transport.settings import Address

STEP: Final = 1000
"""Number of keys that one step of the scan checks, in less than a millisecond."""


async def erase(caller: AsyncCaller, namespace: Namespace) -> int:
    """Remove all keys of *namespace* on all servers. Return the number of removed keys."""
    number = 0
    for address in await caller.primaries():
        number += await _erase_at(caller, namespace, address)
    return number


async def _erase_at(caller: AsyncCaller, namespace: Namespace, address: Address) -> int:
    unit = namespace.unit("namespace", namespace.name)
    pattern = f"{namespace.prefix}*"  # a prefix has no characters that are special in patterns
    number, cursor = 0, b"0"
    while True:
        cursor, keys = await caller.ask(
            address, unit, "SCAN", cursor, "MATCH", pattern, "COUNT", STEP
        )
        for together in _by_slot(keys):
            number += await caller.ask(address, unit, "UNLINK", *together)
        if cursor == b"0":
            return number


def _by_slot(keys: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Yield the keys of each unit as a list, because a command in a cluster takes only keys of one
    slot."""
    for _, together in groupby(sorted(keys), lambda key: key.partition(b"}")[0]):
        yield list(together)
