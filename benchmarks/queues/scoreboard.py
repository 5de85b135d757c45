"""What ran, how often and when: a file that all processes of a contender have in memory.

A mark costs no system call and survives `kill -9` of the process that made it.
"""

from __future__ import annotations

import mmap
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_SLOT_BYTES: Final = 8 + 8 + 1 + 1


@dataclass(frozen=True, slots=True)
class Runs:
    """What a scoreboard says about the first so many tasks.

    Attributes:
        lost: tasks that did not end.
        repeated: tasks that ended more than once.
        wall_s: from the first start to the last.
        cpu_s: processor time in between, of the one process that ran them.
        starts_ns: when each was started; 0 for one that was not. The clock is the system's
            monotonic one, the same in all processes.
    """

    lost: int
    repeated: int
    wall_s: float
    cpu_s: float
    starts_ns: list[int]


class Scoreboard:
    """A slot for each task: how often it began and ended, and when it began last.

    Args:
        path: a file of `make`.
    """

    def __init__(self, path: Path) -> None:
        with path.open("r+b") as file:
            self._file = mmap.mmap(file.fileno(), 0)
        whole = memoryview(self._file)
        self.size = size = len(whole) // _SLOT_BYTES
        self._at_ns = whole[: 8 * size].cast("Q")
        self._cpu_ns = whole[8 * size : 16 * size].cast("Q")
        self._begun = whole[16 * size : 17 * size]
        self._ended = whole[17 * size :]

    @classmethod
    def make(cls, path: Path, size: int) -> Scoreboard:
        """Make a new scoreboard in *path*, for *size* tasks."""
        path.write_bytes(bytes(size * _SLOT_BYTES))
        return cls(path)

    def clear(self) -> None:
        """Forget everything."""
        self._file[:] = bytes(len(self._file))

    def begin(self, number: int) -> None:
        """Task *number* starts."""
        self._at_ns[number] = time.monotonic_ns()
        self._cpu_ns[number] = time.process_time_ns()
        self._begun[number] += 1

    def end(self, number: int) -> None:
        """Task *number* has done its work."""
        self._ended[number] += 1

    def ended(self, number: int) -> bool:
        """Return whether task *number* has ever ended."""
        return self._ended[number] > 0

    def left(self, count: int) -> int:
        """Return how many of the first *count* tasks have not ended."""
        return bytes(self._ended[:count]).count(0)

    def held(self, count: int) -> int:
        """Return how many of the first *count* tasks have begun and not ended."""
        return bytes(self._begun[:count]).count(1) - (count - self.left(count))

    def runs(self, count: int) -> Runs:
        """Return what happened to the first *count* tasks."""
        starts_ns, cpu_ns = list(self._at_ns[:count]), list(self._cpu_ns[:count])
        began = [number for number in range(count) if starts_ns[number]]
        wall_s, cpu_s = (
            (max(taken[n] for n in began) - min(taken[n] for n in began)) / 1e9 if began else 0.0
            for taken in (starts_ns, cpu_ns)
        )
        repeated = sum(times > 1 for times in self._ended[:count])
        return Runs(self.left(count), repeated, wall_s, cpu_s, starts_ns)
