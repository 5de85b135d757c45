"""Encode and decode bodies of messages: one byte for the type, then JSON or plain bytes."""

from __future__ import annotations

import re
from array import array
from itertools import accumulate
from typing import Any, Final

import msgspec

from ..core.codec import JSON, MAX_PAYLOAD_BYTES, check_size, encoded

MAX_DEPTH: Final = 100
"""Maximum nesting of lists and objects in a JSON value. Some JSON readers fail on deeper values."""

JSON_TAG: Final = b"j"
_BYTES: Final = b"b"
_CUT: Final = b"x"

_STRING: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_NO_BRACKETS: Final = bytes(set(range(256)) - set(b"[{]}"))
_STEPS: Final = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
"""Maps an opening bracket to 1, a closing one to -1 (as a signed byte). Their sum is the depth."""

SHALLOW_BYTES: Final = 2 * MAX_DEPTH
"""Size of a body that cannot be nested too deeply."""

decoded_json: Final = msgspec.json.Decoder().decode
"""Decode any JSON value. It is faster than `JSON.decode`, which takes a type in each call."""


def encoded_body(body: Any, what: str) -> bytes:
    """Return the stored form of *body*. Errors name the message as *what*.

    Raises:
        ValueError: *body* is an empty text or empty bytes, or is nested too deeply.
        TypeError: *body* is neither bytes nor a JSON value, or JSON would silently change it: it
            contains bytes, a set, or a key that is not a text.
        PayloadTooLarge: *body* takes more than 1 MiB.
    """
    if isinstance(body, bytes | bytearray | memoryview):
        data = bytes(body)
        check_size(data, what)
        tag = _BYTES
    else:
        data, tag = b"" if isinstance(body, str) and not body else _json(body, what), JSON_TAG
    if not data:
        raise ValueError(f"{what} is empty: there is nothing to send")
    return tag + data


def _json(body: Any, what: str) -> bytes:
    try:
        data = encoded(JSON, body, what)
    except TypeError as error:
        if isinstance(error.__cause__, RecursionError):
            raise _too_deep(what) from None
        raise
    if _is_deep(data):
        raise _too_deep(what)
    if isinstance(body, dict | list | tuple | set | frozenset) and (problem := _changed(body)):
        raise TypeError(f"{what} cannot be stored: {problem}")
    return data


def _changed(body: Any) -> str:
    """Describe a value in *body* that JSON would silently change; empty if there is none."""
    left = [body]
    while left:
        value = left.pop()
        if isinstance(value, bytes | bytearray | memoryview):
            return f"a {type(value).__name__} in it would become text: send bytes alone, or as text"
        if isinstance(value, set | frozenset):
            return f"a {type(value).__name__} in it would become a list: send a list"
        if isinstance(value, list | tuple):
            left += value
        elif isinstance(value, dict):
            for key in value:
                if not isinstance(key, str):
                    return f"the key {key!r} in it would become text: use text as keys"
            left += value.values()
    return ""


def decoded_body(stored: bytes) -> Any:
    """Decode a stored body.

    Raises:
        ValueError: *stored* is not a body that `encoded_body` returns.
    """
    tag, data = stored[:1], stored[1:]
    if tag == JSON_TAG:
        if len(data) >= SHALLOW_BYTES and _is_deep(data):
            raise _too_deep("JSON that")
        return decoded_json(data)
    if tag == _BYTES:
        return data
    if tag == _CUT and data.isdigit():  # written by `lua/parts/entries.lua`
        raise ValueError(f"it takes {int(data):,} bytes, more than {MAX_PAYLOAD_BYTES:,}")
    raise ValueError(f"it begins with {tag!r}, neither j nor b" if tag else "it is empty")


def _too_deep(what: str) -> ValueError:
    return ValueError(f"{what} is nested more than {MAX_DEPTH} deep")


def _is_deep(data: bytes) -> bool:
    """Return whether the JSON *data* is nested more than `MAX_DEPTH` deep."""
    if data.count(b"[") + data.count(b"{") <= MAX_DEPTH:
        return False
    steps = array("b", _STRING.sub(b"", data).translate(_STEPS, _NO_BRACKETS))
    return max(accumulate(steps), default=0) > MAX_DEPTH
