"""A demo: its options, its traffic, the figures that it shows and the invariants that it checks."""

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
"""Longer than any lease and any wait between two attempts."""

Cell = RenderableType


class DemoFailed(RuntimeError):
    """The demo cannot start or go on.

    Attributes:
        code: exit code of the command.
    """

    def __init__(self, message: str, *, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Invariant:
    """A promise of the library, and whether the evidence shows that it was kept.

    Attributes:
        block: the block that makes the promise.
        promise: the promise in a few words.
        checked: how many things were checked; none prove nothing.
        what: the kind of these things.
        problems: sentences about what contradicts the promise.
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
    """A kill that a demo must survive.

    Attributes:
        name: the process that is killed.
        strike: kills it and starts another one.
        again: whether it may come again; if not, the successor can be seen growing old.
    """

    name: str
    strike: Callable[[], object]
    again: bool = True


class Bar(NamedTuple):
    """A bar of progress on the screen."""

    name: str
    done: float
    total: float
    note: str


class Grid(NamedTuple):
    """A table: the names of its columns, and its rows; all columns but *left* are numbers."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    left: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of a demo: the screen draws them while it runs, the report prints them.

    Attributes:
        bars: progress.
        notes: names and what is to be said of each.
        grids: tables.
        extra: what is neither, such as a chart.
    """

    bars: Sequence[Bar] = ()
    notes: Sequence[tuple[str, Cell]] = ()
    grids: Sequence[Grid] = ()
    extra: Sequence[RenderableType] = ()


class Demo(ABC):
    """A demo. Subclasses are dataclasses of the options of their command.

    The docstring of a subclass is the help of its command.

    Attributes:
        name: the name of the command.
        opening: the first words, if the start takes long.
        stopped: the last words after Ctrl-C.
        keeps_data: whether a second run on the same server goes on where the first one stopped.
        embedded: folder of the user's embedded server, if the demo has this option.
        url: URL of the user's server, if the demo has this option.
        seed: seed of everything random, if the demo has this option.
        duration_s: seconds over which the kills are spread, if the runner kills.
        opened: what ends when the demo ends.
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
        """Raise `DemoFailed` if an option cannot work, before anything is started."""

    @abstractmethod
    def start(self, context: DemoContext) -> None:
        """Start processes and threads, to be ended with `opened`; do not wait for them."""

    @abstractmethod
    def poll(self) -> bool:
        """Do what is due; called several times a second. Return whether the traffic goes on."""

    def finish(self) -> Iterator[None]:
        """Start nothing new and wait until everything begun is done; yield now and then."""
        yield from ()

    @abstractmethod
    def line(self) -> str:
        """Return the most important figures on one line, without asking the server."""

    def figures(self) -> Figures:
        """Return the figures of now."""
        return Figures(notes=[(self.name, self.line())])

    def final_figures(self) -> Figures:
        """Return the figures of the report."""
        return self.figures()

    @abstractmethod
    def invariants(self) -> Iterator[Invariant]:
        """Yield every promise and what the evidence says about it; called after `finish`."""

    def results(self) -> dict[str, Any]:
        """Return the figures for programs."""
        return {}

    def introduction(self) -> str:
        """Return what the user is about to see."""
        return ""

    def hints(self) -> Iterator[str]:
        """Yield what to do next, for the end of the report."""
        yield from ()

    def faults(self) -> Sequence[ProcessFault]:
        """Return the kills that the runner carries out while the demo runs."""
        return ()

    def pids(self) -> Mapping[str, int]:
        """Return the process ids of its processes by name."""
        return {}

    def end(self) -> None:
        """End its processes and threads. Idempotent."""
        self.opened.close()


def until(
    over: Callable[[], bool],
    *,
    progress: Callable[[], object] = lambda: None,
    patience_s: float = PATIENCE_S,
) -> Iterator[None]:
    """Yield again and again until *over* returns True, or nothing moves any more.

    Args:
        over: returns whether there is nothing left to wait for.
        progress: returns a value that changes as long as something moves.
        patience_s: how long to wait without progress.
    """
    before, ends_s = progress(), time.monotonic() + patience_s
    while not over() and time.monotonic() < ends_s:
        if (now := progress()) != before:
            before, ends_s = now, time.monotonic() + patience_s
        yield
        time.sleep(TICK_S)
