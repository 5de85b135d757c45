"""Parse cached rows, and decide whether a row is fresh or stale. No I/O."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, Literal

import msgspec

from ..core.codec import Codec, decoded
from ..core.stored import MAX_EXACT, stored_int
from ..errors import DecodeError

State = Literal["fresh", "stale", "absent", "uncached"]

JITTER: Final = 0.1
"""Fraction of the period by which each refresh is randomly earlier or later, so that rows scheduled
together are not all due at the same time."""

GRACE_MS: Final = 1000
"""Milliseconds after period and jitter for which a row stays fresh, as a refresh takes time."""


class CachedRow(msgspec.Struct, frozen=True):
    """Hold a row that the cache returns.

    Attributes:
        value: the row, column → value, as the codec of the cache decodes it (by default from
            JSON); None if there is no row.
        age: seconds since the row was read from the source, by the server's clock; None if unknown.
        state: `fresh`; `stale` (older than its period or than `max_age`, for example because no
            process refreshes it); `absent` (the source has no such row); `uncached` (the cache does
            not have the row; a value was loaded just now and not stored).
    """

    value: Any
    age: float | None
    state: State

    def __bool__(self) -> bool:
        return self.value is not None


UNCACHED: Final = CachedRow(None, None, "uncached")

_A_ROW: Final = "a cached row"


@lru_cache(maxsize=256)
def _number(text: bytes) -> int:
    """Parse a number of milliseconds. It is cached, because many rows have the same numbers."""
    return stored_int(text, "a number in it", 0, MAX_EXACT)


def with_row_name(error: DecodeError, member: str, cache: str) -> DecodeError:
    """Return *error* with the name of its row, which was unknown where the error was raised."""
    what = error.what if error.what != _A_ROW else f"row {member} of row cache {cache!r}"
    return DecodeError(what, error.problem)


class CachedCopy(msgspec.Struct, frozen=True):
    """Hold the cached copy of a row.

    Attributes:
        read_ms: when the row was last read from the source, by the server's clock.
        age_ms: milliseconds since `read_ms`.
        asked_ms: age of the row when its reader requested it; this age is compared with `max_age`.
        fresh_ms: age in milliseconds up to which the row is fresh.
        stale_ms: milliseconds after `fresh_ms` for which readers may get the row as stale.
        body: the encoded row; None: the source has no such row.
        scheduled: whether the row is scheduled, so that refreshers load it.
    """

    read_ms: int
    age_ms: int
    asked_ms: int
    fresh_ms: int
    stale_ms: int
    body: bytes | None
    scheduled: bool

    @classmethod
    def of(cls, now_ms: int, stored: bytes, planned: bytes) -> CachedCopy | None:
        """Parse the stored values of a row; return None if the row is not cached.

        Args:
            now_ms: current time by the server's clock.
            stored: value of the row's key; empty if there is none.
            planned: value of the row in `plan`; empty if the row is not scheduled.

        Raises:
            DecodeError: A value is not valid.
        """
        if not stored:
            return None
        try:
            read, fresh, stale, body = stored.split(b":", 3)
            read_ms, fresh_ms, stale_ms = _number(read), _number(fresh), _number(stale)
            if planned:
                every, _, seen = planned.partition(b":")
                read_ms = max(read_ms, _number(seen))
                fresh_ms = scheduled_fresh_ms(_number(every))
        except ValueError as error:
            raise DecodeError(
                _A_ROW, f"{error}; `invalidate` it, and `schedule` it again"
            ) from None
        age_ms = now_ms - read_ms if now_ms > read_ms else 0
        found = body[1:] if body.startswith(b"=") else None
        return cls(read_ms, age_ms, age_ms, fresh_ms, stale_ms, found, bool(planned))

    @property
    def is_usable(self) -> bool:
        """Return whether readers may get the copy, fresh or stale."""
        return self.age_ms <= self.fresh_ms + self.stale_ms

    def as_seen_by_waiter(self, since_ms: int) -> CachedCopy:
        """Return the copy with the age that it had at *since_ms* (server time).

        A reader that has waited since then compares this age with its `max_age`.
        """
        asked_ms = min(self.age_ms, max(0, since_ms - self.read_ms))
        return msgspec.structs.replace(self, asked_ms=asked_ms)

    def serves(self, max_age_ms: int | None) -> bool:
        """Return whether a reader with this *max_age_ms* accepts the copy, so that the row is not
        loaded."""
        if max_age_ms is not None and self.asked_ms > max_age_ms:
            return False
        # Accept a stale scheduled row: a refresher loads it. Otherwise all readers would load it.
        return self.is_usable if self.scheduled else self.asked_ms <= self.fresh_ms

    def for_reader(self, codec: Codec, into: Any, max_age_ms: int | None = None) -> CachedRow:
        """Return the row for a reader.

        Raises:
            DecodeError: The codec cannot decode the stored row.
        """
        young = max_age_ms is None or self.asked_ms <= max_age_ms
        fresh = young and self.asked_ms <= self.fresh_ms
        age = self.age_ms / 1000
        if self.body is None:
            return CachedRow(None, age, "absent" if fresh else "stale")
        value = decoded(codec, self.body, into, _A_ROW)
        return CachedRow(value, age, "fresh" if fresh else "stale")


def scheduled_fresh_ms(every_ms: int) -> int:
    """Return the age (ms) up to which a row with the period *every_ms* is fresh."""
    return round(every_ms * (1 + JITTER)) + GRACE_MS
