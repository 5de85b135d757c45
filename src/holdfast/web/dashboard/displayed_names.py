"""Show names safely: replace invisible characters and direction marks by codes.

So names that differ only in such characters look different, and a name cannot change the direction
of the text around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from unicodedata import bidirectional

_HIDDEN: Final = re.compile(r"^ | $|(?<= ) |[\u2800\u3164\u115f\u1160\uffa0\u034f\ufe00-\ufe0f]")
"""Spaces that browsers do not show, and letters without a visible glyph."""

_WORD_END: Final = re.compile(r"(?<=[^\W_][_.:/@])(?=[^\W_])")
"""Between a separator and the next word."""

SHORT: Final = 16
"""Length of a name that fits into the first column of each table (`td.name`)."""

_RIGHT_TO_LEFT: Final = frozenset(("R", "AL", "AN"))
"""Bidirectional classes of text that is read from the right to the left."""

_ISOLATED: Final = "\u2068{}\u2069"
"""Unicode isolates: they keep a name from changing the direction of the text around it."""


def pieces(name: str) -> Iterator[tuple[str, str]]:
    """Split *name* into pairs (text, code).

    The code replaces a hidden character. It is empty for text that is shown as it is.
    """
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


def words(text: str) -> list[str]:
    """Split *text* where it may wrap, as in `send_`, `sale_` and `email`; not if it is short."""
    return _WORD_END.split(text) if len(text) > SHORT else [text]


def in_text(name: str) -> str:
    """Return *name* with codes, as plain text for a sentence, a title or an option."""
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
