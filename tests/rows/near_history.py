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
from typing import Any, Protocol

from holdfast import (
    CacheLoadFailed,
    CacheTimeout,
    Holdfast,
    LoadFailed,
    Near,
    NearStats,
    OutcomeUnknown,
    ServerUnavailable,
)
from holdfast.rows.near_row import find_row
from holdfast.rows.row_ids import member_of

ROWS = 48
PROMISED_S = 1.0
PATIENCE_S = 2.0
PAUSE_S = 0.001
WRITE_S = 0.03
LOST = (ServerUnavailable, OutcomeUnknown, LoadFailed, CacheLoadFailed, CacheTimeout)


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


class Subject(Protocol):
    """What is read and invalidated.

    Attributes:
        asked: not empty if `get` has asked the server.
    """

    asked: list[object]

    def __init__(self, hf: Holdfast, source: Versions, *, near: Near | bool) -> None: ...

    def get(self, row: int) -> int: ...

    def peek(self, row: int) -> int | None: ...

    def invalidate(self, row: int) -> None: ...

    def near_stats(self) -> NearStats: ...


class Rows:
    """A row cache."""

    def __init__(self, hf: Holdfast, source: Versions, *, near: Near | bool) -> None:
        self._cache = hf.row_cache("stock", source=source, lease=1.0, near=near)
        self.near_stats = self._cache.near_stats
        self.asked = _watched(self._cache, "_copy")

    def get(self, row: int) -> int:
        return int(self._cache.get(row, timeout=PATIENCE_S).value["version"])

    def peek(self, row: int) -> int | None:
        """Read only from memory."""
        near, options = self._cache._near, self._cache._store.options
        assert near is not None
        found = find_row(near, member_of(row), options, None, "stock")
        return found and found.value["version"]

    def invalidate(self, row: int) -> None:
        self._cache.invalidate(row)


class Results:
    """A cached function with tags."""

    def __init__(self, hf: Holdfast, source: Versions, *, near: Near | bool) -> None:
        def version(row: int) -> int:
            return source.load([row])[row]["version"]

        options = {"name": "version", "lease": 1.0, "timeout": PATIENCE_S, "on_outage": "raise"}
        tags = {"tags": lambda row: [f"row-{row}", "all"]}
        self._hf = hf
        self._function = hf.cached(ttl=60.0, near=near, **options, **tags)(version)
        self._cache = self._function._bound()
        self.near_stats = self._function.near_stats
        self.asked = _watched(self._cache, "_read")

    def get(self, row: int) -> int:
        return self._function(row)

    def peek(self, row: int) -> int | None:
        """Read only from memory."""
        assert self._cache._near is not None
        found = self._cache._near.find(self._cache.key((row,), {}))
        return None if found is None else int(found.outcome())

    def invalidate(self, row: int) -> None:
        """Invalidate a row in one of several ways."""
        way = random.random()
        if way < 0.5:
            self._function.invalidate(row)
        elif way < 0.98:
            self._hf.invalidate_tags(f"row-{row}")
        elif way < 0.99:
            self._hf.invalidate_tags("all")
        else:
            self._function.invalidate_all()


class Players:
    """Readers with near caches, and writers, until they are stopped.

    Beside each reader, another thread looks only into the same memory, so that there are reads from
    memory even while the reader waits for a server.

    Args:
        url: for readers.
        writers_url: for writers, who come another way.
        namespace: of all.
        kind: of what they read.
    """

    def __init__(
        self, url: str, writers_url: str, namespace: str, kind: type[Subject] = Rows
    ) -> None:
        self.history = History()
        self.caches: list[Subject] = []
        self._kind = kind
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
            subject, dice = self._kind(hf, self._source, near=False), random.Random()
            while not over.is_set():
                self._write(-1, subject, dice.randrange(ROWS))
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
                reads = job != "write"
                subject = self._kind(hf, self._source, near=Near(share=True) if reads else False)
                peeking = threading.Thread(target=self._peek, args=[number, subject])
                if reads:
                    self.caches.append(subject)
                    peeking.start()
                write_at = 0.0
                while not self._over.is_set():
                    if job != "read" and time.monotonic() >= write_at:
                        write_at = time.monotonic() + dice.uniform(0, 2 * WRITE_S)
                        self._write(number, subject, dice.randrange(ROWS))
                    if reads:
                        self._read(number, subject, dice.randrange(ROWS))
                    time.sleep(PAUSE_S)
                if reads:
                    peeking.join()
        except BaseException as error:
            self._problems.append(error)
            raise

    def _peek(self, number: int, subject: Subject) -> None:
        """Read what is in the memory of *subject*."""
        row = 0
        while not self._over.is_set():
            row = (row + 1) % ROWS
            began = time.monotonic()
            version = subject.peek(row)
            if version is not None:
                self.history.reads.append(Read(number, row, version, began, from_memory=True))
            time.sleep(PAUSE_S)

    def _write(self, number: int, subject: Subject, row: int) -> None:
        began = time.monotonic()
        version = self._source.raise_version(row)
        try:
            subject.invalidate(row)
        except LOST:
            return
        write = Write(number, row, version, began, time.monotonic())
        self.history.writes.append(write)

    def _read(self, number: int, subject: Subject, row: int) -> None:
        subject.asked.clear()
        began = time.monotonic()
        try:
            version = subject.get(row)
        except LOST:
            return
        read = Read(number, row, version, began, from_memory=not subject.asked)
        self.history.reads.append(read)


def _watched(cache: Any, method: str) -> list[object]:
    """Return a list that is not empty once *method* of *cache* was called."""
    calls: list[object] = []
    original = getattr(cache, method)

    def noted(argument: object) -> Any:
        calls.append(argument)
        return original(argument)

    setattr(cache, method, noted)
    return calls
