"""The body of a message: a JSON value or bytes, behind one byte that says which."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from ..core.codec import JSON, check_size, encoded

_JSON: Final = b"j"
_BYTES: Final = b"b"

_decode: Final = msgspec.json.Decoder().decode
"""As `JSON.decode`, which has to be told each time into what; an inbox has many messages."""


def encoded_body(body: Any, where: str) -> bytes:
    """*body* as it is stored.

    Raises:
        ValueError: it is an empty text, or no bytes: nothing to send.
        TypeError: it is neither bytes nor a JSON value.
        PayloadTooLarge: it takes more than 1 MiB.
    """
    what = f"a message to {where}"
    if isinstance(body, bytes | bytearray | memoryview):
        data = bytes(body)
        check_size(data, what)
        tag = _BYTES
    else:
        data, tag = b"" if isinstance(body, str) and not body else encoded(JSON, body, what), _JSON
    if not data:
        raise ValueError(f"{what} is empty: there is nothing to send")
    return tag + data


def decoded_body(stored: bytes) -> Any:
    """What `encoded_body` was given.

    Raises:
        ValueError: it is nothing of the kind; says why.
    """
    tag, data = stored[:1], stored[1:]
    if tag == _JSON:
        try:
            return _decode(data)
        except RecursionError:
            raise ValueError("JSON that is nested too deeply") from None
    if tag == _BYTES:
        return data
    raise ValueError(f"it begins with {tag!r}, neither j nor b" if tag else "it is empty")
