"""Compute marks: digests that show whether a local file is still the one that was read before."""

from __future__ import annotations

import hashlib
from typing import NamedTuple


class Tail(NamedTuple):
    """Hold the bytes before an offset of a file.

    Attributes:
        end: the offset at which the bytes end.
        data: the bytes.
    """

    end: int
    data: bytes


def marked(head: bytes, tail: bytes) -> str:
    """Return the digest that identifies a local file by its first bytes *head* and its last bytes
    *tail*. It begins with the length of *tail*."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(b"%d " % len(head))
    digest.update(head)
    digest.update(tail)
    return f"{len(tail)}-{digest.hexdigest()}"


def length_of(mark: str) -> int:
    """Return the length of the *tail* in *mark*.

    Return 1 for an empty mark, which fits each file that reaches the offset.
    """
    return int(mark.partition("-")[0]) if mark else 1
