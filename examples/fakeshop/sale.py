"""The sale from outside: starts its people, adds up what they tell, checks what came of it."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from holdfast import Holdfast

from .shop import EACH, EVERY_S, ITEMS, Base, cache_of, left_in, open_shop

READER_PROCESSES = 2
BUYERS = 8
PAUSE_S = 0.02
TICK_S = 0.25
BEGIN_S, END_S = 60.0, 20.0
LOG_LINES = 8

FAILED = "failed: "
"""How people tell of errors: this, and the name."""


class PeopleFailed(RuntimeError):
    """A process ended by itself, or nobody could read anything; carries the end of what it said."""

    def __init__(self, what: str, said: str = "") -> None:
        super().__init__("\n".join([what, *said.splitlines()[-LOG_LINES:]]))


@dataclass(frozen=True)
class Snapshot:
    """What was done so far in one part of the sale.

    Attributes:
        cached: whether people read the cache.
        seconds: since they read.
        counts: sums by what was done.
    """

    cached: bool
    seconds: float
    counts: Mapping[str, float]

    def per_second(self, what: str) -> float:
        """How often a second."""
        return self.counts.get(what, 0) / self.seconds if self.seconds else 0.0

    @property
    def mean_age_s(self) -> float:
        """Of the rows that were read."""
        return self.counts.get("age_s", 0) / max(1, self.counts.get("reads", 0))

    @property
    def oldest_s(self) -> float:
        """Likewise, of the oldest."""
        return self.counts.get("oldest_s", 0)

    @property
    def failed(self) -> Mapping[str, int]:
        """Reads that failed, by the name of the error."""
        found = (each for each in self.counts.items() if each[0].startswith(FAILED))
        return {what.removeprefix(FAILED): int(number) for what, number in found}


class Sale:
    """One sale: first with everybody at the database, then with the cache.

    Args:
        server: URL of a Valkey or Redis.
        database: URL of a database.
        readers: how many look at items at once.
        seconds: how long each part lasts.

    Attributes:
        problems: what went wrong, in words.
    """

    def __init__(self, server: str, database: str, *, readers: int, seconds: float) -> None:
        self.problems: list[str] = []
        self._order = {
            "server": server,
            "database": database,
            "namespace": f"fakeshop-{secrets.token_hex(4)}",
        }
        self._readers = readers
        self._seconds = seconds
        self._counts: dict[str, float] = {}
        self._guard = threading.Lock()

    def run(self) -> Iterator[Snapshot]:
        """Hold it; tells now and then how it goes, at last of each part how it went."""
        engine = sa.create_engine(self._order["database"])
        try:
            for cached in (False, True):
                open_shop(engine)
                yield from self._part(cached=cached)
                self._check(engine, cached=cached)
        finally:
            Base.metadata.drop_all(engine)
            engine.dispose()

    def _part(self, *, cached: bool) -> Iterator[Snapshot]:
        self._counts = {}
        people = [("buyer", BUYERS)]
        people += [("reader", self._readers // READER_PROCESSES)] * READER_PROCESSES
        if cached:
            self._schedule()
            people.append(("refresher", 1))
        processes = [(role, self._start(role, number, cached=cached)) for role, number in people]
        listeners = [
            threading.Thread(target=self._listen, args=(process,)) for _, process in processes
        ]
        for listener in listeners:
            listener.start()
        try:
            began = self._begun(processes)
            while (seconds := time.monotonic() - began) < self._seconds:
                yield self._snapshot(seconds, cached=cached)
                time.sleep(TICK_S)
                self._look_after(processes)
            last = self._snapshot(time.monotonic() - began, cached=cached)
        finally:
            self._end(processes, listeners)
        yield last

    def _begun(self, processes: list[tuple[str, subprocess.Popen[str]]]) -> float:
        """Wait until there are readers; what was done until then does not count for rates."""
        limit = time.monotonic() + BEGIN_S
        while not self._counts.get("reads"):
            time.sleep(0.02)
            self._look_after(processes)
            if time.monotonic() > limit:
                failed = ", ".join(self._snapshot(0, cached=False).failed) or "no error either"
                raise PeopleFailed(f"nobody has read anything for {BEGIN_S:.0f} s: {failed}")
        with self._guard:
            sold = self._counts.get("sold", 0)
            self._counts = {"sold": sold, "sold before": sold}
        return time.monotonic()

    def _schedule(self) -> None:
        engine = sa.create_engine(self._order["database"])
        with Holdfast.from_url(self._order["server"], namespace=self._order["namespace"]) as hf:
            cache_of(hf, engine).schedule_many(dict.fromkeys(range(ITEMS), EVERY_S))
        engine.dispose()

    def _start(self, role: str, number: int, *, cached: bool) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "fakeshop.people"],
            cwd=Path(__file__).parents[1],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C is for us, who end them
        )
        order = {**self._order, "role": role, "people": number, "cached": cached}
        assert process.stdin
        process.stdin.write(json.dumps({**order, "pause_s": PAUSE_S}) + "\n")
        process.stdin.flush()
        return process

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout
        for line in process.stdout:
            told: dict[str, Any] = json.loads(line)
            with self._guard:
                for what, number in told.items():
                    before = self._counts.get(what, 0)
                    largest = what == "oldest_s"
                    self._counts[what] = max(before, number) if largest else before + number

    def _look_after(self, processes: list[tuple[str, subprocess.Popen[str]]]) -> None:
        for role, process in processes:
            if process.poll() is not None:
                assert process.stderr
                status = process.returncode
                what = f"a process of the sale ({role}) ended with status {status}"
                raise PeopleFailed(what, process.stderr.read())

    def _end(
        self, processes: list[tuple[str, subprocess.Popen[str]]], listeners: list[threading.Thread]
    ) -> None:
        for _, process in processes:
            assert process.stdin
            process.stdin.close()
        for role, process in processes:
            try:
                process.wait(END_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                self.problems.append(f"a process of the sale ({role}) did not end")
            else:
                if process.returncode:
                    self.problems.append(f"a process of the sale ({role}) failed in the end")
        for listener in listeners:
            listener.join()
        for _, process in processes:
            for stream in (process.stdout, process.stderr):
                assert stream
                stream.close()

    def _snapshot(self, seconds: float, *, cached: bool) -> Snapshot:
        with self._guard:
            return Snapshot(cached, seconds, dict(self._counts))

    def _check(self, engine: sa.Engine, *, cached: bool) -> None:
        """What was sold is gone from the shelf, and nothing else is."""
        sold, left = int(self._counts.get("sold", 0)), left_in(engine)
        if sold + left != ITEMS * EACH:
            self.problems.append(f"{sold:,} were sold and {left:,} are left of {ITEMS * EACH:,}")
        if not cached:
            return
        with Holdfast.from_url(self._order["server"], namespace=self._order["namespace"]) as hf:
            cache = cache_of(hf, engine)
            shown = sum(cache.get(n, max_age=0.0).value["left"] for n in range(ITEMS))
            cache.unschedule(*range(ITEMS))
        if shown != left:
            self.problems.append(f"the cache shows {shown:,} where the database has {left:,}")
