"""Cached rows: how they are stored, and when a row is fresh or stale. No I/O."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, Literal

import msgspec

from ..core.codec import Codec, decoded
from ..core.stored import MAX_EXACT, stored_int
from ..errors import DecodeError

State = Literal["fresh", "stale", "absent", "uncached"]

JITTER: Final = 0.1
"""Fraction of its period by which a refresh is earlier or later. It spreads rows that were
scheduled together."""

GRACE_MS: Final = 1000
"""Milliseconds after period and jitter until a row counts as stale: a refresh takes time."""


class CachedRow(msgspec.Struct, frozen=True):
    """A row as the cache has it.

    Attributes:
        value: the row: column → value, as JSON or the codec of the cache returns it; None if there
            is no such row.
        age: seconds since it was read from the source, by the server's clock; None if not known.
        state: `fresh`; `stale` (older than its period: no process refreshes it, the source does not
            answer, or `max_age` is lower); `absent` (the source has no such row); `uncached` (the
            cache does not have it; a value was loaded just now and not stored).
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
    """Return a number of milliseconds. Rows that are read together have most of them in common."""
    return stored_int(text, "a number in it", 0, MAX_EXACT)


def with_row_name(error: DecodeError, member: str, cache: str) -> DecodeError:
    """Return *error* with the name of its row, which was not known where it was raised."""
    what = error.what if error.what != _A_ROW else f"row {member} of row cache {cache!r}"
    return DecodeError(what, error.problem)


class CachedCopy(msgspec.Struct, frozen=True):
    """Hold what the server stores for a row.

    Attributes:
        read_ms: time of the last read from the source, by the server's clock.
        age_ms: milliseconds since then.
        asked_ms: age of the row when its reader asked for it; readers compare this with `max_age`.
        fresh_ms: age up to which it is fresh.
        stale_ms: milliseconds after that for which it may still be returned.
        body: the encoded row; None: the source has no such row.
        scheduled: whether refreshers keep it fresh.
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
        """Return the copy in a reply of the server, however old; None if the row is not cached.

        Raises:
            DecodeError: A row cache did not write it.
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
        """Return whether it may still be returned, at least as stale."""
        return self.age_ms <= self.fresh_ms + self.stale_ms

    def as_seen_by_waiter(self, since_ms: int) -> CachedCopy:
        """Return the copy for a reader that has waited since that time of the server's clock."""
        asked_ms = min(self.age_ms, max(0, since_ms - self.read_ms))
        return msgspec.structs.replace(self, asked_ms=asked_ms)

    def serves(self, max_age_ms: int | None) -> bool:
        """Return whether a reader accepts it, so that nothing is loaded."""
        if max_age_ms is not None and self.asked_ms > max_age_ms:
            return False
        # A refresher loads a stale scheduled row. Readers do not, or all would load it at once.
        return self.is_usable if self.scheduled else self.asked_ms <= self.fresh_ms

    def for_reader(self, codec: Codec, into: Any, max_age_ms: int | None = None) -> CachedRow:
        """Return the row for a reader.

        Raises:
            DecodeError: The codec did not write what is stored.
        """
        young = max_age_ms is None or self.asked_ms <= max_age_ms
        fresh = young and self.asked_ms <= self.fresh_ms
        age = self.age_ms / 1000
        if self.body is None:
            return CachedRow(None, age, "absent" if fresh else "stale")
        value = decoded(codec, self.body, into, _A_ROW)
        return CachedRow(value, age, "fresh" if fresh else "stale")


def scheduled_fresh_ms(every_ms: int) -> int:
    """Return the age up to which a row with this period is fresh."""
    return round(every_ms * (1 + JITTER)) + GRACE_MS
