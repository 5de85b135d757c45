"""The processes of the shop's people, from outside: started, listened to, killed and ended."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

END_S = 20.0
LOG_LINES = 8

FAILED = "failed: "
"""Prefix of a line that reports an error; the name follows."""


class PeopleFailed(RuntimeError):
    """A process ended by itself, or could not read; contains the end of its output."""

    def __init__(self, what: str, said: str = "") -> None:
        super().__init__("\n".join([what, *said.splitlines()[-LOG_LINES:]]))


@dataclass
class Hired:
    """A process full of people, and the thread that listens to it."""

    role: str
    people: int
    process: subprocess.Popen[str]
    listener: threading.Thread


class Staff:
    """Everybody who is at work.

    Args:
        order: what all of them get: the addresses of the server and the database, and how to work.

    Attributes:
        problems: of those who did not end as they should, in sentences.
    """

    def __init__(self, order: Mapping[str, Any]) -> None:
        self._counts: dict[str, float] = {}
        self.problems: list[str] = []
        self._order = order
        self._guard = threading.Lock()
        self._hired: list[Hired] = []

    def hire(self, role: str, people: int) -> None:
        """Start a process: `reader`, `buyer` or `refresher`."""
        process = subprocess.Popen(
            [sys.executable, "-m", "fakeshop.people"],
            cwd=Path(__file__).parents[1],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C is for us, who end them
        )
        listener = threading.Thread(target=self._listen, args=(process,))
        self._hired.append(Hired(role, people, process, listener))
        listener.start()
        assert process.stdin
        process.stdin.write(json.dumps({**self._order, "role": role, "people": people}) + "\n")
        process.stdin.flush()

    def counts(self) -> dict[str, float]:
        """Return how often the processes did each kind of action so far."""
        with self._guard:
            return dict(self._counts)

    def pids(self) -> dict[str, int]:
        """Return the processes, by their job, numbered."""
        return {f"{each.role}-{n}": each.process.pid for n, each in enumerate(self._hired, 1)}

    def after_fork(self) -> None:
        """Forget what was done so far, but for what was sold (`sold before` as well)."""
        with self._guard:
            sold = self._counts.get("sold", 0)
            self._counts = {"sold": sold, "sold before": sold}

    def look_after(self) -> None:
        """See whether all are at work.

        Raises:
            PeopleFailed: a process ended by itself.
        """
        for each in self._hired:
            if each.process.poll() is not None:
                assert each.process.stderr
                status = each.process.returncode
                what = f"a process of the sale ({each.role}) ended with status {status}"
                raise PeopleFailed(what, each.process.stderr.read())

    def replace(self, role: str) -> None:
        """Kill one who does this with SIGKILL, and hire another."""
        first = next(each for each in self._hired if each.role == role)
        first.process.kill()
        first.process.wait()
        self._hired.remove(first)
        _close(first)
        self.hire(role, first.people)

    def end(self, role: str | None = None) -> None:
        """Send those of a role home, or all, in good order."""
        ended = [each for each in self._hired if role in (None, each.role)]
        for each in ended:
            assert each.process.stdin
            each.process.stdin.close()
        for each in ended:
            try:
                each.process.wait(END_S)
            except subprocess.TimeoutExpired:
                each.process.kill()
                each.process.wait()
                self.problems.append(f"a process of the sale ({each.role}) did not end")
            else:
                if each.process.returncode:
                    self.problems.append(f"a process of the sale ({each.role}) failed in the end")
            _close(each)
            self._hired.remove(each)

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout
        for line in process.stdout:
            if line.endswith("\n"):  # who is killed may leave a part of one
                self._add(json.loads(line))

    def _add(self, counts: Mapping[str, float]) -> None:
        with self._guard:
            for what, number in counts.items():
                before = self._counts.get(what, 0)
                self._counts[what] = max(before, number) if what == "oldest_s" else before + number


def _close(each: Hired) -> None:
    """Let go of a process that has ended, once everything is heard that it said."""
    each.listener.join()
    for stream in (each.process.stdin, each.process.stdout, each.process.stderr):
        assert stream
        stream.close()
