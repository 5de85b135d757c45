"""Show names safely: replace invisible characters and direction marks by codes.

So names that differ only in such characters look different, and a name cannot change the direction
of the text around it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Final
from unicodedata import bidirectional, category

_HIDDEN: Final = re.compile(r"^ | $|(?<= ) |[\u2800\u3164\u115f\u1160\uffa0\u034f\ufe00-\ufe0f]")
"""Spaces that browsers do not show, and letters without a visible glyph."""

_JOINED: Final = "\t\r\n\u200c\u200d"
"""Line breaks, and what joins letters in some scripts, or the parts of an emoji."""

_WORD_END: Final = re.compile(r"(?<=[^\W_][_.:/@])(?=[^\W_])")
"""Matches the position between a separator and the next word, where a name may wrap."""

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
    hidden = {found.start() for found in _HIDDEN.finditer(name)}
    return _pairs(name, lambda at: at not in hidden and name[at].isprintable())


def prose_pieces(text: str) -> Iterator[tuple[str, str]]:
    """Split *text*, which is no name, into pairs as `pieces` does. Keep its blanks and lines."""
    return _pairs(text, lambda at: _is_prose(text[at]))


def visible_json(text: str) -> str:
    """Return *text*, which is JSON, with escapes of JSON in place of the codes of `prose_pieces`.

    Hidden characters are only within its texts, so it stands for the same value.
    """
    return "".join(c if _is_prose(c) else json.dumps(c)[1:-1] for c in text)


def _is_prose(letter: str) -> bool:
    """Return whether *letter* is harmless in a text that is no name."""
    return letter.isprintable() or letter in _JOINED or category(letter) == "Zs"


def _pairs(text: str, is_shown: Callable[[int], bool]) -> Iterator[tuple[str, str]]:
    """Split *text* into pairs (text, code). *is_shown* decides about the character at an index."""
    plain = ""
    for at, letter in enumerate(text):
        if is_shown(at):
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
