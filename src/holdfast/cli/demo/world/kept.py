"""What the server keeps, by block."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

STEP: Final = 500
BLOCK: Final = re.compile(rb"\{([a-z]+)")


@dataclass(frozen=True, slots=True)
class Kept:
    """What was on the server at an instant.

    Attributes:
        at_s: when, in seconds from the beginning.
        memory: bytes that it used.
        keys: how many there were of each block.
        bytes: likewise, what they took.
    """

    at_s: float
    memory: int
    keys: dict[str, int]
    bytes: dict[str, int]

    @property
    def beside(self) -> int:
        """Bytes that are in no key: connections, scripts, the server itself."""
        return self.memory - sum(self.bytes.values())


def kept_on(server: Any, at_s: float) -> Kept:
    """Look at every key of a server, in steps; a minute's work of a demo is a second of it at most.

    Args:
        server: a client of redis-py.
        at_s: the instant that is noted.
    """
    keys, size = Counter[str](), Counter[str]()
    names = server.scan_iter(count=STEP)
    while some := list(islice(names, STEP)):
        with server.pipeline(transaction=False) as asked:
            for name in some:
                asked.memory_usage(name, samples=0)
            for name, taken in zip(some, asked.execute(), strict=True):
                block = _block(name)
                keys[block] += 1
                size[block] += taken or 0
    memory = server.info("memory")["used_memory"]
    return Kept(at_s, memory, dict(keys.most_common()), dict(size.most_common()))


def _block(name: bytes) -> str:
    found = BLOCK.search(name)
    return found[1].decode() if found else "other"
