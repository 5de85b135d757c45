"""A process full of phones, from outside: started, killed, and started again."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

END_S = 10.0
LOG_LINES = 8


class PhonesFailed(RuntimeError):
    """A process ended by itself; carries the end of what it had to say."""

    def __init__(self, status: int, log: Path) -> None:
        self.status = status
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-LOG_LINES:])
        super().__init__(f"a process of phones ended with status {status}\n{tail}")


class PhoneProcess:
    """One process of `phones.py`.

    Args:
        order: the line with its task.
        log: the file for what goes wrong in it.

    Attributes:
        users: the owners of the phones in it.
        kills: how often it was killed.
    """

    def __init__(self, order: Mapping[str, Any], log: Path) -> None:
        self.users: list[str] = order["users"]
        self.kills = 0
        self._order = order
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and leave its input open: it ends when that does, however we do."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "fakegarage.phones"],
                cwd=Path(__file__).parents[1],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for us, who end it
            )
        assert self._process.stdin
        self._process.stdin.write(json.dumps(self._order).encode() + b"\n")
        self._process.stdin.flush()

    @property
    def pid(self) -> int | None:
        """Return the process id, while the process exists."""
        return self._process.pid if self._process else None

    def kill(self) -> None:
        """Kill it as the kernel does without memory: at once, at any point."""
        if self._process:
            self._process.kill()
            self._process.communicate()
            self._process = None
            self.kills += 1

    def end(self) -> None:
        """Let it end in good order, if it can. Idempotent."""
        if self._process:
            try:
                self._process.communicate(timeout=END_S)
            except subprocess.TimeoutExpired:
                self.kill()
            self._process = None

    def check(self) -> None:
        """Look whether it is as it should be.

        Raises:
            PhonesFailed: it ended by itself.
        """
        status = self._process.poll() if self._process else None
        if status is not None:
            raise PhonesFailed(status, self._log)
