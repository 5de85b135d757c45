"""What the demo says at the end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from .... import Count, Tally
from .counting import Counting


@dataclass(frozen=True, slots=True)
class Report:
    """What came of some days of logs.

    Attributes:
        lines: that were counted, by day.
        rejected: lines that were no events.
        bytes: of all logs.
        seconds: from the first byte to the last count.
        killed: the consumer that was.
        killed_at: how many lines were counted by then.
        counters: what each says that it has done, as `holdfast logs tally` does; nothing of the one
            that was killed.
        countries: of the last day, those with most lines.
        problems: sentences; none when the tally is what a direct count says.
    """

    seed: int
    lines: dict[str, int]
    rejected: int
    bytes: int
    seconds: float
    killed: str | None
    killed_at: int
    counters: dict[str, dict[str, Any] | None]
    countries: list[Count]
    problems: tuple[str, ...]

    @classmethod
    def of(cls, counting: Counting, direct: Any, *, seed: int) -> Self:
        """The report on logs of which *direct* says what is in them, as the example counts."""
        tally, counters = counting.tally, counting.counters
        found = list(differences(tally, direct))
        if counters.killed is None:
            found.append("nobody was killed: none of the consumers held a log")
        return cls(
            seed=seed,
            lines=counting.days,
            rejected=tally.rejected().lines,
            bytes=counting.size,
            seconds=round(counting.seconds, 3),
            killed=counters.killed,
            killed_at=counting.killed_at,
            counters={name: counters.report(name) for name in counters.names},
            countries=counting.best,
            problems=tuple(found),
        )

    def as_json(self) -> dict[str, Any]:
        """For scripts."""
        countries = [each._asdict() for each in self.countries]
        return {"ok": not self.problems, **asdict(self), "countries": countries}


def differences(tally: Tally, direct: Any) -> Iterator[str]:
    """What the tally has otherwise than a direct count, in sentences."""
    yield from _unequal("lines", tally.days(), direct.lines)
    for (day, dimension), values in direct.values.items():
        told = {each.value: each.lines for each in tally.top(dimension, day=day, limit=10_000)}
        yield from _unequal(f"lines of {day} by {dimension}", told, values)
    days = [*direct.lines, None]
    rejected = sum(tally.rejected(day).lines for day in days)
    yield from _unequal("lines", {"rejected": rejected}, {"rejected": direct.rejected})


def _unequal(what: str, told: Mapping[str, int], right: Mapping[str, int]) -> Iterator[str]:
    for value in dict.fromkeys([*right, *told]):
        ours, theirs = told.get(value, 0), right.get(value, 0)
        if ours != theirs:
            yield f"{what}, {value}: the tally says {ours:,}, a direct count {theirs:,}"
