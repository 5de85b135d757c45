"""Histories of reads from memory while others write, and the judge of the promise of near caches.

A read that begins one second after a write has returned sees that write, or is not served from
memory. Who has written sees the own write at once.
"""

import random
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from holdfast import Holdfast, LoadFailed, Near, OutcomeUnknown, ServerUnavailable
from holdfast.rows.near_row import find_row
from holdfast.rows.row_ids import member_of

ROWS = 48
PROMISED_S = 1.0
PATIENCE_S = 2.0
PAUSE_S = 0.001
WRITE_S = 0.03
LOST = (ServerUnavailable, OutcomeUnknown, LoadFailed)


class Versions:
    """A source of rows, each with its version."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self.versions = dict.fromkeys(range(ROWS), 0)

    def raise_version(self, row_id: int) -> int:
        with self._guard:
            self.versions[row_id] += 1
            return self.versions[row_id]

    def load(self, ids: Sequence[int]) -> dict[int, dict[str, int]]:
        with self._guard:
            return {row_id: {"version": self.versions[row_id]} for row_id in ids}


@dataclass(frozen=True)
class Write:
    """A write that has returned."""

    client: int
    row: int
    version: int
    began: float
    returned: float


@dataclass(frozen=True)
class Read:
    """A read that has returned; from memory or from the server."""

    client: int
    row: int
    version: int
    began: float
    from_memory: bool


@dataclass
class History:
    """Everything that readers and writers saw."""

    writes: list[Write] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)

    @property
    def from_memory(self) -> int:
        return sum(read.from_memory for read in self.reads)

    def staleness(self) -> Iterator[tuple[Read, Write, float]]:
        """Yield each read from memory that missed a returned write, the write, and by how long."""
        writes: dict[int, list[Write]] = {}
        for write in self.writes:
            writes.setdefault(write.row, []).append(write)
        for read in self.reads:
            if not read.from_memory:
                continue
            missed = [
                write
                for write in writes.get(read.row, [])
                if write.version > read.version and write.returned < read.began
            ]
            if missed:
                first = min(missed, key=lambda write: write.returned)
                yield read, first, read.began - first.returned

    def longest_staleness(self) -> float:
        return max((stale for _, _, stale in self.staleness()), default=0.0)

    def violations(self) -> list[str]:
        """Return what breaks the promise."""
        found = []
        for read, write, stale in self.staleness():
            if stale >= PROMISED_S:
                found.append(f"{stale:.3f} s after {write}: {read}")
        own = {}
        events: list[Write | Read] = sorted(
            [*self.writes, *self.reads],
            key=lambda each: each.returned if isinstance(each, Write) else each.began,
        )
        for each in events:
            key = each.client, each.row
            if isinstance(each, Write):
                own[key] = max(own.get(key, 0), each.version)
            elif each.version < own.get(key, 0) and each.from_memory:
                found.append(f"its own version {own[key]} is missed by {each}")
        return found


class Players:
    """Readers with near caches, and writers, until they are stopped.

    Beside each reader, another thread looks only into the same memory, so that there are reads from
    memory even while the reader waits for a server.

    Args:
        url: for readers.
        writers_url: for writers, who come another way.
        namespace: of all.
    """

    def __init__(self, url: str, writers_url: str, namespace: str) -> None:
        self.history = History()
        self.caches: list[Any] = []
        self._url = url
        self._writers_url = writers_url
        self._namespace = namespace
        self._source = Versions()
        self._over = threading.Event()
        self._problems: list[BaseException] = []

    @contextmanager
    def playing(self, *, readers: int = 2, writers: int = 1, both: int = 1) -> Iterator[None]:
        """Let them play during the block."""
        jobs = ["read"] * readers + ["write"] * writers + ["both"] * both
        threads = [
            threading.Thread(target=self._play, args=[number, job], name=f"{job} {number}")
            for number, job in enumerate(jobs)
        ]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._over.set()
            for thread in threads:
                thread.join()
        if self._problems:
            raise self._problems[0]

    @contextmanager
    def writing(self, url: str) -> Iterator[None]:
        """Let one more writer, a client of *url*, play during the block."""
        over = threading.Event()
        thread = threading.Thread(target=self._write_on, args=[url, over])
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _write_on(self, url: str, over: threading.Event) -> None:
        with Holdfast.from_url(url, namespace=self._namespace) as hf:
            cache, dice = hf.row_cache("stock", source=self._source), random.Random()
            while not over.is_set():
                self._write(-1, cache, dice.randrange(ROWS))
                time.sleep(dice.uniform(0, 2 * WRITE_S))

    def wait_for_memory(self, reads: int = 30, timeout_s: float = 60.0) -> None:
        """Wait until so many more reads came from memory."""
        wanted = self.history.from_memory + reads
        deadline = time.monotonic() + timeout_s
        while self.history.from_memory < wanted:
            assert time.monotonic() < deadline, self.problems()
            time.sleep(0.02)

    def problems(self) -> list[str]:
        """Return why nothing comes from memory."""
        return [str(cache.near_stats()) for cache in self.caches]

    def _play(self, number: int, job: str) -> None:
        dice = random.Random(number)
        url = self._writers_url if job == "write" else self._url
        try:
            with Holdfast.from_url(url, namespace=self._namespace) as hf:
                near = job != "write" and Near(share=True)
                cache = hf.row_cache("stock", source=self._source, lease=1.0, near=near)
                asked = _watch(cache)
                peeking = threading.Thread(target=self._peek, args=[number, cache])
                if near:
                    self.caches.append(cache)
                    peeking.start()
                write_at = 0.0
                while not self._over.is_set():
                    if job != "read" and time.monotonic() >= write_at:
                        write_at = time.monotonic() + dice.uniform(0, 2 * WRITE_S)
                        self._write(number, cache, dice.randrange(ROWS))
                    if near:
                        self._read(number, cache, dice.randrange(ROWS), asked)
                    time.sleep(PAUSE_S)
                if near:
                    peeking.join()
        except BaseException as error:
            self._problems.append(error)
            raise

    def _peek(self, number: int, cache: Any) -> None:
        """Read what is in the memory of *cache*."""
        row, near, options = 0, cache._near, cache._store.options
        while not self._over.is_set():
            row = (row + 1) % ROWS
            began = time.monotonic()
            found = find_row(near, member_of(row), options, None, cache.name)
            if found is not None:
                read = Read(number, row, found.value["version"], began, from_memory=True)
                self.history.reads.append(read)
            time.sleep(PAUSE_S)

    def _write(self, number: int, cache: Any, row: int) -> None:
        began = time.monotonic()
        version = self._source.raise_version(row)
        try:
            cache.invalidate(row)
        except LOST:
            return
        write = Write(number, row, version, began, time.monotonic())
        self.history.writes.append(write)

    def _read(self, number: int, cache: Any, row: int, asked: list[str]) -> None:
        asked.clear()
        began = time.monotonic()
        try:
            found = cache.get(row, timeout=PATIENCE_S)
        except LOST:
            return
        self.history.reads.append(
            Read(number, row, found.value["version"], began, from_memory=not asked)
        )


def _watch(cache: Any) -> list[str]:
    """Return a list of the rows for which `get` asks the server from now on."""
    asked: list[str] = []
    copy = cache._copy

    def noted(member: str) -> Any:
        asked.append(member)
        return copy(member)

    cache._copy = noted
    return asked
