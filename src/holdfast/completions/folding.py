"""Names as they are looked for: folded, and from each of their words on.

Two spellings are one when their NFKD forms are the same but for the case (Unicode, chapter 3.13,
compatibility caseless matching). So `É` is found by `é` and by `e`, a letter
of a wide font by the usual one, a Hangul syllable by its first letter; `{`, digits and Chinese
characters stand for themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from unicodedata import category, normalize

from ..errors import InvalidName

MAX_BYTES: Final = 512
"""Of a name, and of an id."""

MAX_FOLDED_BYTES: Final = 2048
"""Of a folded name: a few characters unfold to words."""

MAX_WORDS: Final = 16
"""A name is found by its beginning and by the next words up to this one."""

WHOLE: Final = "0"
WORD: Final = "1"


def folded(text: str) -> str:
    """*text* without the differences that a search overlooks."""
    if text.isascii():  # comes to the same, and most that is typed
        return text.lower()
    return normalize("NFKD", text).casefold()


def later_words(fold: str) -> Iterator[str]:
    """The rests of a folded name that begin with its second, third … word."""
    found = 1
    for i in range(1, len(fold)):
        if fold[i].isalnum() and _ends_a_word(fold[i - 1]):
            found += 1
            if found > MAX_WORDS:
                return
            yield fold[i:]


def _ends_a_word(character: str) -> bool:
    """Neither a letter nor a digit, nor an accent on top of one."""
    return not character.isalnum() and not category(character).startswith("M")


def checked_name(name: str) -> str:
    """*name*, if it can be kept.

    Raises:
        TypeError: it is not a string.
        InvalidName: it is empty or too long, or holds NUL or half a surrogate pair.
    """
    if not checked(name, "a name"):
        raise InvalidName(name, "it is empty")
    if _size(folded(name), name) > MAX_FOLDED_BYTES:
        raise InvalidName(name, f"folded it takes over {MAX_FOLDED_BYTES} bytes")
    return name


def checked_id(id: str | None) -> str:
    """What stands for an id at the end of a member; raises as `checked_name`."""
    if id is None:
        return ""
    if not checked(id, "an id"):
        raise InvalidName(id, "an id must not be empty; None is none")
    return id


def checked(text: str, what: str) -> str:
    """*text*, if it can be part of a member; raises as `checked_name`."""
    if not isinstance(text, str):
        raise TypeError(f"{what} must be a str, got {type(text).__name__}")
    if "\0" in text:
        raise InvalidName(text, "it holds a NUL")
    if (size := _size(text, text)) > MAX_BYTES:
        raise InvalidName(text, f"it takes {size} bytes, the limit is {MAX_BYTES}")
    return text


def _size(text: str, name: str) -> int:
    try:
        return len(text.encode())
    except UnicodeEncodeError as error:
        raise InvalidName(name, f"not valid Unicode at position {error.start}") from None


def places(name: str) -> list[str]:
    """Where *name* stands in the index, up to its id: at its beginning, then at later words."""
    fold = folded(name)
    words = [WORD + rest for rest in later_words(fold)]
    return [f"{place}\0{name}\0" for place in dict.fromkeys([WHOLE + fold, *words])]
