"""Measure memory, open files and connections while a demo runs, and check that they do not grow."""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import islice, pairwise
from pathlib import Path
from statistics import median
from typing import Any, Final

import redis

from .demo import Invariant

EVERY_S: Final = 5.0
KEYS_EVERY_S: Final = 60.0
OLD_S: Final = 240.0
"""Seconds that a process must have been measured to be checked."""

LEAST_S: Final = 300.0
"""Seconds that a run must last to be checked. A shorter run is still warming up."""

DEMO: Final = "demo"
SERVER: Final = "server"
"""Names of this process and of the server."""

MB: Final = 1 << 20
MEMORY: Final = "memory in MB"
FILES: Final = "open files"
CONNECTIONS: Final = "connections"
UNKEPT: Final = "memory beside the keys in MB"
SLACK: Final = {MEMORY: 1.0, FILES: 4.0, CONNECTIONS: 8.0, UNKEPT: 1.0}
"""What was measured → increase that does not count as growth, in addition to 3 %."""

PROMISES: Final = {
    MEMORY: ("processes", "none takes more and more memory"),
    FILES: ("processes", "none opens more and more files"),
    CONNECTIONS: ("server", "not more and more connections"),
    UNKEPT: ("server", "no memory but for what is kept"),
}
NOT_JUDGED: Final = {(DEMO, MEMORY), (SERVER, MEMORY), (SERVER, FILES)}
"""Values that are not checked. This process collects evidence and the server stores data, so their
memory grows. The server's open files are its connections, which are checked separately."""

PARTS: Final = 3
"""Number of equal parts of a series. Values may grow in the first part, while the demo warms up."""

POINTS: Final = 12
GROWTH: Final = 0.03
SCAN_STEP: Final = 500
BLOCK: Final = re.compile(rb"\{([a-z]+)")


@dataclass(frozen=True, slots=True)
class TimeSeries:
    """Hold the measured values of one process.

    Args:
        name: name of the process.
        what: what was measured, with its unit.
        points: pairs (seconds since the start, value).
    """

    name: str
    what: str
    points: list[tuple[float, float]] = field(default_factory=list)

    @property
    def lasted_s(self) -> float:
        """Return the seconds from the first to the last value."""
        return self.points[-1][0] - self.points[0][0] if self.points else 0.0

    def parts(self) -> Sequence[float]:
        """Return the medians of beginning, middle and end; empty if there are too few values."""
        if len(self.points) < POINTS:
            return ()
        values = [value for _, value in self.points]
        ends = [len(values) * part // PARTS for part in range(PARTS + 1)]
        return [median(values[a:b]) for a, b in pairwise(ends)]

    def grew(self) -> bool:
        """Return whether the values were higher at the end than in the middle.

        A leak still grows in the last third. A pool, a cache or the reserve of the allocator is
        full by then.
        """
        parts = self.parts()
        return bool(parts) and parts[-1] > parts[-2] * (1 + GROWTH) + SLACK[self.what]

    def sentence(self) -> str:
        """Return a sentence that describes the growth."""
        first, middle, last = self.parts()
        return f"{self.what} of {self.name}: {first:,.1f}, then {middle:,.1f}, then {last:,.1f}"


@dataclass(frozen=True, slots=True)
class KeyUsage:
    """Hold the memory and the keys of the server at one time.

    Attributes:
        at_s: seconds since the start.
        memory: bytes of memory that the server used.
        keys: block → number of keys.
        bytes: block → bytes of its keys.
    """

    at_s: float
    memory: int
    keys: dict[str, int]
    bytes: dict[str, int]

    @property
    def beside(self) -> int:
        """Return the bytes outside keys: of connections, scripts and the server itself."""
        return self.memory - sum(self.bytes.values())


def key_usage(server: Any, at_s: float) -> KeyUsage:
    """Measure all keys of a server, in steps.

    Args:
        server: a redis-py client of the server.
        at_s: seconds since the start, for the result.
    """
    keys, taken = Counter[str](), Counter[str]()
    names = server.scan_iter(count=SCAN_STEP)
    while some := list(islice(names, SCAN_STEP)):
        with server.pipeline(transaction=False) as asked:
            for name in some:
                asked.memory_usage(name, samples=0)
            for name, octets in zip(some, asked.execute(), strict=True):
                found = BLOCK.search(name)
                block = found[1].decode() if found else "other"
                keys[block] += 1
                taken[block] += octets or 0
    memory = server.info("memory")["used_memory"]
    return KeyUsage(at_s, memory, dict(keys.most_common()), dict(taken.most_common()))


class ResourceMonitor:
    """Measure the processes of a demo (on systems with `/proc`) and the server.

    Args:
        url: URL of the server.
        pids: returns name → id of the current processes.
        seconds: duration of the demo.
    """

    def __init__(self, url: str, pids: Callable[[], Mapping[str, int]], *, seconds: float) -> None:
        self._server = redis.Redis.from_url(url)
        self._pids = pids
        self._seconds = seconds
        self._series: dict[tuple[int, str], TimeSeries] = {}
        self._usages: list[KeyUsage] = []
        self._began_s = time.monotonic()
        self._next_s = self._next_keys_s = 0.0

    def close(self) -> None:
        """Close the connection."""
        self._server.close()

    def poll(self) -> None:
        """Measure if the last measurement is old enough."""
        at_s = time.monotonic() - self._began_s
        if at_s < self._next_s:
            return
        self._next_s = at_s + EVERY_S
        for name, pid in {DEMO: os.getpid(), **self._pids()}.items():
            self._measure(name, pid, at_s)
        with suppress(redis.RedisError):  # the server was killed
            clients = self._server.info("clients")["connected_clients"]
            self._note(0, SERVER, CONNECTIONS, at_s, clients)
            if at_s >= self._next_keys_s:
                self._next_keys_s = at_s + KEYS_EVERY_S
                usage = key_usage(self._server, at_s)
                self._usages.append(usage)
                self._note(0, SERVER, UNKEPT, at_s, usage.beside / MB)

    def invariants(self) -> Iterator[Invariant]:
        """Check that nothing grew, if the demo ran long enough."""
        if self._seconds < LEAST_S:
            return
        for what, (block, promise) in PROMISES.items():
            judged = [each for each in self._judged() if each.what == what]
            problems = tuple(each.sentence() for each in judged if each.grew())
            if judged:
                points = sum(len(each.points) for each in judged)
                yield Invariant(block, promise, points, "looks", problems)

    def results(self) -> dict[str, Any]:
        """Return all measured values, for the JSON report."""
        courses = [
            {"name": each.name, "what": each.what, "began_s": each.points[0][0],
             "lasted_s": each.lasted_s, "parts": each.parts(), "grew": each.grew()}
            for each in self._series.values()
        ]  # fmt: skip
        return {"courses": courses, "kept": [asdict(usage) for usage in self._usages]}

    def _judged(self) -> list[TimeSeries]:
        return [
            each
            for each in self._series.values()
            if each.lasted_s >= OLD_S and (each.name, each.what) not in NOT_JUDGED
        ]

    def _measure(self, name: str, pid: int, at_s: float) -> None:
        with suppress(OSError, ValueError):  # the process has ended, or there is no /proc
            pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
            files = len(list(Path(f"/proc/{pid}/fd").iterdir()))
            self._note(pid, name, MEMORY, at_s, pages * os.sysconf("SC_PAGE_SIZE") / MB)
            self._note(pid, name, FILES, at_s, files)

    def _note(self, pid: int, name: str, what: str, at_s: float, value: float) -> None:
        series = self._series.setdefault((pid, what), TimeSeries(name, what))
        series.points.append((at_s, value))
