"""The data section of a MaxMind database: what its records say of places, and no more.

    control byte: kind in the three highest bits (0: it is in the next byte, less 7), size in the
    others (29, 30, 31: one, two, three more bytes have it)

A file is not to be trusted. The library's quick decoder ends the process on some damaged ones, its
slow one takes a minute for a city table, and hours for a file made to that end. Here all reads are
within bounds, a value that many point at is read once, and the work is bounded by the size of the
file. Languages that nobody asked for are skipped.

Format: https://maxmind.github.io/MaxMind-DB/, version 2.0, "Output Data Section".
"""

from __future__ import annotations

from typing import Any, Final

_POINTER, _TEXT, _MAP, _ARRAY, _FLAG = 1, 2, 7, 11, 14
_SIZED: Final = {3, 4, 5, 6, 8, 9, 10, 15}
"""Kinds whose size is that of their bytes."""

_POINTER_OFFSETS: Final = (0, 2048, 526336, 0)

MAX_DEPTH: Final = 64
"""Of values within values; sound records have about six."""

MAX_SIZE: Final = 1 << 16
"""Of a text, or of the members of a map or an array."""


class BadRecord(Exception):
    """Something that is no value; says what."""


class Records:
    """Reads values, of maps only some members.

    Args:
        data: the data section.
        wanted: keys of maps that are kept.
    """

    def __init__(self, data: bytes, wanted: frozenset[str]) -> None:
        self._data = data
        self._wanted = wanted
        self._known: dict[int, Any] = {}
        # Each value takes a byte at least, and sound ones do not overlap.
        self._left = 2 * len(data)
        # A text is read where it stands, and once more for each value around it that is pointed at.
        self._left_of_texts = 8 * len(data)

    def read(self, at: int) -> Any:
        """The value at an offset; numbers are None.

        Raises:
            BadRecord: there is none.
        """
        try:
            return self._value(at, 0)[0]
        except IndexError:
            raise BadRecord("a record leads out of the data") from None
        except UnicodeDecodeError:
            raise BadRecord("a text is no UTF-8") from None

    def _value(self, at: int, depth: int) -> tuple[Any, int]:
        """The value at an offset, and the offset behind it."""
        self._left -= 1
        if self._left < 0 or depth > MAX_DEPTH:
            raise BadRecord("its records lead in circles, or overlap")
        control = self._data[at]
        at += 1
        kind = control >> 5
        if kind == _POINTER:
            return self._pointed_at(control, at, depth)
        if kind == 0:
            kind, at = 7 + self._data[at], at + 1
        size, at = self._size(control & 31, at)
        if kind == _TEXT or kind in _SIZED:
            return self._bytes(kind, at, size)
        if kind == _FLAG:
            return None, at
        if kind not in (_MAP, _ARRAY) or size > MAX_SIZE:
            raise BadRecord(f"a record has a value of kind {kind} and size {size:,}")
        read = self._members if kind == _MAP else self._items
        return read(at, size, depth + 1)

    def _items(self, at: int, size: int, depth: int) -> tuple[list[Any], int]:
        items = []
        for _ in range(size):
            item, at = self._value(at, depth)
            items.append(item)
        return items, at

    def _members(self, at: int, size: int, depth: int) -> tuple[dict[str, Any], int]:
        found = {}
        for _ in range(size):
            key, at = self._value(at, depth)
            value, at = self._value(at, depth)
            if not isinstance(key, str):
                raise BadRecord("the key of a map is no text")
            if key in self._wanted:
                found[key] = value
        return found, at

    def _pointed_at(self, control: int, at: int, depth: int) -> tuple[Any, int]:
        length = (control >> 3 & 3) + 1
        more = self._data[at : at + length]
        if len(more) < length:
            raise IndexError
        high = control & 7 if length < 4 else 0
        target = (high << 8 * length) + int.from_bytes(more) + _POINTER_OFFSETS[length - 1]
        if target not in self._known:
            if self._data[target] >> 5 == _POINTER:
                raise BadRecord("a pointer leads to another one")
            self._known[target] = self._value(target, depth + 1)[0]
        return self._known[target], at + length

    def _size(self, size: int, at: int) -> tuple[int, int]:
        """What a size in the control byte means."""
        if size < 29:
            return size, at
        length = size - 28
        more = self._data[at : at + length]
        if len(more) < length:
            raise IndexError
        return int.from_bytes(more) + (29, 285, 65_821)[length - 1], at + length

    def _bytes(self, kind: int, at: int, size: int) -> tuple[str | None, int]:
        end = at + size
        if end > len(self._data):
            raise IndexError
        if kind != _TEXT:
            return None, end
        if size > MAX_SIZE:
            raise BadRecord(f"a text has {size:,} bytes")
        self._left_of_texts -= size
        if self._left_of_texts < 0:
            raise BadRecord("its texts overlap")
        return self._data[at:end].decode(), end
