"""Read and show snapshots repeatedly, until a key or a signal ends this."""

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
from .keyboard import Keyboard
from .screen import TopScreen
from .sections import VIEWS
from .snapshot import SnapshotReader, TopSnapshot

ENDS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


async def follow(
    reader: SnapshotReader,
    every_s: float,
    *,
    show: Callable[[TopSnapshot], None],
    fail: Callable[[HoldfastError], None],
    going: asyncio.Event,
) -> None:
    """Read a snapshot every *every_s* seconds while *going* is set.

    Pass each snapshot to *show*. If it cannot be read, pass the error to *fail*, and go on.
    """
    loop = asyncio.get_running_loop()
    while True:
        await going.wait()
        began_s = loop.time()
        try:
            snapshot = await reader.read()
        except HoldfastError as error:
            fail(error)
        else:
            show(snapshot)
        await asyncio.sleep(max(0.0, began_s + every_s - loop.time()))


async def follow_until_signal(
    reader: SnapshotReader,
    every_s: float,
    *,
    show: Callable[[TopSnapshot], None],
    fail: Callable[[HoldfastError], None],
) -> None:
    """Call `follow` until Ctrl-C or SIGTERM."""
    going, over = asyncio.Event(), asyncio.Event()
    going.set()
    with _signals(over.set):
        await _until(over, follow(reader, every_s, show=show, fail=fail, going=going))


class LiveTop:
    """Shows snapshots on a terminal, and reacts to keys.

    Args:
        console: a terminal.
        screen: draws the snapshots.
        explain: returns why a snapshot failed, for people.
    """

    def __init__(
        self, console: Console, screen: TopScreen, explain: Callable[[HoldfastError], str]
    ) -> None:
        self._console = console
        self._screen = screen
        self._explain = explain
        self._live = Live(
            console=console, screen=True, auto_refresh=False, redirect_stdout=False,
            redirect_stderr=False,
        )  # fmt: skip
        self._going = asyncio.Event()
        self._over = asyncio.Event()

    async def run(self, reader: SnapshotReader) -> None:
        """Show the snapshots of *reader* until `q`, Ctrl-C or SIGTERM."""
        # Add a null handler, so that Python's last-resort handler does not write warnings across
        # the screen. The screen shows the same problems.
        logging.getLogger("holdfast").addHandler(logging.NullHandler())
        keyboard = Keyboard(self._handle_key)
        self._screen.keys = keyboard.is_available
        self._going.set()
        following = follow(
            reader,
            self._screen.every_s,
            show=self._show,
            fail=self._fail,
            going=self._going,
        )
        with self._live, keyboard, _signals(self._over.set, resized=self._draw):
            self._draw()
            await _until(self._over, following)

    def _show(self, snapshot: TopSnapshot) -> None:
        self._screen.snapshot, self._screen.problem = snapshot, ""
        self._draw()

    def _fail(self, error: HoldfastError) -> None:
        self._screen.problem = self._explain(error)
        self._draw()

    def _handle_key(self, key: str) -> None:
        if key == "q":
            self._over.set()
        elif key == "p":
            self._pause()
        elif key == "\t":
            self._screen.choose()
        elif key.isdecimal() and 1 <= int(key) <= len(VIEWS):
            self._screen.choose(list(VIEWS)[int(key) - 1])
        self._draw()

    def _pause(self) -> None:
        self._screen.paused = not self._screen.paused
        (self._going.clear if self._screen.paused else self._going.set)()

    def _draw(self) -> None:
        size = self._console.size
        self._live.update(self._screen.draw(size.width, size.height), refresh=True)


async def _until(over: asyncio.Event, work: Coroutine[Any, Any, None]) -> None:
    """Run *work* until it fails, or *over* is set."""
    running = asyncio.create_task(work)
    waiting = asyncio.create_task(over.wait())
    await asyncio.wait([running, waiting], return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if not running.done():
        running.cancel()
    await asyncio.wait([running])
    if not running.cancelled():
        running.result()


@contextmanager
def _signals(
    end: Callable[[], None], *, resized: Callable[[], None] | None = None
) -> Iterator[None]:
    """Call *end* at the signals `ENDS`, and *resized* at SIGWINCH, within the context."""
    loop = asyncio.get_running_loop()
    handlers = dict.fromkeys(ENDS, end) | ({signal.SIGWINCH: resized} if resized else {})
    for number, handler in handlers.items():
        loop.add_signal_handler(number, handler)
    try:
        yield
    finally:
        for number in handlers:
            loop.remove_signal_handler(number)
