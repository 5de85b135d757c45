"""Decode the values that a table needs from records in the data section of a MaxMind database.

    control byte, 3 highest bits   kind of the value; 0: the next byte plus 7 is the kind
    control byte, 5 lowest bits    size; 29, 30, 31: the size is in the next 1, 2, 3 bytes

The file is untrusted. The fast decoder of the library `maxminddb` crashes the process on some
damaged files. Its slow decoder takes a minute for a city table, and hours for a malicious file.
This decoder never reads out of bounds, and decodes a value once even if many pointers lead to it.
So the size of the file limits its work. It skips languages that are not needed.

Format: https://maxmind.github.io/MaxMind-DB/, version 2.0, "Output Data Section".
"""

from __future__ import annotations

from typing import Any, Final

_POINTER, _TEXT, _MAP, _ARRAY, _FLAG = 1, 2, 7, 11, 14
_SIZED: Final = {3, 4, 5, 6, 8, 9, 10, 15}
"""Kinds of numbers and bytes; their size is in bytes."""

_POINTER_OFFSETS: Final = (0, 2048, 526336, 0)

MAX_DEPTH: Final = 64
"""Maximum nesting of values; valid records have about six levels."""

MAX_SIZE: Final = 1 << 16
"""Maximum bytes of a text, and maximum number of members of a map or an array."""


class BadRecord(Exception):
    """Raised when the data is not a valid value; the text explains why."""


class RecordDecoder:
    """Decode values of a data section. Keep only the wanted members of maps.

    Args:
        data: the data section.
        wanted: keys of the members that are kept.
    """

    def __init__(self, data: bytes, wanted: frozenset[str]) -> None:
        self._data = data
        self._wanted = wanted
        self._decoded: dict[int, Any] = {}
        # Limit the number of decoded values. Valid data needs fewer than twice its bytes, because
        # each value has at least one byte.
        self._values_left = 2 * len(data)
        # Limit the decoded text. The target of each pointer is decoded by itself. So if targets
        # overlap, such as a map and a map inside it, damaged data could fill the memory.
        self._text_bytes_left = 8 * len(data)

    def read(self, at: int) -> Any:
        """Return the value at the offset *at*; None for a value that is no text, map or array.

        Raises:
            BadRecord: the value is not valid.
        """
        try:
            return self._value(at, 0)[0]
        except IndexError:
            raise BadRecord("a record points out of the data") from None
        except UnicodeDecodeError:
            raise BadRecord("a text is not UTF-8") from None

    def _value(self, at: int, depth: int) -> tuple[Any, int]:
        """Return the value at an offset, and the offset after it."""
        self._values_left -= 1
        if self._values_left < 0 or depth > MAX_DEPTH:
            raise BadRecord("its records have a cycle, or overlap")
        control = self._data[at]
        at += 1
        kind = control >> 5
        if kind == _POINTER:
            return self._pointer_target(control, at, depth)
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
                raise BadRecord("the key of a map is not a text")
            if key in self._wanted:
                found[key] = value
        return found, at

    def _pointer_target(self, control: int, at: int, depth: int) -> tuple[Any, int]:
        length = (control >> 3 & 3) + 1
        more = self._data[at : at + length]
        if len(more) < length:
            raise IndexError
        high = control & 7 if length < 4 else 0
        target = (high << 8 * length) + int.from_bytes(more) + _POINTER_OFFSETS[length - 1]
        if target not in self._decoded:
            if self._data[target] >> 5 == _POINTER:
                raise BadRecord("a pointer points to another one")
            self._decoded[target] = self._value(target, depth + 1)[0]
        return self._decoded[target], at + length

    def _size(self, size: int, at: int) -> tuple[int, int]:
        """Return the size of a value, and the offset after it.

        Args:
            size: the 5 lowest bits of the control byte.
            at: offset after the control byte.
        """
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
        self._text_bytes_left -= size
        if self._text_bytes_left < 0:
            raise BadRecord("its texts overlap")
        return self._data[at:end].decode(), end
