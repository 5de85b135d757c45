"""Days of logs on their way: sent by a thread, counted by processes, one of which is killed.

The thread that publishes does the killing, in the midst of a log and of them all: so there always
is one who holds a log, and there always is more to come.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from .... import ConsumerStatus, Count, Holdfast, HoldfastError
from .counters import Counters

FEED: Final = "logs"
TALLY: Final = "daily"
NAMES: Final = ("geo-1", "geo-2", "geo-3", "geo-4")
BUDGET: Final = 8 << 20
LEASE_S: Final = 2.0  # short: who sees one killed wants to see another go on
BEST: Final = 5
FRAME_S: Final = 0.1
LOOK_S: Final = 0.01
STALL_S: Final = (
    60.0  # without any change; longer than a lease, and than the processes need to start
)


class Counting:
    """From the first byte to the last count.

    Args:
        hf: of the server.
        folder: of the days.
        counters: the processes.
        lines: how many the logs have, those that will be rejected included.

    Attributes:
        size: bytes of all logs.
        sent: of these, how many are published.
        counted: lines that are committed, those that were rejected included.
        killed_at: how many that were when one was killed.
        days: how many lines of each day.
        best: of the last of these days, the countries with most lines.
        seconds: from the beginning to the last change.
        used: bytes of the server's memory that the feed takes.
        consumers: how far each is, as the feed tells it.
    """

    def __init__(self, hf: Holdfast, folder: Path, counters: Counters, *, lines: int) -> None:
        self.counters = counters
        self.lines = lines
        self.tally = hf.tally(TALLY)
        self.sent = self.counted = self.killed_at = self.used = 0
        self.seconds = 0.0
        self.days: dict[str, int] = {}
        self.best: list[Count] = []
        self.consumers: tuple[ConsumerStatus, ...] = ()
        self._feed = hf.file_feed(FEED, consumers=NAMES, mode="share", budget=BUDGET, lease=LEASE_S)
        self._folder = folder
        self._sizes = {
            log.relative_to(folder).as_posix(): log.stat().st_size
            for log in folder.rglob("*")
            if log.is_file()
        }
        self.size = sum(self._sizes.values())
        self._published: dict[str, int] = {}
        self._failure: Exception | None = None
        self._over = threading.Event()
        self._publishing = threading.Thread(target=self._publish, name="publishing")

    def run(self) -> Iterator[None]:
        """Send and count everything; pauses now and then, so that one can look at it.

        Raises:
            CounterFailed: one who counts ended by itself.
            Exception: a log could not be sent.
        """
        self._publishing.start()
        try:
            yield from self._watch()
        except BaseException:
            self._give_up()
            raise
        finally:
            self._publishing.join()
        if self._failure is not None:
            raise self._failure

    def _watch(self) -> Iterator[None]:
        began_s = changed_s = time.monotonic()
        while self.counters.counting():
            before = (self.sent, self.counted, self.used)
            self._look()
            yield
            now_s = time.monotonic()
            if (self.sent, self.counted, self.used) != before:
                changed_s, self.seconds = now_s, now_s - began_s
            elif self._failure is not None or now_s - changed_s > STALL_S:
                self._give_up()  # what is missing then, the comparison will say
                return
            time.sleep(FRAME_S)
        self._look()

    def _give_up(self) -> None:
        """Let the thread that publishes end, for whatever it waits."""
        self._over.set()
        with suppress(HoldfastError):
            self._feed.abort()

    def _look(self) -> None:
        status = self._feed.status()
        self.used = status.used
        self.consumers = (
            status.consumers or self.consumers
        )  # of a feed that is over nothing is left
        self.days = self.tally.days()
        self.counted = sum(self.days.values()) + self.tally.rejected().lines
        if self.days:
            self.best = self.tally.top("country", day=max(self.days), limit=BEST)

    def _publish(self) -> None:
        try:
            failed = self._feed.publish_dir(self._folder, on_progress=self._told).failed
            self._failure = next(iter(failed.values()), None)
            self._feed.seal()
        except Exception as error:  # noqa: BLE001  (whatever it is, it is told at the end)
            if not self._over.is_set():
                self._failure = error

    def _told(self, name: str, published: int) -> None:
        """So many bytes of this log are published."""
        self._published[name] = published
        self.sent = sum(self._published.values())
        in_the_midst = self.sent > self.size / 2 and published < self._sizes[name]
        if in_the_midst and self.counters.killed is None:
            self._kill()

    def _kill(self) -> None:
        """Wait until they are at work, and kill one that holds a log."""
        while not self._over.wait(LOOK_S):
            holders = self._feed.status().holders
            self.killed_at = sum(self.tally.days().values())
            if holders and self.killed_at > self.lines / 8:
                self.counters.kill(holders[0])
                return
