"""Finds keys in a partition that belong to another one since the layout has changed."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import unquote
from zlib import crc32

from ....core._async.caller import AsyncCaller
from ....core.names import Unit
from ... import keys

_PAGE: Final = 500


async def has_misplaced_keys(caller: AsyncCaller, unit: Unit, index: int, partitions: int) -> bool:
    """Return whether partition *index* of *partitions* has a key that belongs to another partition.

    The keys are unique keys and limit keys; this reads them page by page. If a task has both, its
    limit key has chosen the partition, so its unique key may be reported although it is in place.
    """
    for name in (keys.unique(unit), keys.kept(unit), keys.limit_keys(unit)):
        cursor: Any = b"0"
        done = False
        while not done:
            cursor, page = await caller.read(unit, "HSCAN", name, cursor, "COUNT", _PAGE)
            for field in page[::2]:
                text = field.decode(errors="surrogateescape")
                if name == keys.limit_keys(unit):
                    if " " not in text:
                        continue  # the record of a slot
                    text = " ".join(map(unquote, text.split(" ")))
                if crc32(text.encode(errors="surrogatepass")) % partitions != index:
                    return True
            done = cursor == b"0"
    return False
