"""Convert ids of rows (ints, texts, or tuples of these) to JSON and back."""

from __future__ import annotations

import zlib
from enum import Enum
from typing import Any, Final

import msgspec

from ..errors import DecodeError, InvalidName

RowId = int | str | tuple[int | str, ...]
"""Id of a row. `1` and `"1"` are different ids. A tuple is the id for a key of several columns."""

MAX_ID_BYTES: Final = 512
"""Maximum bytes of an id as JSON."""

MAX_PARTS: Final = 16

_INT64: Final = 2**63


def member_of(row_id: Any) -> str:
    """Return *row_id* as JSON, the name of the row on the server. Different ids have different
    JSON.

    Raises:
        TypeError: *row_id* is not an int, a str, or a tuple of these.
        ValueError: *row_id* has a number beyond 64 bits or a text with a NUL, or is an empty tuple.
        InvalidName: *row_id* is too long, or not valid Unicode.
    """
    if row_id.__class__ is int and -_INT64 <= row_id < _INT64:
        return str(row_id)
    if isinstance(row_id, tuple):
        if not 1 <= len(row_id) <= MAX_PARTS:
            raise ValueError(f"an id has 1 to {MAX_PARTS} parts, got {row_id!r}")
        plain: Any = tuple(map(_plain, row_id))
    else:
        plain = _plain(row_id)
    try:
        member = msgspec.json.encode(plain).decode()
    except UnicodeEncodeError as error:
        raise InvalidName(str(row_id), f"not valid Unicode at position {error.start}") from None
    if len(member.encode()) > MAX_ID_BYTES:
        raise InvalidName(member, f"as an id it takes more than {MAX_ID_BYTES} bytes")
    return member


def id_of(member: str | bytes) -> RowId:
    """Return the id for which `member_of` returned *member*.

    Raises:
        DecodeError: *member* is not the JSON of an id.
    """
    try:
        row_id: Any = msgspec.json.decode(member)
        row_id = tuple(row_id) if isinstance(row_id, list) else row_id
        member_of(row_id)
    except (ValueError, TypeError, RecursionError) as error:
        raise DecodeError(f"the id {member[:80]!r} of a cached row", str(error)) from error
    return row_id  # type: ignore[no-any-return]


def shard_of(member: str, shards: int) -> int:
    """Return the number of the shard of a row: the CRC-32 of its JSON, modulo *shards*."""
    return zlib.crc32(member.encode()) % shards if shards > 1 else 0


def _plain(part: Any) -> Any:
    """Return *part* of an id as msgspec encodes it: not as a subclass of int or str."""
    if isinstance(part, bool) or not isinstance(part, int | str):
        raise TypeError(
            f"an id is an int, a str or a tuple of these, got {type(part).__name__} {part!r}"
        )
    if isinstance(part, str):
        if "\0" in part:
            raise ValueError(f"an id holds no NUL, got {part!r}")
        return part if isinstance(part, Enum) else str.__str__(part)
    if not -_INT64 <= part < _INT64:
        raise ValueError(f"an id is a number of 64 bits at most, got {part!r}")
    return part if isinstance(part, Enum) else int(part)
