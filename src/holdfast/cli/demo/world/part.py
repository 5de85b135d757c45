"""What a demo is as a part of the world."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import ClassVar, Final, Self

TICK_S: Final = 0.1
PATIENCE_S: Final = 60.0
"""For what was begun to end: longer than any lease and any wait between two attempts."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that a part has to bear.

    Attributes:
        name: of what is killed.
        strike: kills it, and lets another begin.
        again: it may come again and again; if not, who came after it can be seen growing old.
    """

    name: str
    strike: Callable[[], object]
    again: bool = True


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a promise was kept.

    Attributes:
        block: whose promise it is.
        promise: in a few words.
        checked: how many things were held to it; if there were none, nothing is proven.
        what: they are.
        problems: in sentences.
    """

    block: str
    promise: str
    checked: int
    what: str
    problems: tuple[str, ...] = ()

    @property
    def kept(self) -> bool:
        """It was looked at, and no problem was found."""
        return self.checked > 0 and not self.problems


class Part(ABC):
    """A demo that goes on, for as long as `with part:` lasts.

    Attributes:
        name: on the screen.
        opened: what ends when the part does.
    """

    name: ClassVar[str]

    def __init__(self) -> None:
        self.opened = ExitStack()

    def __enter__(self) -> Self:
        try:
            self.begin()
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *ended: object) -> None:
        self.end()

    @abstractmethod
    def begin(self) -> None:
        """Start its processes and threads, to be ended with `opened`; it waits for none."""

    @abstractmethod
    def look(self) -> None:
        """Do what is due; called several times a second."""

    @abstractmethod
    def told(self) -> str:
        """Its numbers, on a line."""

    def faults(self) -> Sequence[Fault]:
        """What may happen to it."""
        return ()

    @abstractmethod
    def pids(self) -> Mapping[str, int]:
        """Its processes at the moment, by name."""

    @abstractmethod
    def finish(self) -> Iterator[None]:
        """Begin nothing new, and wait until all is done that was begun; pauses now and then."""

    @abstractmethod
    def verdicts(self) -> Iterator[Verdict]:
        """Whether its promises were kept, by evidence from elsewhere; after `finish`."""

    def end(self) -> None:
        """End its processes and threads, however far they are. Idempotent."""
        self.opened.close()


def until(
    over: Callable[[], bool],
    *,
    moved: Callable[[], object] = lambda: None,
    patience_s: float = PATIENCE_S,
) -> Iterator[None]:
    """Pause again and again until it is *over*, or patience is.

    Args:
        over: whether it is.
        moved: what it says changes as long as something goes on: then patience begins anew.
        patience_s: how long to wait without that.
    """
    before, ends_s = moved(), time.monotonic() + patience_s
    while not over() and time.monotonic() < ends_s:
        if (now := moved()) != before:
            before, ends_s = now, time.monotonic() + patience_s
        yield
        time.sleep(TICK_S)
