"""Encode texts for forms, because browsers change line ends and control characters.

If the name of a field ends with `*`, its value is percent-encoded, as in RFC 8187: `queue*=a%0Db`.
Values without such characters need no encoding: `queue=email`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, unquote

from ..problems import Problem

MARK: Final = "*"
"""The last character in the name of a field with a percent-encoded value."""


def encoded(text: object) -> str:
    """Return *text* percent-encoded, as ASCII."""
    return quote(str(text), safe="")


def survives(given: object) -> bool:
    """Return whether browsers send *given*, a text or a list of texts, unchanged."""
    texts = given if isinstance(given, list) else [given]
    return all(str(text).isprintable() for text in texts)


def decoded_fields(fields: Mapping[str, str]) -> dict[str, str]:
    """Return *fields* with decoded values, and with names without `MARK`."""
    return {name.removesuffix(MARK): decoded(name, text) for name, text in fields.items()}


def decoded(name: str, text: str) -> str:
    """Return the value *text* of the field *name*, decoded if the name ends with `MARK`.

    Raises:
        Problem: *text* should be percent-encoded, but is not valid UTF-8.
    """
    if not name.endswith(MARK):
        return text
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise Problem("bad-request", f"{name} is not percent-encoded UTF-8") from None
