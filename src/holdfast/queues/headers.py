"""Headers: short texts that accompany a task from its producer to its worker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..core.codec import JSON

MAX_HEADERS: Final = 32

MAX_HEADER_BYTES: Final = 4096
"""Maximum bytes of all names and values of one task, in UTF-8."""


def checked_headers(known: Mapping[str, str], added: Any) -> dict[str, str]:
    """Return the headers *known* and *added*; an added one replaces a known one of its name.

    Raises:
        TypeError: they are no mapping of str to str.
        ValueError: there are too many, they are too long, or a name is empty or no valid Unicode.
    """
    if not isinstance(added, Mapping):
        raise TypeError(f"headers must be a mapping of str to str, got {type(added).__name__}")
    headers = {**known, **added}
    for name, value in headers.items():
        if not isinstance(name, str) or not isinstance(value, str):
            got = f"{type(name).__name__} to {type(value).__name__}"
            raise TypeError(f"headers must be a mapping of str to str, got {got}: {name!r}")
        if not name:
            raise ValueError("the name of a header must not be empty")
    if len(headers) > MAX_HEADERS:
        raise ValueError(f"a task has at most {MAX_HEADERS} headers, got {len(headers)}")
    if (size := size_of(headers)) > MAX_HEADER_BYTES:
        raise ValueError(
            f"the headers of a task have at most {MAX_HEADER_BYTES:,} bytes, got {size:,}"
        )
    return headers


def size_of(headers: Mapping[str, str]) -> int:
    """Return the bytes of all names and values in UTF-8.

    Raises:
        ValueError: one of them is no valid Unicode.
    """
    try:
        return sum(len(part.encode()) for pair in headers.items() for part in pair)
    except UnicodeEncodeError as error:
        raise ValueError(f"a header is not valid Unicode at position {error.start}") from None


def stored_bytes(headers: Mapping[str, str]) -> int:
    """Return the bytes that headers add to an envelope."""
    return len(b',"headers":' + JSON.encode(headers)) if headers else 0
