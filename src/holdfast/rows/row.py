"""Rows as a reader gets them, and what makes one fresh or stale: frozen, and no I/O."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, Literal

import msgspec

from ..core.codec import Codec, decoded
from ..core.stored import MAX_EXACT, stored_int
from ..errors import DecodeError

State = Literal["fresh", "stale", "absent", "uncached"]

JITTER: Final = 0.1
"""A row is refreshed after its period, give or take so much of it: what was scheduled together
must not come together for ever."""

GRACE_MS: Final = 1000
"""Beyond period and jitter: a refresh takes its time, and a row is not stale at once."""


class CachedRow(msgspec.Struct, frozen=True):
    """A row as the cache has it.

    Attributes:
        value: the row: column → value, as JSON has it, or as the codec of the cache does; None if
            there is none.
        age: seconds since it was read from the source, by the server's clock; None if it is not
            known.
        state: `fresh`, `stale` (it is older than its period allows: nobody refreshes it, the source
            does not answer, or a younger one was wanted), `absent` (the source has no such row), or
            `uncached` (the cache does not have it; a value was loaded just now and not kept).
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
    """*error*, once it is known of which row it is."""
    what = error.what if error.what != _A_ROW else f"row {member} of row cache {cache!r}"
    return DecodeError(what, error.problem)


class CachedCopy(msgspec.Struct, frozen=True):
    """What lies on the server for a row.

    Attributes:
        read_ms: when it was last seen to be so, by the server's clock.
        age_ms: how long ago that is.
        asked_ms: how long ago that was when its reader asked for it; to him it is no older.
        fresh_ms: up to which age it is fresh.
        stale_ms: for how long after that it is still given out.
        body: the encoded row; None: the source has none.
        scheduled: whether somebody refreshes it.
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
        """The copy that the server told of, however old; None: there is none.

        Raises:
            DecodeError: it was not written by a row cache.
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
            raise DecodeError(_A_ROW, f"{error}; `invalidate` it, and `schedule` it anew") from None
        age_ms = now_ms - read_ms if now_ms > read_ms else 0
        found = body[1:] if body.startswith(b"=") else None
        return cls(read_ms, age_ms, age_ms, fresh_ms, stale_ms, found, bool(planned))

    @property
    def is_usable(self) -> bool:
        """Whether it is better than nothing."""
        return self.age_ms <= self.fresh_ms + self.stale_ms

    def as_seen_by_waiter(self, since_ms: int) -> CachedCopy:
        """The copy for a reader who has waited since then, by the server's clock."""
        asked_ms = min(self.age_ms, max(0, since_ms - self.read_ms))
        return msgspec.structs.replace(self, asked_ms=asked_ms)

    def serves(self, max_age_ms: int | None) -> bool:
        """Whether a reader takes it as it is, and has nothing loaded."""
        if max_age_ms is not None and self.asked_ms > max_age_ms:
            return False
        # A scheduled row that is stale is its refresher's affair: readers must not rush to load it.
        return self.is_usable if self.scheduled else self.asked_ms <= self.fresh_ms

    def for_reader(self, codec: Codec, into: Any, max_age_ms: int | None = None) -> CachedRow:
        """The row for a reader.

        Raises:
            DecodeError: what is stored is not what the codec wrote.
        """
        young = max_age_ms is None or self.asked_ms <= max_age_ms
        fresh = young and self.asked_ms <= self.fresh_ms
        age = self.age_ms / 1000
        if self.body is None:
            return CachedRow(None, age, "absent" if fresh else "stale")
        value = decoded(codec, self.body, into, _A_ROW)
        return CachedRow(value, age, "fresh" if fresh else "stale")


def scheduled_fresh_ms(every_ms: int) -> int:
    """Up to which age a row with this period is fresh."""
    return round(every_ms * (1 + JITTER)) + GRACE_MS
