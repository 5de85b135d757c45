"""Print the report of a demo: its figures, a row for each invariant, and the verdict."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Self

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from .demo import Demo, Figures, Invariant
from .screen import drawn

NAMED: Final = 3
"""Maximum number of problems of one invariant that the report names."""


@dataclass(frozen=True, slots=True)
class DemoReport:
    """Hold the result of a demo.

    Attributes:
        figures: the final figures.
        invariants: the promises and the results of their checks.
        killed: names of the processes that the runner killed.
        results: the figures for the JSON report.
        hints: what the user can do next.
        folder: folder with the evidence. It is removed unless a promise was broken.
    """

    figures: Figures
    invariants: Sequence[Invariant]
    killed: Sequence[str]
    results: dict[str, Any]
    hints: Sequence[str]
    folder: Path

    @classmethod
    def of(cls, demo: Demo, killed: Sequence[str], folder: Path) -> Self:
        """Check the promises of a demo that has ended, and return its report."""
        found = tuple(demo.invariants())
        seed = {"seed": demo.seed} if _has_seed(demo) else {}
        hints = [*demo.hints(), *(f"The same again: --seed {demo.seed}" for _ in seed)]
        results = {**seed, **demo.results()}
        return cls(demo.final_figures(), found, killed, results, hints, folder)

    @classmethod
    def unchecked(cls, demo: Demo, killed: Sequence[str], folder: Path) -> Self:
        """Return the report of a demo that was interrupted, without checking promises."""
        return cls(demo.final_figures(), (), killed, {}, tuple(demo.hints()), folder)

    @property
    def ok(self) -> bool:
        """Return whether all promises were kept."""
        return all(each.kept for each in self.invariants)

    def as_json(self) -> str:
        """Return the report as JSON, for programs."""
        promises = [{"kept": each.kept, **asdict(each)} for each in self.invariants]
        more = {} if self.ok else {"folder": str(self.folder)}
        fields = {"ok": self.ok, **self.results, "killed": self.killed, "promises": promises}
        return json.dumps({**fields, **more}, indent=2)


def _has_seed(demo: Demo) -> bool:
    return "seed" in getattr(demo, "__dataclass_fields__", ())


def print_report(report: DemoReport, console: Console) -> None:
    """Print the figures, the promises and the verdict."""
    parts: list[RenderableType] = list(drawn(report.figures))
    if report.invariants:
        parts += ["", _table(report.invariants), "", *_verdict(report)]
    parts += [Text(f"  {hint}", "dim", overflow="fold") for hint in report.hints]
    with console.capture() as capture:
        console.print(Padding(Group(*parts), (1, 2)))
    # Remove the blanks with which Rich fills up each line, because the output may be a log file.
    console.file.writelines(f"{line.rstrip()}\n" for line in capture.get().splitlines())


def _table(invariants: Sequence[Invariant]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("block", "promise", "checked", ""):
        table.add_column(
            name, no_wrap=name != "promise", justify="right" if name == "checked" else "left"
        )
    for each in invariants:
        sign = Text("✓", "bold green") if each.kept else Text("✗", "bold red")
        what = each.what.removesuffix("s") if each.checked == 1 else each.what
        table.add_row(each.block, each.promise, f"{each.checked:,} {what}", sign)
    return table


def _verdict(report: DemoReport) -> Iterator[Text]:
    for each in report.invariants:
        yield from (Text(f"  {each.block}: {line}") for line in _problems(each))
    broken = sum(not each.kept for each in report.invariants)
    number = len(report.invariants)
    kills = f", after {counted(len(report.killed), 'kill')}: {', '.join(report.killed)}"
    after = kills if report.killed else ""
    if broken:
        yield Text(f"✗ {broken} of {counted(number, 'promise')} not kept{after}", "bold red")
        yield Text(f"  The evidence is in {report.folder}", "dim", overflow="fold")
    else:
        every = f"all {number} promises were" if number > 1 else "the promise was"
        yield Text(f"✓ {every} kept{after}", "bold green")


def _problems(invariant: Invariant) -> Iterator[str]:
    yield from map(printable, invariant.problems[:NAMED])
    if len(invariant.problems) > NAMED:
        yield f"and {len(invariant.problems) - NAMED:,} more"
    if not invariant.checked:
        yield "nothing was checked"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, such as `1 task` or `1,204 tasks`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def printable(text: str) -> str:
    """Return *text* with escapes in place of its control characters."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def size(octets: float) -> str:
    """Return a number of bytes as text, such as `12.3 KiB`."""
    if octets < 2**20:
        return f"{octets / 2**10:,.1f} KiB" if octets >= 2**10 else f"{octets:.0f} bytes"
    return f"{octets / 2**20:,.1f} MiB"
