"""Looks, while the world lives, at what it costs: memory, files and connections."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import redis

from .course import Course
from .kept import Kept, kept_on
from .part import Verdict

EVERY_S: Final = 5.0
KEPT_EVERY_S: Final = 60.0
OLD_S: Final = 240.0
"""Who lived for so long is held to it."""

LEAST_S: Final = 300.0
"""A shorter life has not settled: it is looked at, and not judged."""

WITNESS: Final = "demo"
SERVER: Final = "server"
"""This process holds the evidence, and the server what is kept: their memory grows on purpose."""

MB: Final = 1 << 20
MEMORY: Final = "memory in MB"
FILES: Final = "open files"
CONNECTIONS: Final = "connections"
UNKEPT: Final = "memory beside the keys in MB"
SLACK: Final = {MEMORY: 1.0, FILES: 4.0, CONNECTIONS: 8.0, UNKEPT: 1.0}

NOT_JUDGED: Final = {(WITNESS, MEMORY), (SERVER, MEMORY), (SERVER, FILES)}
"""The server's files are its connections, which are judged over all its lives."""

Pids = Callable[[], Mapping[str, int]]


class Gauge:
    """Looks at processes, where there is a `/proc`, and at the server.

    Args:
        url: of the server.
        pids: tells which processes there are, by name.
        seconds: how long the world lives.
    """

    def __init__(self, url: str, pids: Pids, *, seconds: float) -> None:
        self._server = redis.Redis.from_url(url)
        self._pids = pids
        self._seconds = seconds
        self._courses: dict[tuple[int, str], Course] = {}
        self._kept: list[Kept] = []
        self._began_s = time.monotonic()
        self._next_s = self._next_kept_s = 0.0

    def close(self) -> None:
        """Look no more."""
        self._server.close()

    def look(self) -> None:
        """Look, if it is time to."""
        at_s = time.monotonic() - self._began_s
        if at_s < self._next_s:
            return
        self._next_s = at_s + EVERY_S
        for name, pid in {WITNESS: os.getpid(), **self._pids()}.items():
            self._look_at(name, pid, at_s)
        with suppress(redis.RedisError):  # the server is away
            clients = self._server.info("clients")["connected_clients"]
            self._note(0, SERVER, CONNECTIONS, at_s, clients)
            if at_s >= self._next_kept_s:
                self._next_kept_s = at_s + KEPT_EVERY_S
                kept = kept_on(self._server, at_s)
                self._kept.append(kept)
                self._note(0, SERVER, UNKEPT, at_s, kept.beside / MB)

    def verdicts(self) -> Iterator[Verdict]:
        """Whether all stayed flat, if it lived for long enough to tell."""
        if self._seconds < LEAST_S:
            return
        for what in (MEMORY, FILES, CONNECTIONS, UNKEPT):
            courses = [course for course in self._judged() if course.what == what]
            problems = tuple(course.told() for course in courses if course.grew())
            if courses:
                points = sum(len(course.points) for course in courses)
                yield Verdict(_WHOSE[what], _PROMISES[what], points, "looks", problems)

    def report(self) -> dict[str, Any]:
        """All that was seen, for programs."""
        courses = [
            {"name": course.name, "what": course.what, "began_s": course.points[0][0],
             "lasted_s": course.lasted_s, "parts": course.parts(), "grew": course.grew()}
            for course in self._courses.values()
        ]  # fmt: skip
        return {"courses": courses, "kept": [asdict(kept) for kept in self._kept]}

    def _judged(self) -> list[Course]:
        return [
            course
            for course in self._courses.values()
            if course.lasted_s >= OLD_S and (course.name, course.what) not in NOT_JUDGED
        ]

    def _look_at(self, name: str, pid: int, at_s: float) -> None:
        with suppress(OSError, ValueError):  # it has just ended, or this system has no /proc
            pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
            files = len(list(Path(f"/proc/{pid}/fd").iterdir()))
            self._note(pid, name, MEMORY, at_s, pages * os.sysconf("SC_PAGE_SIZE") / MB)
            self._note(pid, name, FILES, at_s, files)

    def _note(self, pid: int, name: str, what: str, at_s: float, value: float) -> None:
        course = self._courses.setdefault((pid, what), Course(name, what, SLACK[what]))
        course.points.append((at_s, value))


_WHOSE: Final = {
    MEMORY: "processes", FILES: "processes", CONNECTIONS: "server", UNKEPT: "server",
}  # fmt: skip
_PROMISES: Final = {
    MEMORY: "none takes more and more memory",
    FILES: "none opens more and more files",
    CONNECTIONS: "not more and more connections",
    UNKEPT: "no memory but for what is kept",
}
