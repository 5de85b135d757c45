"""Estimate how hard a secret is to guess."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Final

LEAST_BITS: Final = 48.0
"""Least estimate, in bits, for an accepted secret. Random secrets are far above it: 32 random
hexadecimal digits have an estimate of about 118 bits, and none of a million had less than 80."""

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
"""Characters in the order of keyboard rows and columns."""


def estimated_bits(secret: bytes) -> float:
    """Return an estimate of the bits of randomness in *secret*.

    Do not count characters that an attacker can predict from those before them. These are:

    - the next character of a sequence: `abc`, `aceg`, `aaa`, also with one character between the
      items of the sequence (`0a0b0c`);
    - the next key in a row or column of a keyboard, in either direction: `qwe`, `1qaz`;
    - the end of a repetition: of three characters, or of three steps between characters
      (`aab bbc ccd`).
    """
    text = secret.lower()
    follows = _repetitions(text)
    follows |= {i + 1 for i in _repetitions(_steps(text))}
    follows |= _progressions(text, 1) | _progressions(text, 2) | _keyboard_walks(text)
    return (len(secret) - len(follows)) * math.log2(max(1, len(set(secret))))


def _steps(text: bytes) -> list[int]:
    return [later - byte for byte, later in itertools.pairwise(text)]


def _repetitions(items: Sequence[int]) -> set[int]:
    """Return the positions at which a run of three items ends that also occurs earlier."""
    seen, found = set[tuple[int, ...]](), set[int]()
    for i in range(2, len(items)):
        three = tuple(items[i - 2 : i + 1])
        if three in seen:
            found.add(i)
        seen.add(three)
    return found


def _progressions(text: bytes, stride: int) -> set[int]:
    """Return the positions that continue an arithmetic progression of every *stride*-th byte."""
    return {
        i
        for i in range(2 * stride, len(text))
        if text[i] - text[i - stride] == text[i - stride] - text[i - 2 * stride]
    }


def _keyboard_walks(text: bytes) -> set[int]:
    """Return the positions at which a run of three neighbouring keys ends."""
    return {i for i in range(2, len(text)) if text[i - 2 : i + 1] in _WALKS}


def _walks(layouts: Iterable[str]) -> frozenset[bytes]:
    both = [each for layout in layouts for each in (layout, layout[::-1])]
    return frozenset(layout[i : i + 3].encode() for layout in both for i in range(len(layout) - 2))


_WALKS: Final = _walks(LAYOUTS)
