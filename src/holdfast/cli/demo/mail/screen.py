"""The demo while it runs: one calm screen on a terminal, plain lines anywhere else."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ..bars import bars
from ..live import screen_on
from .events import LABELS
from .smtp import Refused

PACE_STEP_S = 0.25
PACE_STEPS = 32  # eight seconds of history
PIDS_SHOWN = 4
NAMES_WIDTH = max(map(len, LABELS.values()))
BLOCKS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True, slots=True)
class Progress:
    """Where the mails of all events are at one moment.

    `enqueued` and `sent` count events, the next four tasks. `kinds` tells how many of how many are
    sent of each kind; it is empty, and `refused` None, when the mails go to another's server.
    """

    events: int
    enqueued: int
    sent: int
    kinds: Mapping[str, tuple[int, int]]
    ready: int
    delayed: int
    running: int
    dead: int
    refused: Refused | None
    workers: Sequence[int]
    replaced: int

    @property
    def unsettled(self) -> int:
        """Tasks that the queue still has to bring to an end."""
        return self.ready + self.delayed + self.running


class Pace:
    """How fast a count rises: over the last second, and step by step before."""

    def __init__(self) -> None:
        self._marks: deque[tuple[float, int]] = deque(maxlen=PACE_STEPS + 1)

    def note(self, count: int) -> None:
        """Remember the count of now; calls in quick succession are left out."""
        now_s = time.monotonic()
        if not self._marks or now_s - self._marks[-1][0] >= PACE_STEP_S:
            self._marks.append((now_s, count))

    def steps(self) -> list[float]:
        """The rise per second in each step, oldest first."""
        return [(new - old) / (end - start) for (start, old), (end, new) in pairwise(self._marks)]

    def per_second(self) -> float:
        """The rise per second over the last second, or as much of it as there was."""
        last = self.steps()[-round(1 / PACE_STEP_S) :]
        return sum(last) / len(last) if last else 0.0


class ProgressScreen:
    """Bars, counts and the pace on a terminal, gone when the run ends; lines anywhere else."""

    def __init__(self, console: Console) -> None:
        self._began_s = time.monotonic()
        self._pace = Pace()
        self._progress: Progress  # nothing is drawn or told before `show`
        self._screen = screen_on(console, drawn=self._drawn, told=self._told)

    def __enter__(self) -> Self:
        self._screen.__enter__()
        return self

    def __exit__(self, *ended: object) -> None:
        self._screen.__exit__(*ended)

    def show(self, progress: Progress) -> None:
        """Show where the mails are now."""
        self._pace.note(progress.sent)
        self._progress = progress
        self._screen.show()

    def _told(self) -> str:
        progress = self._progress
        return (
            f"{time.monotonic() - self._began_s:5.1f} s"
            f"  sent {progress.sent:,} of {progress.events:,},"
            f" ready {progress.ready:,}, delayed {progress.delayed:,},"
            f" running {progress.running:,}, dead {progress.dead:,}"
        )

    def _drawn(self) -> RenderableType:
        progress = self._progress
        kinds = progress.kinds or {"sent": (progress.sent, progress.events)}
        counts = {"enqueued": (progress.enqueued, progress.events), **kinds}
        above = bars(
            (
                (LABELS.get(kind, kind), count, total, f"{count:,} of {total:,}")
                for kind, (count, total) in counts.items()
            ),
            names_width=NAMES_WIDTH,
        )

        rows = Table.grid(padding=(0, 2))
        rows.add_column(style="dim", width=NAMES_WIDTH)
        rows.add_column()
        rows.add_row("queue", _queue_line(progress))
        if progress.refused:
            rows.add_row("refused", _refused_line(progress.refused))
        rows.add_row("pace", _pace_line(self._pace))
        rows.add_row("workers", _workers_line(progress))

        whole = Table.grid()
        for part in above, "", rows:
            whole.add_row(part)
        return Padding(whole, (1, 2))


def _queue_line(progress: Progress) -> Text:
    return Text("   ").join(
        [
            Text(f"{progress.ready:,} ready"),
            Text(f"{progress.running:,} running"),
            Text(f"{progress.delayed:,} delayed"),
            Text(f"{progress.dead:,} dead", style="bold red" if progress.dead else ""),
        ]
    )


def _refused_line(refused: Refused) -> Text:
    return Text(f"{refused.mails:,} mails (451)   {refused.connections:,} connections (421)")


def _pace_line(pace: Pace) -> Text:
    steps = pace.steps()
    top = max(steps, default=0.0) or 1.0
    spark = "".join(BLOCKS[min(7, int(8 * step / top))] for step in steps)
    return Text.assemble(f"{pace.per_second():,.0f} mails/s".ljust(15), (spark, "cyan"))


def _workers_line(progress: Progress) -> Text:
    pids = "  ".join(map(str, progress.workers[:PIDS_SHOWN]))
    more = "  …" if len(progress.workers) > PIDS_SHOWN else ""
    hint = "kill -9 one: nothing is lost"
    if progress.replaced:
        hint = f"{progress.replaced} died; what they had begun runs again"
    return Text.assemble(f"{pids}{more}   ", (hint, "dim italic"))
