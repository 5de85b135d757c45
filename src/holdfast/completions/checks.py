"""Check names, ids, prefixes and limits before any I/O."""

from __future__ import annotations

from typing import Final

from ..core.checks import checked_int
from ..core.names import plain_text
from ..errors import InvalidName
from .folding import folded

MAX_BYTES: Final = 512
"""Largest size in bytes of a name, of an id, and of a prefix."""

MAX_FOLDED_BYTES: Final = 2048
"""Largest size in bytes of a folded name. Folding turns some characters into several words."""

DEFAULT_LIMIT: Final = 100
"""Number of recent names that are kept if no client has set a limit."""

MAX_LIMIT: Final = 1000
"""Largest number of recent names, and of matches of a search. One reply returns all of them."""


def checked_name(name: str) -> str:
    """Return *name* if it can be stored.

    Raises:
        TypeError: *name* is not a str.
        InvalidName: *name* is empty or too long, or contains NUL or an unpaired surrogate.
    """
    name = checked_text(name, "a name")
    if not name:
        raise InvalidName(name, "it is empty")
    if _size(folded(name), name) > MAX_FOLDED_BYTES:
        raise InvalidName(name, f"folded it takes over {MAX_FOLDED_BYTES} bytes")
    return name


def checked_id(id: str | None) -> str:
    """Return *id* as the server stores it: an empty string for None. Raise as `checked_name`."""
    if id is None:
        return ""
    if not (plain := checked_text(id, "an id")):
        raise InvalidName(id, "an id must not be empty; use None for no id")
    return plain


def checked_text(text: str, what: str) -> str:
    """Return *text*, which may be empty. Raise as `checked_name`; an error names it *what*."""
    if not isinstance(text, str):
        raise TypeError(f"{what} must be a str, got {type(text).__name__}")
    if "\0" in text:
        raise InvalidName(text, "it holds a NUL")
    if (size := _size(text, text)) > MAX_BYTES:
        raise InvalidName(text, f"it takes {size} bytes, the limit is {MAX_BYTES}")
    return plain_text(text)


def checked_limit(limit: int | None) -> int | None:
    """Return *limit* if it is valid; None stays None.

    Raises:
        TypeError: *limit* is not an int.
        ValueError: *limit* is not between 1 and `MAX_LIMIT`.
    """
    return None if limit is None else checked_int(limit, "limit", 1, MAX_LIMIT)


def _size(text: str, name: str) -> int:
    try:
        return len(text.encode())
    except UnicodeEncodeError as error:
        raise InvalidName(name, f"not valid Unicode at position {error.start}") from None
