"""Every key of a tally: type, content and lifetime.

Counts and positions are kept for 400 days after their last change.
"""

from __future__ import annotations

import hashlib
from typing import Final

from ..core.names import Unit

KIND = "tally"

KEPT_S: Final = 400 * 86_400
"""Seconds for which counts are kept, so that a day can be compared with the same day a year ago."""

STAGED_S: Final = 600
"""Seconds for which staged counts are kept if they are never committed."""


def position(unit: Unit, file: str) -> str:
    """STRING `OFFSET TOKEN MARK`: the position of a file.

    - `OFFSET`: bytes up to which the file is counted.
    - `TOKEN`: token of the latest commit.
    - `MARK`: digest of the bytes before the offset, for a local file. A file with the same id but
      another mark is another file, and has its own key.

    The key contains the BLAKE2b hash of the file's id (16 bytes, hexadecimal). It is kept as long
    as the counts, because without it the file would be counted again.
    """
    return unit.key(f"file:{hashlib.blake2b(file.encode(), digest_size=16).hexdigest()}")


def days(unit: Unit) -> str:
    """ZSET day → number of counted lines."""
    return unit.key("days")


def counts(unit: Unit, name: str) -> str:
    """ZSET of numbers of lines.

    * `of:DAY:DIMENSION`: value of the dimension → number of lines.
    * `dimensions:DAY`: dimension → number of lines that have a value in it.
    * `rejected:DAY`: reason → number of rejected lines; `rejected:` if the day is unknown.
    """
    return unit.key(name)


def samples(unit: Unit, day: str) -> str:
    """ZSET of the first rejected lines of a day ('' if unknown), cut to 200 bytes; scored by when
    they were added (ms).
    """
    return unit.key(f"samples:{day}")


def staged(unit: Unit, token: str) -> str:
    """LIST of chunks: MessagePack arrays `[name, before, count, value, count, value, …]`.

    *name* is the name of the counts to which the chunk is added. *before* is how many values
    earlier chunks of the commit add to the same counts. The list expires after ten minutes.
    """
    return unit.key(f"staged:{token}")


def journal(unit: Unit, token: str) -> str:
    """LIST of the staged chunks after their commit. Each chunk is removed when it is added to its
    counts."""
    return unit.key(f"journal:{token}")


def pending(unit: Unit) -> str:
    """LIST of the tokens of the journals that still have chunks."""
    return unit.key("pending")
