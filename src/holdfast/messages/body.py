"""The body of a message: a JSON value or bytes, behind one byte that says which."""

from __future__ import annotations

import re
from array import array
from itertools import accumulate
from typing import Any, Final

import msgspec

from ..core.codec import JSON, MAX_PAYLOAD_BYTES, check_size, encoded

MAX_DEPTH: Final = 100
"""Lists and objects of a JSON value within each other. What is deeper, some reader cannot take."""

_JSON: Final = b"j"
_BYTES: Final = b"b"
_CUT: Final = b"x"

_STRING: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_NO_BRACKETS: Final = bytes(set(range(256)) - set(b"[{]}"))
_STEPS: Final = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
"""One deeper, or one less: what `_is_deep` adds up."""

_decode: Final = msgspec.json.Decoder().decode
"""As `JSON.decode`, which has to be told each time into what; an inbox has many messages."""


def encoded_body(body: Any, what: str) -> bytes:
    """*body* as it is stored; *what* names its message, for errors.

    Raises:
        ValueError: it is an empty text, or no bytes: nothing to send; or it is nested too deeply.
        TypeError: it is neither bytes nor a JSON value.
        PayloadTooLarge: it takes more than 1 MiB.
    """
    if isinstance(body, bytes | bytearray | memoryview):
        data = bytes(body)
        check_size(data, what)
        tag = _BYTES
    else:
        data, tag = b"" if isinstance(body, str) and not body else _json(body, what), _JSON
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
    return data


def decoded_body(stored: bytes) -> Any:
    """What `encoded_body` was given.

    Raises:
        ValueError: it is nothing of the kind; says why.
    """
    tag, data = stored[:1], stored[1:]
    if tag == _JSON:
        if _is_deep(data):
            raise _too_deep("JSON that")
        return _decode(data)
    if tag == _BYTES:
        return data
    if tag == _CUT and data.isdigit():  # by `lua/parts/entries.lua`
        raise ValueError(f"it takes {int(data):,} bytes, more than {MAX_PAYLOAD_BYTES:,}")
    raise ValueError(f"it begins with {tag!r}, neither j nor b" if tag else "it is empty")


def _too_deep(what: str) -> ValueError:
    return ValueError(f"{what} is nested more than {MAX_DEPTH} deep")


def _is_deep(data: bytes) -> bool:
    """Whether JSON is nested more than `MAX_DEPTH` deep."""
    if len(data) < 2 * MAX_DEPTH or data.count(b"[") + data.count(b"{") <= MAX_DEPTH:
        return False
    steps = array("b", _STRING.sub(b"", data).translate(_STEPS, _NO_BRACKETS))
    return max(accumulate(steps), default=0) > MAX_DEPTH
