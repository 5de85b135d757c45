"""Define the base class of demos, their figures, faults and invariants."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from rich.console import RenderableType

if TYPE_CHECKING:
    from .context import DemoContext

TICK_S: Final = 0.1
PATIENCE_S: Final = 60.0
"""Seconds without progress after which a demo stops waiting: longer than each lease and retry."""

Cell = RenderableType


class DemoFailed(RuntimeError):
    """Raised when a demo cannot start or continue.

    Attributes:
        code: exit code of the command.
    """

    def __init__(self, message: str, *, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Invariant:
    """Hold a promise of the library, and the result of its check.

    Attributes:
        block: the part of the library that makes the promise, such as `queue`.
        promise: the promise in a few words.
        checked: how many things were checked; 0 proves nothing.
        what: what these things are, such as `mails`.
        problems: sentences, one for each contradiction to the promise.
    """

    block: str
    promise: str
    checked: int
    what: str
    problems: tuple[str, ...] = ()

    @property
    def kept(self) -> bool:
        """Return whether something was checked and no problem was found."""
        return self.checked > 0 and not self.problems


@dataclass(frozen=True, slots=True)
class ProcessFault:
    """Define a kill that a demo must survive.

    Attributes:
        name: name of the process that is killed.
        strike: kills the process and starts another one.
        again: whether a long run repeats the kill; False: the new process runs to the end, so that
            its use of resources can be checked.
    """

    name: str
    strike: Callable[[], object]
    again: bool = True


class Bar(NamedTuple):
    """Define a progress bar: its name, its value of a total, and a text behind it."""

    name: str
    done: float
    total: float
    note: str


class Grid(NamedTuple):
    """Define a table: names of its columns, and rows. All columns but the first and those in *left*
    are aligned right."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    left: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Figures:
    """Hold the figures of a demo. The screen shows them while it runs, the report prints them.

    Attributes:
        bars: progress bars.
        notes: pairs (name, text).
        grids: tables.
        extra: other output, such as a chart.
    """

    bars: Sequence[Bar] = ()
    notes: Sequence[tuple[str, Cell]] = ()
    grids: Sequence[Grid] = ()
    extra: Sequence[RenderableType] = ()


class Demo(ABC):
    """Define what each demo provides. Fields of a subclass are the options of its command.

    The docstring of a subclass is the help of its command.

    Attributes:
        name: name of the command.
        opening: text that is shown first, for a demo that takes long to start.
        stopped: text that is shown after Ctrl-C.
        keeps_data: whether a second run on the same server continues the first one.
        embedded: folder of the user's embedded server, if the demo has this option.
        url: URL of the user's server, if the demo has this option.
        seed: seed of all random choices, if the demo has this option.
        duration_s: seconds over which the runner spreads its kills, if it kills processes.
        opened: exit stack that ends the demo's processes and threads.
    """

    name: ClassVar[str]
    opening: ClassVar[str] = ""
    stopped: str = "stopped; nothing is kept"
    keeps_data: ClassVar[bool] = False
    embedded: Path | None = None
    url: str | None = None
    seed: int | None = None
    duration_s: float = 0.0
    opened: ExitStack

    def check_options(self) -> None:  # noqa: B027  (most need none)
        """Raise `DemoFailed` if an option is not valid. Called before anything is started."""

    @abstractmethod
    def start(self, context: DemoContext) -> None:
        """Start processes and threads without waiting for them, and add their end to `opened`."""

    @abstractmethod
    def poll(self) -> bool:
        """Do what is due. Return whether the demo goes on. Called several times a second."""

    def finish(self) -> Iterator[None]:
        """Wait until everything that was begun is done; yield several times a second."""
        yield from ()

    @abstractmethod
    def line(self) -> str:
        """Return the most important figures on one line. Avoid calls to the server."""

    def figures(self) -> Figures:
        """Return the current figures, for the screen."""
        return Figures(notes=[(self.name, self.line())])

    def final_figures(self) -> Figures:
        """Return the figures at the end, for the report."""
        return self.figures()

    @abstractmethod
    def invariants(self) -> Iterator[Invariant]:
        """Check all promises, and yield the results. Called after `finish`."""

    def results(self) -> dict[str, Any]:
        """Return the figures for the JSON report."""
        return {}

    def introduction(self) -> str:
        """Return a text that says what the user will see."""
        return ""

    def hints(self) -> Iterator[str]:
        """Yield hints what the user can do next, for the end of the report."""
        yield from ()

    def faults(self) -> Sequence[ProcessFault]:
        """Return the kills that the runner carries out while the demo runs."""
        return ()

    def pids(self) -> Mapping[str, int]:
        """Return the names and ids of the demo's processes."""
        return {}

    def end(self) -> None:
        """End the demo's processes and threads. Idempotent."""
        self.opened.close()


def until(
    over: Callable[[], bool],
    *,
    progress: Callable[[], object] = lambda: None,
    patience_s: float = PATIENCE_S,
) -> Iterator[None]:
    """Yield again and again until *over* returns True, or there is no more progress.

    Args:
        over: returns whether to stop.
        progress: returns a value; if it has changed, there is progress.
        patience_s: seconds without progress after which to stop.
    """
    before, ends_s = progress(), time.monotonic() + patience_s
    while not over() and time.monotonic() < ends_s:
        if (now := progress()) != before:
            before, ends_s = now, time.monotonic() + patience_s
        yield
        time.sleep(TICK_S)
