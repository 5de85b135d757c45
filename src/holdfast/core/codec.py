"""Values to bytes and back. JSON by default, so that other languages can read what is stored."""

from __future__ import annotations

import math
from typing import Any, Final, Protocol

import msgspec

from ..errors import DecodeError, PayloadTooLarge

MAX_PAYLOAD_BYTES: Final = 1 << 20
"""1 MiB: what one task, message or result may take. A server is a poor place for larger things."""


class Codec(Protocol):
    """How values are stored. Must never run or import what it reads (no pickle)."""

    def encode(self, value: Any) -> bytes:
        """Return *value* as bytes; raise TypeError when it cannot be stored."""

    def decode(self, data: bytes, into: Any = Any) -> Any:
        """Return the value of *data* as the type *into*; raise ValueError when it is not one."""


class JsonCodec:
    """JSON by msgspec: also dataclasses, Structs, datetime, UUID, Decimal and bytes (base64)."""

    def encode(self, value: Any) -> bytes:
        data = msgspec.json.encode(value)
        if b"null" in data and _has_nan_or_infinity(msgspec.to_builtins(value)):
            raise ValueError("JSON has neither NaN nor infinity")
        return data

    def decode(self, data: bytes, into: Any = Any) -> Any:
        return msgspec.json.decode(data, type=into)


JSON: Final = JsonCodec()
"""The default codec: JSON, by msgspec."""


def encoded(codec: Codec, value: Any, what: str) -> bytes:
    """Return *value* as bytes, checked against the limit before any I/O.

    Raises:
        TypeError: the codec cannot store it.
        PayloadTooLarge: it takes more than `MAX_PAYLOAD_BYTES`.
    """
    try:
        data = codec.encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise TypeError(f"{what} cannot be stored: {error}") from error
    check_size(data, what)
    return data


def decoded(codec: Codec, data: bytes, into: Any, what: str) -> Any:
    """Return the value of *data* as the type *into*.

    Raises:
        DecodeError: it is not one; too large, too deep, wrong fields, not even the format.
    """
    if len(data) > MAX_PAYLOAD_BYTES:
        raise DecodeError(what, f"{len(data):,} bytes, the limit is {MAX_PAYLOAD_BYTES:,}")
    try:
        return codec.decode(data, into)
    except (TypeError, ValueError, RecursionError) as error:
        raise DecodeError(what, str(error)) from error


def check_size(data: bytes, what: str) -> None:
    """Refuse what is over the limit, with `PayloadTooLarge`."""
    if len(data) > MAX_PAYLOAD_BYTES:
        raise PayloadTooLarge(what, len(data), MAX_PAYLOAD_BYTES)


def _has_nan_or_infinity(value: Any) -> bool:
    """Return whether *value*, of builtin types, holds a float that JSON would turn into null."""
    match value:
        case float():
            return not math.isfinite(value)
        case dict():
            return any(map(_has_nan_or_infinity, value.values()))
        case list() | tuple() | set() | frozenset():
            return any(map(_has_nan_or_infinity, value))
        case _:
            return False
