"""Made-up names: the same at every run."""

from __future__ import annotations

import random
from string import ascii_lowercase
from typing import Final

LETTERS: Final = 10
"""Of a name."""


def made_up(count: int) -> list[str]:
    """So many different names of one word each, of ten small letters."""
    dice = random.Random(6)
    names: dict[str, None] = {}
    while len(names) < count:
        names["".join(dice.choices(ascii_lowercase, k=LETTERS))] = None
    return list(names)


def prefixes(names: list[str], count: int) -> list[str]:
    """What somebody types who looks for some of *names*: two letters of each."""
    return [name[:2] for name in random.Random(7).choices(names, k=count)]
