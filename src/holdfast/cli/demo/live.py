"""What goes on, while it goes on: one calm screen on a terminal, a line a second anywhere else."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol, Self

from rich.console import Console, RenderableType
from rich.live import Live

LINE_EVERY_S = 1.0


class Screen(Protocol):
    """Shows what goes on while `with screen:` lasts."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *ended: object) -> None: ...

    def show(self) -> None:
        """Show how it is now."""


def screen_on(
    console: Console, *, drawn: Callable[[], RenderableType], told: Callable[[], str]
) -> Screen:
    """The screen that fits *console*: *drawn* on a terminal, *told* in a pipe, a log or a dumb one.

    Args:
        console: where.
        drawn: makes a picture.
        told: makes a line; empty: there is nothing to be told yet.
    """
    return LiveScreen(console, drawn) if console.is_interactive else LineScreen(console, told)


class LineScreen:
    """One line every second, without control codes."""

    def __init__(self, console: Console, told: Callable[[], str]) -> None:
        self._console = console
        self._told = told
        self._next_s = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ended: object) -> None:
        pass

    def show(self) -> None:
        """Print a line, if the last one is old enough."""
        now_s = time.monotonic()
        if now_s >= self._next_s and (line := self._told()):
            self._next_s = now_s + LINE_EVERY_S
            self._console.print(line, soft_wrap=True)


class LiveScreen:
    """A picture in place, gone when all is over."""

    def __init__(self, console: Console, drawn: Callable[[], RenderableType]) -> None:
        self._drawn = drawn
        self._live = Live(console=console, auto_refresh=False, transient=True)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *ended: object) -> None:
        self._live.stop()

    def show(self) -> None:
        """Draw the picture anew."""
        self._live.update(self._drawn(), refresh=True)
