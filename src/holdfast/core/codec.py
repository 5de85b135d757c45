"""Convert values to bytes and back. The default is JSON, so that other languages can read it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, Protocol

import msgspec

from ..errors import DecodeError, PayloadTooLarge

MAX_PAYLOAD_BYTES: Final = 1 << 20
"""Largest size of one task, message or result: 1 MiB."""


class Codec(Protocol):
    """Converts values to bytes and back. Unlike pickle, it must not run or import what it reads."""

    def encode(self, value: Any) -> bytes:
        """Return *value* as bytes. Raise TypeError if it cannot be stored."""

    def decode(self, data: bytes, into: Any = Any) -> Any:
        """Return the value of *data* as the type *into*. Raise ValueError for another type."""


class JsonCodec:
    """Stores JSON, with dataclasses, Structs, datetime, UUID, Decimal and bytes (as base64).

    Models of pydantic are stored by the names of their fields.
    """

    def encode(self, value: Any) -> bytes:
        data = _JSON_ENCODER.encode(value)
        if b"null" in data and _has_nan_or_infinity(
            msgspec.to_builtins(value, enc_hook=_of_pydantic)
        ):
            raise ValueError("JSON has neither NaN nor infinity")
        return data

    def decode(self, data: bytes, into: Any = Any) -> Any:
        return msgspec.json.decode(data, type=into, dec_hook=_to_pydantic)


class MsgpackCodec:
    """Stores MessagePack, which takes less memory than JSON. Bytes stay bytes."""

    def encode(self, value: Any) -> bytes:
        return msgspec.msgpack.encode(value, enc_hook=_of_pydantic)

    def decode(self, data: bytes, into: Any = Any) -> Any:
        return msgspec.msgpack.decode(data, type=into, dec_hook=_to_pydantic)


JSON: Final = JsonCodec()
"""The default codec."""

MSGPACK: Final = MsgpackCodec()
"""A codec that takes less memory than `JSON`. Other languages can read it as well."""


def decoder(codec: Codec, into: Any) -> Callable[[bytes], Any]:
    """Return a function that decodes bytes as the type *into*, prepared for many calls.

    Raises:
        TypeError: *into* is a type that the codec cannot decode.
    """
    if codec is JSON:
        return msgspec.json.Decoder(into, dec_hook=_to_pydantic).decode
    if codec is MSGPACK:
        return msgspec.msgpack.Decoder(into, dec_hook=_to_pydantic).decode
    return lambda data: codec.decode(data, into)


def sorted_json(value: Any, what: str) -> bytes:
    """Return *value* as JSON with sorted keys. An error names the value *what*.

    Raises:
        TypeError: JSON cannot store *value*.
    """
    try:
        return msgspec.json.encode(value, enc_hook=_of_pydantic, order="sorted")
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise TypeError(f"{what} cannot be stored: {error}") from error


def encoded(codec: Codec, value: Any, what: str) -> bytes:
    """Return *value* as bytes. An error names the value *what*.

    Raises:
        TypeError: the codec cannot store *value*.
        PayloadTooLarge: *value* takes more than `MAX_PAYLOAD_BYTES`.
    """
    try:
        data = codec.encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise TypeError(f"{what} cannot be stored: {error}") from error
    check_size(data, what)
    return data


def decoded(codec: Codec, data: bytes, into: Any, what: str) -> Any:
    """Return the value of *data* as the type *into*. An error names the value *what*.

    Raises:
        DecodeError: *data* is too large, or the codec cannot decode it as *into*.
    """
    if len(data) > MAX_PAYLOAD_BYTES:
        raise DecodeError(what, f"{len(data):,} bytes, the limit is {MAX_PAYLOAD_BYTES:,}")
    try:
        return codec.decode(data, into)
    except (TypeError, ValueError, RecursionError) as error:
        raise DecodeError(what, str(error)) from error


def check_size(data: bytes, what: str) -> None:
    """Raise `PayloadTooLarge` if *data* is over `MAX_PAYLOAD_BYTES`; it names the data *what*."""
    if len(data) > MAX_PAYLOAD_BYTES:
        raise PayloadTooLarge(what, len(data), MAX_PAYLOAD_BYTES)


def _of_pydantic(value: Any) -> Any:
    """Return the JSON values of a model of pydantic, by its own serializer, without an import."""
    kind = type(value)
    serializer = getattr(kind, "__pydantic_serializer__", None)
    if serializer is None:
        raise TypeError(f"Encoding objects of type {kind.__name__} is unsupported")
    return serializer.to_python(value, mode="json", by_alias=False, round_trip=True)


def _to_pydantic(kind: Any, value: Any) -> Any:
    """Return *value* as a model of pydantic of the class *kind*, by its own validator."""
    validate = getattr(kind, "model_validate", None)
    if validate is None:
        raise NotImplementedError(f"Decoding objects of type {kind!r} is unsupported")
    return validate(value)


def _has_nan_or_infinity(value: Any) -> bool:
    """Return whether *value*, of builtin types, has a float that JSON would store as null."""
    match value:
        case float():
            return not math.isfinite(value)
        case dict():
            return any(map(_has_nan_or_infinity, value.values()))
        case list() | tuple() | set() | frozenset():
            return any(map(_has_nan_or_infinity, value))
        case _:
            return False


_JSON_ENCODER: Final = msgspec.json.Encoder(enc_hook=_of_pydantic)
