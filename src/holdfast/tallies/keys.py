"""Every key of a tally: type, content and lifetime.

Counts, and the positions of the files that were counted, are kept for 400 days after they last
changed.
"""

from __future__ import annotations

import hashlib
from typing import Final

from ..core.names import Unit

KIND = "tally"

KEPT_S: Final = 400 * 86_400
"""Seconds for which counts are kept: a day can be compared with the same day of the last year."""

STAGED_S: Final = 600
"""Seconds for which counts are kept that were staged, and never committed."""


def position(unit: Unit, file: str) -> str:
    """STRING `offset token mark`: the offset up to which a file is counted, the token of the last
    commit, and a mark. The mark is a digest of bytes before the offset; files of a feed have none.
    A file with the same id and other bytes there is another file, and has its own key. The key
    contains the BLAKE2b of the file's id (16 bytes, hexadecimal). It is kept as long as the counts;
    without it, the lines would be counted again.
    """
    return unit.key(f"file:{hashlib.blake2b(file.encode(), digest_size=16).hexdigest()}")


def days(unit: Unit) -> str:
    """ZSET day → number of its lines that are counted."""
    return unit.key("days")


def counts(unit: Unit, name: str) -> str:
    """ZSET value → number of lines on a day.

    * `of:DAY:DIMENSION`: the lines for each value of the dimension.
    * `dimensions:DAY`: the lines for each dimension, with any value of it.
    * `rejected:DAY`: the rejected lines for each reason; `rejected:` if the day is unknown.
    """
    return unit.key(name)


def samples(unit: Unit, day: str) -> str:
    """ZSET of the first rejected lines of a day, cut to 200 bytes; scored by their time (ms).

    The day is empty if it is unknown.
    """
    return unit.key(f"samples:{day}")


def staged(unit: Unit, token: str) -> str:
    """LIST of MessagePack arrays `[name, before, count, value, count, value, …]`; ten minutes.

    *name* is that of the counts, and *before* is how many other values of these counts the commit
    adds before.
    """
    return unit.key(f"staged:{token}")


def journal(unit: Unit, token: str) -> str:
    """LIST of the staged arrays after their commit.

    Each is added to its counts, and removed.
    """
    return unit.key(f"journal:{token}")


def pending(unit: Unit) -> str:
    """LIST of the tokens of journals that are not empty yet."""
    return unit.key("pending")
