"""Names of players in several scripts, and a plain search in them, to check that of the server."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final

FIRST: Final = (
    *("Anna", "Ben", "Carla", "Dilek", "Émile", "Jack", "Jeff"),
    *("Jennifer", "Jenny", "Łukasz", "Ömer", "Zoë", "伟", "三"),
)
LAST: Final = (
    *("Santos", "Sanders", "Smith", "O'Hara", "{Bot}"),
    *("Åberg", "7up", "Schmidt", "张", "李"),
)
PREFIXES: Final = (
    *("", "j", "JE", "jenn", "san", "s", "{", "7", "张", "é", "e", "伟 张", "o'", "hara"),
)
"""Prefixes that the check at the end searches for."""


@cache
def everybody() -> list[str]:
    """Return the names of all players."""
    return [f"{first} {last}" for first in FIRST for last in LAST]


def starting(names: Iterable[str], prefix: str) -> Iterator[str]:
    """Yield the names in which a word begins with *prefix*, also with the words after it. Ignore
    case."""
    start = _folded(prefix)
    for name in names:
        fold = _folded(name)
        words = [i for i in range(1, len(fold)) if fold[i].isalnum() and _is_gap(fold[i - 1])]
        if any(fold.startswith(start, i) for i in [0, *words]):
            yield name


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKD", text).casefold()


def _is_gap(letter: str) -> bool:
    return not letter.isalnum() and not unicodedata.combining(letter)
