"""By what the files of this machine are known again, though others get their names."""

from __future__ import annotations

import hashlib
from typing import NamedTuple


class Tail(NamedTuple):
    """Bytes of a file.

    Attributes:
        end: the offset behind them.
        data: the bytes.
    """

    end: int
    data: bytes


def marked(head: bytes, tail: bytes) -> str:
    """Return the mark of a file with these first and last bytes."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(b"%d " % len(head))
    digest.update(head)
    digest.update(tail)
    return f"{len(tail)}-{digest.hexdigest()}"


def length_of(mark: str) -> int:
    """Return of how many last bytes *mark* is; 1 without one: whether the file reaches so far."""
    return int(mark.partition("-")[0]) if mark else 1
