"""Marks: digests by which a local file is recognized when another file gets its name."""

from __future__ import annotations

import hashlib
from typing import NamedTuple


class Tail(NamedTuple):
    """The last bytes before an offset of a file.

    Attributes:
        end: the offset after them.
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
    """Return how many last bytes *mark* covers.

    1 for an empty mark, which only needs the offset.
    """
    return int(mark.partition("-")[0]) if mark else 1
