"""Encode texts that a browser would change in a form: line ends and controls.

A field with a name that ends with `*` (`queue*=a%0Db`) holds percent-encoded text, as in RFC 8187.
Forms of the dashboard send names in this form; a program may send `queue=email`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, unquote

from ..problems import Problem

MARK: Final = "*"
"""Ends the name of a field that holds percent-encoded text."""


def encoded(text: object) -> str:
    """Return *text* percent-encoded: ASCII without line ends."""
    return quote(str(text), safe="")


def survives(given: object) -> bool:
    """Return whether a browser sends *given*, a text or a list of texts, without a change."""
    texts = given if isinstance(given, list) else [given]
    return all(str(text).isprintable() for text in texts)


def decoded_fields(fields: Mapping[str, str]) -> dict[str, str]:
    """Return *fields* by their names without `MARK`; those with it are decoded."""
    return {name.removesuffix(MARK): decoded(name, text) for name, text in fields.items()}


def decoded(name: str, text: str) -> str:
    """Return the original of *text*, sent in the field *name*.

    Raises:
        Problem: it is not percent-encoded UTF-8.
    """
    if not name.endswith(MARK):
        return text
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise Problem("bad-request", f"{name} is not percent-encoded UTF-8") from None
