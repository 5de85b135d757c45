"""Pack and parse stored values; see `value` in keys.py. No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from struct import Struct, error
from typing import Any, Final

import msgspec

from .options import TICK_MS, Lifetimes

FORMAT: Final = 1

_HEAD: Final = Struct(">QBBBIII")
_REST: Final = Struct(">BBBIII")

EPOCH_BYTES: Final = 8

NOTICE_MS: Final = 1000
"""Milliseconds for which a value is kept after its lifetime, so that callers that have waited for
it can still read it."""


class StoredValue(msgspec.Struct, frozen=True):
    """A valid value as a read returned it: all its epochs are current.

    Attributes:
        body: the encoded result.
        flags: how it is encoded; see result_format.py.
        stored_ms: when it was stored, by the server's clock.
        age_ms: its age at the time of the read.
        fresh_ms: the age up to which it is fresh.
        refresh_ms: the age from which on it is refreshed.
        stale_ms: how long it may be served as stale after `fresh_ms`.
    """

    body: bytes
    flags: int
    stored_ms: int
    age_ms: int
    fresh_ms: int
    refresh_ms: int
    stale_ms: int

    @property
    def is_fresh(self) -> bool:
        """Return whether the value is fresh."""
        return self.age_ms < self.fresh_ms

    @property
    def is_usable(self) -> bool:
        """Return whether the value may be served, fresh or stale."""
        return self.age_ms < self.fresh_ms + self.stale_ms


def content(lifetimes: Lifetimes, epochs: Sequence[bytes], flags: int, body: bytes) -> bytes:
    """Return a stored value without its first field, the time, which `lua/commit.lua` adds."""
    ticks = (
        -(-each // TICK_MS)
        for each in (lifetimes.fresh_ms, lifetimes.refresh_ms, lifetimes.stale_ms)
    )
    head = _REST.pack(FORMAT, flags, len(epochs), *ticks)
    return head + packed(tuple(epochs)) + body


def life_ms(lifetimes: Lifetimes) -> int:
    """Return how long the server keeps a value: the durations that `content` stores for fresh and
    stale, and `NOTICE_MS`. So a reader can compute the age from the remaining lifetime."""
    ticks = -(-lifetimes.fresh_ms // TICK_MS) - (-lifetimes.stale_ms // TICK_MS)
    return ticks * TICK_MS + NOTICE_MS


@lru_cache(maxsize=4096)
def packed(epochs: tuple[bytes, ...]) -> bytes:
    """Return epochs as a value stores them. It is cached, because many values have the same."""
    return b"".join([int(epoch).to_bytes(EPOCH_BYTES) for epoch in epochs])


def parsed(
    stored: bytes | None,
    epochs: Sequence[Any],
    *,
    now_ms: int = 0,
    left_ms: int | None = None,
) -> StoredValue | None:
    """Return a stored value; None if there is none, or if it is not valid.

    Args:
        stored: content of the key.
        epochs: the current epochs; an epoch that does not exist is None.
        now_ms: current time by the server's clock.
        left_ms: how long the server still keeps the key. If given, the age is computed from it
            instead of *now_ms*.
    """
    if stored is None or None in epochs:
        return None
    try:
        at_ms, version, flags, count, fresh, refresh, stale = _HEAD.unpack_from(stored)
        start = _HEAD.size + EPOCH_BYTES * count
        current = packed(tuple(epochs))
    except (error, ValueError, OverflowError):  # another program, or another version, wrote it
        return None
    if version != FORMAT or stored[_HEAD.size : start] != current:
        return None
    fresh_ms, stale_ms = fresh * TICK_MS, stale * TICK_MS
    age_ms = now_ms - at_ms if left_ms is None else fresh_ms + stale_ms + NOTICE_MS - left_ms
    return StoredValue(
        stored[start:], flags, at_ms, max(age_ms, 0), fresh_ms, refresh * TICK_MS, stale_ms
    )
