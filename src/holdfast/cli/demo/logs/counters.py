"""The processes that count: `holdfast logs tally`, each as one of the consumers of the feed."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from ..crew import end_all, on_the_leash

LOG_LINES = 8


class CounterFailed(RuntimeError):
    """One of them ended by itself, and not well; carries the end of its log."""

    def __init__(self, name: str, status: int, log: Path) -> None:
        self.status = status
        tail = log.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_LINES:]
        super().__init__("\n".join([f"{name} ended with status {status}", *tail]))


class Counters:
    """`with Counters(…) as counters:` has each consumer counted by a process of its own.

    Args:
        names: of the consumers.
        arguments: of all of them, after `holdfast`; the name of the consumer is added.
        url: of the server; it goes by the environment.
        folder: of their output.
    """

    def __init__(self, names: Sequence[str], arguments: Sequence[str], url: str, folder: Path):
        self.names = tuple(names)
        self.killed: str | None = None
        self._arguments = arguments
        unwanted = ("HOLDFAST_URL", "HOLDFAST_EMBEDDED")
        kept = {name: value for name, value in os.environ.items() if name not in unwanted}
        self._environment = kept | {"HOLDFAST_URL": url}
        self._folder = folder
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        for name in self.names:
            command = ["holdfast", *self._arguments, "--consumer", name, "--json"]
            with self._log(name).open("wb") as log, self._out(name).open("wb") as out:
                process = on_the_leash(command, self._environment, log, out=out)
            self._processes[name] = process
        return self

    def __exit__(self, *ended: object) -> None:
        end_all(list(self._processes.values()))

    def kill(self, name: str) -> None:
        """End one with SIGKILL, as a crash would."""
        self.killed = name
        self._processes[name].kill()
        self._processes[name].wait()

    def counting(self) -> list[str]:
        """Those that have not ended.

        Raises:
            CounterFailed: one of them ended with an error.
        """
        left = []
        for name, process in self._processes.items():
            status = process.poll()
            if status is None:
                left.append(name)
            elif status and name != self.killed:
                raise CounterFailed(name, status, self._log(name))
        return left

    def report(self, name: str) -> dict[str, Any] | None:
        """What one of them says that it has done; nothing if it was killed, or has not ended."""
        said = self._out(name).read_text(encoding="utf-8")
        report: dict[str, Any] | None = json.loads(said) if said else None
        return report

    def _log(self, name: str) -> Path:
        return self._folder / f"{name}.log"

    def _out(self, name: str) -> Path:
        return self._folder / f"{name}.json"
