"""Commands to the processes of contenders, and their replies: a JSON object per line.

Both ends are here. The contender's has nothing but the standard library at hand.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NoReturn

ORDER_S: Final = 300.0
"""No order takes longer."""

_LAST_LINES: Final = 15


class ContenderFailed(Exception):
    """A contender did not follow an order; contains the last output of its processes."""


class ProcessLauncher:
    """Starts the processes of one contender, all in the same way.

    Args:
        name: of the contender, for people to read.
        folder: where they run.
        environment: additions to their environment.
        output: a file for what they print.
    """

    def __init__(
        self, name: str, folder: Path, environment: Mapping[str, str], output: Path
    ) -> None:
        self._name = name
        self._folder = folder
        self._environment = {**os.environ, **environment}
        path = filter(None, (str(folder), self._environment.get("PYTHONPATH")))
        self._environment["PYTHONPATH"] = os.pathsep.join(path)
        self._output = output

    def start(self, command: Sequence[str | Path], *, orders: bool) -> subprocess.Popen[bytes]:
        """Start a process with a session of its own; with pipes if it takes orders."""
        with self._output.open("ab") as output:
            return subprocess.Popen(
                command,
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.PIPE if orders else subprocess.DEVNULL,
                stdout=subprocess.PIPE if orders else output,
                stderr=output,
                start_new_session=True,
            )

    def fail(self, what: str) -> NoReturn:
        """Raise `ContenderFailed`, with what its processes printed."""
        printed = self._output.read_text(errors="replace").strip().splitlines()[-_LAST_LINES:]
        raise ContenderFailed("\n".join([f"{self._name}: {what}", *printed]))


class ControlledProcess:
    """A process that executes orders, one after the other.

    Args:
        launcher: that starts it.
        command: its command line.
    """

    def __init__(self, launcher: ProcessLauncher, command: Sequence[str | Path]) -> None:
        self._launcher = launcher
        self._process = launcher.start(command, orders=True)

    def order(self, verb: str, **order: Any) -> dict[str, Any]:
        """Have it do something, and wait for its answer.

        Raises:
            ContenderFailed: it gave none.
        """
        self.send(verb, **order)
        return self.answer()

    def send(self, verb: str, **order: Any) -> None:
        """Have it do something; its `answer` has to be taken before the next order."""
        stdin = self._process.stdin
        assert stdin is not None
        try:
            stdin.write(json.dumps({"verb": verb, **order}).encode() + b"\n")
            stdin.flush()
        except BrokenPipeError:
            self._launcher.fail("a process of it has ended")

    def answer(self) -> dict[str, Any]:
        """Return the answer to the last order."""
        stdout = self._process.stdout
        assert stdout is not None
        if not select.select([stdout], [], [], ORDER_S)[0]:
            self._launcher.fail(f"a process of it did not answer within {ORDER_S:g} s")
        line = stdout.readline()
        if not line:
            self._launcher.fail("a process of it ended during an order")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def kill(self) -> None:
        """Kill it with its children."""
        kill(self._process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill *process* with its children, as `kill -9` does."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()


def obey_orders(obey: Callable[..., dict[str, Any]]) -> None:
    """Execute orders until stdin is closed."""
    for line in sys.stdin:
        print(json.dumps(obey(**json.loads(line))), flush=True)
