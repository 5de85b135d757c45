"""What a cell showed, and whether that was to be expected: `Violation`, `CellResult`."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Kind = Literal["lost", "reported", "doubled", "disordered", "stale", "overlap", "astray"]

KINDS: dict[Kind, str] = {
    "lost": "acknowledged, and gone",
    "reported": "acknowledged, and gone, and its readers were notified",
    "doubled": "requested once, and done twice",
    "disordered": "in another order, or with other contents",
    "stale": "returned or accepted although it had ended",
    "overlap": "more holders than permits",
    "astray": "left behind in the server, or nowhere in it",
}


@dataclass(frozen=True)
class Violation:
    """One thing that was not as it should be.

    Attributes:
        kind: of `KINDS`.
        text: what, in words.
        at_ns: when what was lost was acknowledged, where that is known.
    """

    kind: Kind
    text: str
    at_ns: int | None = None


@dataclass
class CellResult:
    """What came of one cell.

    Attributes:
        seed: repeats its schedule.
        strikes: faults injected.
        operations: on record.
        unknown: operations that never returned, or raised `OutcomeUnknown` at first.
        repeated: what was done more than once, and may be.
        recovered_s: from the end of the trouble, or the election of a successor, until everything
            was done again.
        longest_s: that a task of a killed worker lay there, or one that was not to be touched took.
        violations: how many, by kind.
        seen: some of them in words, allowed ones too.
        word: "held", or what is wrong.
    """

    fault: str
    block: str
    mark: str
    seed: int
    strikes: int = 0
    operations: int = 0
    unknown: int = 0
    repeated: int = 0
    recovered_s: float = 0.0
    longest_s: float = 0.0
    violations: dict[str, int] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)
    word: str = "broken: did not come to its end"
    when: str = ""
    server: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the result for a report."""
        return asdict(self)


def caught(kind: Kind, check: Callable[..., object], *args: Any, **options: Any) -> list[Violation]:
    """Return the violations that the error of a checker describes."""
    try:
        check(*args, **options)
    except AssertionError as error:
        return [Violation(kind, str(error))]
    return []


def counted(violations: Sequence[Violation]) -> dict[str, int]:
    """Return how many violations of each kind there are."""
    return dict(Counter(each.kind for each in violations))
