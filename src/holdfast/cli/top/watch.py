"""Looks again and again, until somebody has seen enough."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Final

from rich.console import Console
from rich.live import Live

from ... import HoldfastError
from .frame import Frame
from .keyboard import Keyboard
from .picture import Picture
from .sections import VIEWS
from .survey import Survey

ENDS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


async def follow(
    survey: Survey,
    every_s: float,
    *,
    told: Callable[[Frame], None],
    failed: Callable[[HoldfastError], None],
    going: asyncio.Event,
) -> None:
    """Look every *every_s* seconds while *going* is set; a look that fails is made again."""
    loop = asyncio.get_running_loop()
    while True:
        await going.wait()
        began_s = loop.time()
        try:
            frame = await survey.look()
        except HoldfastError as error:
            failed(error)
        else:
            told(frame)
        await asyncio.sleep(max(0.0, began_s + every_s - loop.time()))


async def until_signalled(
    survey: Survey,
    every_s: float,
    *,
    told: Callable[[Frame], None],
    failed: Callable[[HoldfastError], None],
) -> None:
    """`follow` until Ctrl-C or SIGTERM."""
    going, over = asyncio.Event(), asyncio.Event()
    going.set()
    with _signals(over.set):
        await _until(over, follow(survey, every_s, told=told, failed=failed, going=going))


class Watch:
    """The live screen.

    Args:
        console: a terminal.
        picture: what is drawn on it.
        reason: why a look failed, for people.
    """

    def __init__(
        self, console: Console, picture: Picture, reason: Callable[[HoldfastError], str]
    ) -> None:
        self._console = console
        self._picture = picture
        self._reason = reason
        self._live = Live(
            console=console, screen=True, auto_refresh=False, redirect_stdout=False,
            redirect_stderr=False,
        )  # fmt: skip
        self._going = asyncio.Event()
        self._over = asyncio.Event()

    async def run(self, survey: Survey) -> None:
        """Show what *survey* sees, until `q`, Ctrl-C or SIGTERM."""
        # What is logged would be written across the picture, which tells the same.
        logging.getLogger("holdfast").addHandler(logging.NullHandler())
        keyboard = Keyboard(self._heard)
        self._picture.keys = keyboard.is_there
        self._going.set()
        looks = follow(
            survey,
            self._picture.every_s,
            told=self._told,
            failed=self._failed,
            going=self._going,
        )
        with self._live, keyboard, _signals(self._over.set, resized=self._draw):
            self._draw()
            await _until(self._over, looks)

    def _told(self, frame: Frame) -> None:
        self._picture.frame, self._picture.problem = frame, ""
        self._draw()

    def _failed(self, error: HoldfastError) -> None:
        self._picture.problem = self._reason(error)
        self._draw()

    def _heard(self, key: str) -> None:
        if key == "q":
            self._over.set()
        elif key == "p":
            self._pause()
        elif key == "\t":
            self._picture.turn()
        elif key.isdecimal() and 1 <= int(key) <= len(VIEWS):
            self._picture.turn(list(VIEWS)[int(key) - 1])
        self._draw()

    def _pause(self) -> None:
        self._picture.paused = not self._picture.paused
        (self._going.clear if self._picture.paused else self._going.set)()

    def _draw(self) -> None:
        size = self._console.size
        self._live.update(self._picture.drawn(size.width, size.height), refresh=True)


async def _until(over: asyncio.Event, looks: Coroutine[Any, Any, None]) -> None:
    """Run *looks* until it fails, or *over* is set."""
    looking = asyncio.create_task(looks)
    waiting = asyncio.create_task(over.wait())
    await asyncio.wait([looking, waiting], return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if not looking.done():
        looking.cancel()
    await asyncio.wait([looking])
    if not looking.cancelled():
        looking.result()


@contextmanager
def _signals(
    end: Callable[[], None], *, resized: Callable[[], None] | None = None
) -> Iterator[None]:
    """Have signals call these meanwhile."""
    loop = asyncio.get_running_loop()
    handlers = dict.fromkeys(ENDS, end) | ({signal.SIGWINCH: resized} if resized else {})
    for number, handler in handlers.items():
        loop.add_signal_handler(number, handler)
    try:
        yield
    finally:
        for number in handlers:
            loop.remove_signal_handler(number)
