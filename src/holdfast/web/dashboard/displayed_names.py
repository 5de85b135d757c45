"""Show names safely: invisible characters and direction marks appear as codes.

Names that differ only in such characters look different, and no name changes the text beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from unicodedata import bidirectional

_HIDDEN: Final = re.compile(r"^ | $|(?<= ) |[\u2800\u3164\u115f\u1160\uffa0\u034f\ufe00-\ufe0f]")
"""Spaces that HTML collapses, and letters without a glyph."""

_RIGHT_TO_LEFT: Final = frozenset(("R", "AL", "AN"))
"""Bidirectional classes of text that is read from the right."""

_ISOLATED: Final = "\u2068{}\u2069"


def pieces(name: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of *name*, each with the code that replaces it, or an empty text."""
    plain = ""
    hidden = {found.start() for found in _HIDDEN.finditer(name)}
    for at, letter in enumerate(name):
        if letter.isprintable() and at not in hidden:
            plain += letter
            continue
        if plain:
            yield plain, ""
        plain = ""
        yield letter, _code(letter)
    if plain:
        yield plain, ""


def in_text(name: str) -> str:
    """Return *name* for places without HTML: a sentence, a title, an option."""
    if not name:
        return "(no name)"
    shown = "".join(code or text for text, code in pieces(name))
    return (
        _ISOLATED.format(shown) if any(bidirectional(c) in _RIGHT_TO_LEFT for c in shown) else shown
    )


def _code(letter: str) -> str:
    """Return the escape of *letter*, such as `\\n` or `\\u202e`."""
    if letter == " ":
        return "\u2423"
    escaped = letter.encode("unicode_escape", "surrogatepass").decode()
    return escaped if escaped != letter else f"\\u{ord(letter):04x}"
