"""Keep rows in the memory of this process (`near=` of a row cache). No I/O."""

from __future__ import annotations

from typing import Any, Final

from ..core.codec import decoded
from ..core.near.cache import NearCache, Reading
from ..core.near.guard import clock
from ..errors import DecodeError
from .options import RowCacheOptions
from .row import CachedCopy, CachedRow, with_row_name

_UNCHANGEABLE: Final = frozenset([str, int, float, bool, type(None), bytes])
"""Types of values that all readers may share, because they cannot be changed."""


class NearRow:
    """A fresh row in memory.

    Args:
        copy: the copy that was read from the server.
        began: when the read began, by `clock`.
    """

    __slots__ = ("_codec", "_into", "_value", "body", "read_at")

    def __init__(self, copy: CachedCopy, began: float) -> None:
        self.body: bytes | None = copy.body
        self.read_at: float = began - copy.age_ms / 1000
        self._codec: Any = None
        self._into: Any = None
        self._value: Any = None

    def value(self, options: RowCacheOptions, *, share: bool) -> Any:
        """Return the decoded row. All readers with the same options get one object if *share*.

        Raises:
            DecodeError: the codec cannot decode the row.
        """
        codec, into = options.codec, options.into
        if self._codec is codec and self._into is into:
            return self._value
        assert self.body is not None
        value = decoded(codec, self.body, into, "a cached row")
        if share or type(value) in _UNCHANGEABLE:
            # Set the codec last: another thread that finds it uses the value without decoding.
            self._value, self._into, self._codec = value, into, codec
        return value


def find_row(
    near: NearCache, member: str, options: RowCacheOptions, max_age_ms: int | None, name: str
) -> CachedRow | None:
    """Return a row from memory; None if it may not be served from there.

    Args:
        near: the near cache.
        member: the row.
        options: options of the reader.
        max_age_ms: age up to which the reader accepts a row; None: any age.
        name: name of the row cache, for errors.

    Raises:
        DecodeError: the codec cannot decode the row.
    """
    now = clock()
    found: NearRow | None = near.find(member, now)
    if found is None:
        return None
    age_s = now - found.read_at
    if max_age_ms is not None and age_s * 1000 > max_age_ms:
        return None
    if found.body is None:
        return CachedRow(None, age_s, "absent")
    try:
        return CachedRow(found.value(options, share=near.near.share), age_s, "fresh")
    except DecodeError as error:
        raise with_row_name(error, member, name) from error


def keep_row(reading: Reading, member: str, copy: CachedCopy | None) -> None:
    """Keep *copy*, which was read in the context *reading*, in memory as long as it is fresh."""
    if copy is not None and copy.age_ms <= copy.fresh_ms:
        left_s = (copy.fresh_ms - copy.age_ms) / 1000
        reading.put(member, NearRow(copy, reading.began), len(copy.body or b""), left_s)
