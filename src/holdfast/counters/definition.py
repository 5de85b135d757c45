"""The definition of a counter: its precisions, and how many samples it keeps."""

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
"""Limit of *keep*: one reply returns up to twice as many samples."""

DEFAULT_PRECISIONS: Final = (1, 5, 60, 300, 3600, 18_000, 86_400)
DEFAULT_KEEP: Final = 120
"""The server stores a hash of up to 128 fields compactly: 6 bytes per sample instead of 50."""


@dataclass(frozen=True, slots=True)
class CounterState:
    """What the server keeps of a counter.

    Attributes:
        precisions: seconds per sample, ascending.
        keep: how many samples of each precision are kept at least.
    """

    precisions: tuple[int, ...]
    keep: int


@dataclass(frozen=True, slots=True)
class CounterDefinition:
    """The precisions of a counter, and how many samples of each it keeps.

    Attributes:
        precisions: seconds per sample, ascending.
        keep: how many samples of each precision are kept at least.
    """

    precisions: tuple[int, ...] = DEFAULT_PRECISIONS
    keep: int = DEFAULT_KEEP

    @classmethod
    def parse(cls, text: str | bytes, what: str = "the definition of a counter") -> Self:
        """Return the definition that the server stores as *text*; an error names it as *what*.

        Raises:
            DecodeError: *text* is not a valid definition.
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
        """Return the keys of all samples: the even and the odd chunk of each precision."""
        return [keys.chunk(unit, p, parity) for p in self.precisions for parity in (0, 1)]

    def finest(self, window_s: float) -> int:
        """Return the finest precision that keeps samples of the last *window_s* seconds.

        Raises:
            ValueError: No precision keeps samples for so long.
        """
        for precision in self.precisions:
            if math.ceil(window_s / precision) <= self.keep:
                return precision
        longest_s = self.precisions[-1] * self.keep
        raise ValueError(f"{window_s:g} s are more than it keeps, {longest_s:,} s")


@dataclass(frozen=True, slots=True)
class CounterOptions:
    """The part of a definition that the user gives; None: not given.

    Attributes:
        precisions: seconds per sample, ascending.
        keep: how many samples of each precision are kept at least.
    """

    precisions: tuple[int, ...] | None = None
    keep: int | None = None

    @classmethod
    def checked(cls, precisions: Iterable[int] | None, keep: int | None) -> Self:
        """Return the options of a user.

        Raises:
            TypeError: A value is not an int.
            ValueError: A value is out of range or given twice, or there are too many or none.
        """
        return cls(
            None if precisions is None else _checked_precisions(precisions),
            None if keep is None else checked_int(keep, "keep", 1, MAX_KEEP, unit="samples"),
        )

    def applied_to(self, definition: CounterDefinition) -> CounterDefinition:
        """Return *definition* with these options applied."""
        return CounterDefinition(
            self.precisions or definition.precisions, self.keep or definition.keep
        )

    def redefined(self, change: CounterOptions) -> CounterOptions:
        """Return these options with *change* applied to the ones that were given."""
        return CounterOptions(
            self.precisions and (change.precisions or self.precisions),
            self.keep and (change.keep or self.keep),
        )

    def conflict(self, stored: CounterDefinition) -> Literal["precisions", "keep"] | None:
        """Return the name of an option that differs from *stored*, or None."""
        if self.precisions not in (None, stored.precisions):
            return "precisions"
        return "keep" if self.keep not in (None, stored.keep) else None


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
