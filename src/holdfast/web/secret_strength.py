"""An estimate of how hard a secret is to guess."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Final

LEAST_BITS: Final = 48.0
"""Bits that a secret must have by this estimate, which is far below the truth for random secrets:
32 random hexadecimal digits have about 118, and none of a million had less than 80."""

LAYOUTS: Final = (
    "`1234567890-=",
    "~!@#$%^&*()_+",
    "qwertyuiop[]\\",
    "asdfghjkl;'",
    "zxcvbnm,./",
    "1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik,9ol.0p;/",
    "qazwsxedcrfvtgbyhnujmikolp",
    "qwertzuiop",
    "yxcvbnm",
    "azertyuiop",
    "qsdfghjklm",
    "wxcvbn",
)
"""Keyboards, row by row and column by column."""


def estimated_bits(secret: bytes) -> float:
    """Return an estimate of the bits of randomness in *secret*.

    Only characters that do not follow from those before them count. One follows if it:

    - continues a sequence: `abc`, `aceg`, `aaa`, also with one character between (`0a0b0c`);
    - is the next one on a keyboard, in a row or column, in either direction: `qwe`, `1qaz`;
    - repeats what was there: the same three characters, or the same three steps (`aab bbc ccd`).
    """
    text = secret.lower()
    follows = _repetitions(text)
    follows |= {i + 1 for i in _repetitions(_steps(text))}
    follows |= _progressions(text, 1) | _progressions(text, 2) | _keyboard_walks(text)
    return (len(secret) - len(follows)) * math.log2(max(1, len(set(secret))))


def _steps(text: bytes) -> list[int]:
    return [later - byte for byte, later in itertools.pairwise(text)]


def _repetitions(items: Sequence[int]) -> set[int]:
    """Return the positions at which three items end that stand together further before."""
    seen, found = set[tuple[int, ...]](), set[int]()
    for i in range(2, len(items)):
        three = tuple(items[i - 2 : i + 1])
        if three in seen:
            found.add(i)
        seen.add(three)
    return found


def _progressions(text: bytes, stride: int) -> set[int]:
    """Return the positions that make the same step as the one *stride* before."""
    return {
        i
        for i in range(2 * stride, len(text))
        if text[i] - text[i - stride] == text[i - stride] - text[i - 2 * stride]
    }


def _keyboard_walks(text: bytes) -> set[int]:
    """Return the positions at which three neighbours on a keyboard end."""
    return {i for i in range(2, len(text)) if text[i - 2 : i + 1] in _WALKS}


def _walks(layouts: Iterable[str]) -> frozenset[bytes]:
    both = [each for layout in layouts for each in (layout, layout[::-1])]
    return frozenset(layout[i : i + 3].encode() for layout in both for i in range(len(layout) - 2))


_WALKS: Final = _walks(LAYOUTS)
