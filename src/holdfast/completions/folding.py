"""Folding of names: what a search ignores, and under which keys the index has a name.

Two spellings match when their NFKD forms are equal except for case (Unicode, chapter 3.13,
compatibility caseless matching). So `é` and `e` find `É`, a usual letter finds the same letter of a
wide font, and the first letter of a Hangul syllable finds the syllable. Digits, Chinese characters
and signs such as `{` match only themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from unicodedata import category, normalize

MAX_WORDS: Final = 16
"""The index has a name under its beginning and the words after it, up to this one."""

WHOLE: Final = "0"
WORD: Final = "1"


def folded(text: str) -> str:
    """Return *text* without the differences that a search ignores."""
    if text.isascii():  # same result, faster
        return text.lower()
    return normalize("NFKD", text).casefold()


def later_words(fold: str) -> Iterator[str]:
    """Return the rest of a folded name from its second word on, from its third, and so on."""
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
    """Return the members of the index for *name*, up to the id; the whole name comes first."""
    fold = folded(name)
    words = [WORD + rest for rest in later_words(fold)]
    return [f"{key}\0{name}\0" for key in dict.fromkeys([WHOLE + fold, *words])]
