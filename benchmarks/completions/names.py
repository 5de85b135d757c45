"""Made-up names: the same at every run."""

from __future__ import annotations

import random
from string import ascii_lowercase
from typing import Final

LETTERS: Final = 10
"""Of a name."""


def made_up(count: int) -> list[str]:
    """Return so many different names of one word of ten small letters."""
    dice = random.Random(6)
    names: dict[str, None] = {}
    while len(names) < count:
        names["".join(dice.choices(ascii_lowercase, k=LETTERS))] = None
    return list(names)


def prefixes(names: list[str], count: int) -> list[str]:
    """Return the first two letters of some of *names*, as a user types them."""
    return [name[:2] for name in random.Random(7).choices(names, k=count)]
