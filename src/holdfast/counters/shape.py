"""What a counter keeps: frozen, and decided before any I/O."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, Self

from ..core.checks import checked_int
from ..core.names import Unit
from ..core.stored import stored_int
from ..errors import DecodeError
from . import keys

MAX_PRECISIONS: Final = 16
MAX_PRECISION_S: Final = 366 * 86_400
MAX_KEEP: Final = 1000
"""Samples of one precision: they go in one reply, at most twice as many."""

USUAL_PRECISIONS: Final = (1, 5, 60, 300, 3600, 18_000, 86_400)
USUAL_KEEP: Final = 120
"""With up to 128 fields a hash is small: six bytes for a sample instead of fifty."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Precisions of a counter, and how many samples it keeps of each.

    Attributes:
        precisions: seconds, ascending.
        keep: samples of each that are there at least.
    """

    precisions: tuple[int, ...] = USUAL_PRECISIONS
    keep: int = USUAL_KEEP

    @classmethod
    def parse(cls, text: str | bytes, what: str = "the definition of a counter") -> Self:
        """Return the shape that the server keeps as *text*; *what* names that in an error.

        Raises:
            DecodeError: It is not one that a counter may have.
        """
        stored = text if isinstance(text, bytes) else text.encode()
        precisions, _, keep = stored.partition(b" ")
        parts = precisions.split(b",", MAX_PRECISIONS)
        found = tuple(stored_int(part, what, 1, MAX_PRECISION_S) for part in parts)
        if list(found) != sorted(set(found)) or len(found) > MAX_PRECISIONS:
            raise DecodeError(what, f"{found} are not ascending precisions")
        return cls(found, stored_int(keep, what, 1, MAX_KEEP))

    def __str__(self) -> str:
        return f"{','.join(map(str, self.precisions))} {self.keep}"

    def chunks(self, unit: Unit) -> list[str]:
        """The keys of all samples: of each precision the even and the odd chunk."""
        return [keys.chunk(unit, p, parity) for p in self.precisions for parity in (0, 1)]

    def finest(self, window_s: float) -> int:
        """The finest precision that has samples for the last *window_s* seconds.

        Raises:
            ValueError: none has.
        """
        for precision in self.precisions:
            if math.ceil(window_s / precision) <= self.keep:
                return precision
        longest_s = self.precisions[-1] * self.keep
        raise ValueError(f"{window_s:g} s are more than it keeps, {longest_s:,} s")


@dataclass(frozen=True, slots=True)
class CounterOptions:
    """What somebody says of a shape; None: nothing.

    Attributes:
        precisions: as of `Shape`.
        keep: likewise.
    """

    precisions: tuple[int, ...] | None = None
    keep: int | None = None

    @classmethod
    def checked(cls, precisions: Iterable[int] | None, keep: int | None) -> Self:
        """What a user says.

        Raises:
            TypeError: not whole numbers.
            ValueError: none, too many, one twice, or out of range.
        """
        return cls(
            None if precisions is None else _checked_precisions(precisions),
            None if keep is None else checked_int(keep, "keep", 1, MAX_KEEP, unit="samples"),
        )

    def over(self, shape: Shape) -> Shape:
        """*shape*, but for what is said."""
        return Shape(self.precisions or shape.precisions, self.keep or shape.keep)

    def after(self, change: CounterOptions) -> CounterOptions:
        """What one says who said this, once *change* is made."""
        return CounterOptions(
            self.precisions and (change.precisions or self.precisions),
            self.keep and (change.keep or self.keep),
        )

    def unmet(self, shape: Shape) -> Literal["precisions", "keep"] | None:
        """What of *shape* is not as is said; None: nothing."""
        if self.precisions not in (None, shape.precisions):
            return "precisions"
        return "keep" if self.keep not in (None, shape.keep) else None


def _checked_precisions(precisions: Iterable[int]) -> tuple[int, ...]:
    given = tuple(
        checked_int(precision, "a precision", 1, MAX_PRECISION_S, unit="seconds")
        for precision in precisions
    )
    if not 0 < len(given) <= MAX_PRECISIONS:
        raise ValueError(f"a counter has 1 to {MAX_PRECISIONS} precisions, got {len(given)}")
    if len(set(given)) < len(given):
        raise ValueError(f"a precision is given twice: {given}")
    return tuple(sorted(given))
