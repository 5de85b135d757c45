"""Define the precisions of a counter, and how many samples it keeps."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, Self

from ..core.checks import checked_int
from ..core.definitions import OnConflict, checked_on_conflict
from ..core.names import Unit
from ..core.stored import stored_int
from ..errors import DecodeError
from . import keys

MAX_PRECISIONS: Final = 16
MAX_PRECISION_S: Final = 366 * 86_400
MAX_COUNT: Final = 2**63 - 1
"""Largest count of one add. Its negative is the smallest one."""

MAX_KEEP: Final = 1000
"""Largest *keep*. One reply returns up to twice as many samples."""

DEFAULT_PRECISIONS: Final = (1, 5, 60, 300, 3600, 18_000, 86_400)
DEFAULT_KEEP: Final = 120
"""Default *keep*. The server stores a hash of up to 128 fields in a compact form, in which a sample
takes 6 bytes instead of 50."""


@dataclass(frozen=True, slots=True)
class CounterState:
    """The definition of a counter as the server stores it.

    Attributes:
        precisions: seconds per sample, ascending.
        keep: smallest number of samples that are kept of each precision.
    """

    precisions: tuple[int, ...]
    keep: int


@dataclass(frozen=True, slots=True)
class CounterDefinition:
    """The complete definition of a counter.

    Attributes:
        precisions: seconds per sample, ascending.
        keep: smallest number of samples that are kept of each precision.
    """

    precisions: tuple[int, ...] = DEFAULT_PRECISIONS
    keep: int = DEFAULT_KEEP

    @classmethod
    def parse(cls, text: str | bytes, what: str = "the definition of a counter") -> Self:
        """Return the definition that the server stores as *text*.

        Args:
            text: the stored text, such as `1,60,3600 120`.
            what: names the definition in an error.

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
        """Return the keys of the even and the odd chunk of samples, for each precision."""
        return [keys.chunk(unit, p, parity) for p in self.precisions for parity in (0, 1)]

    def finest(self, window_s: float) -> int:
        """Return the finest precision that keeps samples for at least *window_s* seconds.

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
    """The options of a definition that the user gives. An option that is None is not given.

    Attributes:
        precisions: seconds per sample, ascending.
        keep: smallest number of samples that are kept of each precision.
        on_conflict: what happens if the server stores another definition.
    """

    precisions: tuple[int, ...] | None = None
    keep: int | None = None
    on_conflict: OnConflict = "keep"

    @classmethod
    def checked(
        cls,
        precisions: Iterable[int] | None,
        keep: int | None,
        on_conflict: OnConflict = "keep",
    ) -> Self:
        """Return the options after checking them.

        Raises:
            TypeError: A value is not an int.
            ValueError: A value is out of range, a precision is given twice, or there are too many
                precisions or none.
        """
        return cls(
            None if precisions is None else _checked_precisions(precisions),
            None if keep is None else checked_int(keep, "keep", 1, MAX_KEEP, unit="samples"),
            checked_on_conflict(on_conflict),
        )

    def applied_to(self, definition: CounterDefinition) -> CounterDefinition:
        """Return *definition* with its options replaced by the given ones."""
        return CounterDefinition(
            self.precisions or definition.precisions, self.keep or definition.keep
        )

    def redefined(self, change: CounterOptions) -> CounterOptions:
        """Return these options after a `redefine`. Options that were not given remain None."""
        return CounterOptions(
            self.precisions and (change.precisions or self.precisions),
            self.keep and (change.keep or self.keep),
            self.on_conflict,
        )

    def conflict(self, stored: CounterDefinition) -> Literal["precisions", "keep"] | None:
        """Return the name of a given option that differs from *stored*; None if none differs."""
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
