"""Fold names for searches, and compute the entries of a name in the index.

Folding converts a text to NFKD and removes differences of case (Unicode, chapter 3.13,
compatibility caseless matching). A search compares folded texts. So `é` and `e` find `É`, a usual
letter finds the same letter of a wide font, and the first letter of a Hangul syllable finds the
syllable. Digits, Chinese characters and signs such as `{` match only themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from unicodedata import category, normalize

MAX_WORDS: Final = 16
"""A search finds a name by its beginning, and by its second to sixteenth word."""

WHOLE: Final = "0"
"""Kind of an index entry with the whole folded name as its key."""

WORD: Final = "1"
"""Kind of an index entry with the folded name from a later word on as its key."""


def folded(text: str) -> str:
    """Return *text* without the differences that a search ignores."""
    if text.isascii():  # The result is the same as below, but this is faster.
        return text.lower()
    return normalize("NFKD", text).casefold()


def later_words(fold: str) -> Iterator[str]:
    """Yield the folded name *fold* from its second word on, from its third word on, and so on."""
    found = 1
    for i in range(1, len(fold)):
        if fold[i].isalnum() and _ends_word(fold[i - 1]):
            found += 1
            if found > MAX_WORDS:
                return
            yield fold[i:]


def _ends_word(character: str) -> bool:
    """Return whether *character* is not a letter, a digit, or an accent on a letter."""
    return not character.isalnum() and not category(character).startswith("M")


def index_prefixes(name: str) -> list[str]:
    """Return the entries of *name* in the index, without the id. The whole name comes first."""
    fold = folded(name)
    words = [WORD + rest for rest in later_words(fold)]
    return [f"{key}\0{name}\0" for key in dict.fromkeys([WHOLE + fold, *words])]
