"""Every key of a tally: type, content and lifetime.

All that is counted is kept for 400 days after it last changed; so is what has been counted.
"""

from __future__ import annotations

import hashlib
from typing import Final

from ..core.names import Unit

KIND = "tally"

KEPT_S: Final = 400 * 86_400
"""Thirteen months: so a day can be compared with that of the year before."""

STAGED_S: Final = 600
"""For counts that were sent and never committed."""


def position(unit: Unit, file: str) -> str:
    """STRING `offset token mark`: up to where the lines of a file are counted, by which commit. The
    mark, which the files of a feed do not need, is a digest of bytes before the offset: a file of
    the same id with other bytes there is another file, and has a key of its own. The key has the
    BLAKE2b of the file's id (16 bytes, in hexadecimal). Kept as long as the counts: otherwise they
    would be added again.
    """
    return unit.key(f"file:{hashlib.blake2b(file.encode(), digest_size=16).hexdigest()}")


def days(unit: Unit) -> str:
    """ZSET day → how many of its lines are counted."""
    return unit.key("days")


def sums(unit: Unit, part: str) -> str:
    """ZSET value → in how many lines of a day: of a dimension, or why they were rejected.

    `of:DAY:DIMENSION` or `rejected:DAY`; of no day that could be read `rejected:`. In
    `dimensions:DAY` the values are the dimensions, each with the lines that have any value of it.
    """
    return unit.key(part)


def samples(unit: Unit, day: str) -> str:
    """ZSET of lines of a day that were rejected, the first few, cut; scored by when (ms).

    The day is empty where it could not be read.
    """
    return unit.key(f"samples:{day}")


def staged(unit: Unit, token: str) -> str:
    """LIST of MessagePack arrays `[part, before, count, value, count, value, …]`; ten minutes.

    *before*: so many other values of that part does the commit add before these.
    """
    return unit.key(f"staged:{token}")


def journal(unit: Unit, token: str) -> str:
    """LIST likewise, once they are committed; each is added to its sums and leaves."""
    return unit.key(f"journal:{token}")


def pending(unit: Unit) -> str:
    """LIST of the tokens of journals that are not empty yet."""
    return unit.key("pending")
