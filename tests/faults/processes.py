"""Processes that a test may kill, pause and start again, and that never outlive the test run."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Self

from faults import evidence, warm
from faults.waiting import POLL_S, eventually

TESTS = Path(__file__).parent.parent
MORTAL = Path(__file__).with_name("mortal.py")
STOP_S = 30.0  # patience with a process that was asked to end, before it is killed

# The kernel ends a child with the *thread* that started it, so one that stays starts them all.
_starter = ThreadPoolExecutor(max_workers=1, thread_name_prefix="starter")


class Process:
    """One program, its output in a file; as a context manager it runs until the end of the block.

    Args:
        argv: The command.
        name: How it is called in reports.
        env: Variables added to the environment.
        output: File to which stdout and stderr are appended; by default a temporary one.
    """

    def __init__(
        self,
        *argv: str | Path,
        name: str | None = None,
        env: Mapping[str, str] | None = None,
        output: Path | None = None,
    ) -> None:
        self.argv = [str(arg) for arg in argv]
        self.name = name or " ".join(self.argv)
        self._env = {**os.environ, **(env or {})}
        self._own_output = output is None
        self._output = output or _temporary_file()
        self._last_output = ""
        self._popen: subprocess.Popen[bytes] | warm.Child | None = None
        evidence.register(self)

    @classmethod
    def python(
        cls, *args: str | Path, name: str | None = None, env: Mapping[str, str] | None = None
    ) -> Self:
        """Run this Python, able to import what the tests can: `Process.python("-m", …)`."""
        path = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))
        ours = {"PYTHONPATH": path, "PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1"}
        env = {**ours, **(env or {})}
        return cls(sys.executable, *args, name=name or " ".join(map(str, args)), env=env)

    @property
    def pid(self) -> int:
        """Return the process id of the current or the last run."""
        return self._started().pid

    @property
    def returncode(self) -> int | None:
        """Return the exit status; negative: a signal; None: it runs, or never ran."""
        return None if self._popen is None else self._popen.poll()

    @property
    def is_running(self) -> bool:
        """Return whether the process exists; a paused one does."""
        return self._popen is not None and self._popen.poll() is None

    @property
    def output(self) -> str:
        """Return all output so far, of all runs."""
        if not self._output.exists():
            return self._last_output
        return self._output.read_text(errors="replace")

    def start(self, *more: str) -> None:
        """Start it, with *more* arguments this time; does nothing while it runs."""
        if not self.is_running:
            self._popen = _starter.submit(self._open, [*self.argv, *more]).result()

    def kill(self) -> None:
        """End it by SIGKILL, as a crash would, and wait until it is gone."""
        self._signal(signal.SIGKILL)
        if self._popen is not None:
            self._popen.wait(STOP_S)

    def pause(self) -> None:
        """Stop it in its tracks (SIGSTOP) until `resume`."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a paused process go on (SIGCONT)."""
        self._signal(signal.SIGCONT)

    def terminate(self) -> None:
        """Ask it to end (SIGTERM); do not wait."""
        self._signal(signal.SIGTERM)

    def abort(self) -> None:
        """End it by SIGABRT and wait: a Python prints first what each of its threads is at."""
        self.resume()
        self._signal(signal.SIGABRT)
        if self._popen is not None:
            self._popen.wait(STOP_S)

    def stop(self) -> int:
        """Ask it to end, wait, and kill it only if it does not; return the exit status."""
        self.resume()
        self.terminate()
        try:
            return self._started().wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()
            return self._started().returncode

    def restart(self) -> None:
        """Stop it in good order, then start it again."""
        if self.is_running:
            self.stop()
        self.start()

    def wait(self, timeout: float = 60.0) -> int:
        """Wait until it ends by itself; return the exit status.

        Raises:
            AssertionError: It still ran after `timeout` seconds.
        """
        try:
            return self._started().wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} still runs after {timeout} s") from None

    def wait_for_output(self, text: str, timeout: float = 60.0) -> None:
        """Wait until it printed `text`.

        Raises:
            AssertionError: It ended, or `timeout` seconds passed, without that.
        """
        eventually(
            lambda: text in self.output or not self.is_running,
            timeout,
            reason=f"{text!r} in the output of {self.name}",
        )
        if text not in self.output:
            raise AssertionError(
                f"{self.name} ended without printing {text!r}:\n{evidence.tail(self.output)}"
            )

    def close(self) -> None:
        """Kill it if it runs and remove what it left; its last lines stay in `report`."""
        self.kill()
        self._last_output = evidence.tail(self.output)
        if self._own_output:
            self._output.unlink(missing_ok=True)

    def report(self) -> str:
        """Return the last lines of the output."""
        return evidence.tail(self.output)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self, argv: list[str]) -> subprocess.Popen[bytes] | warm.Child:
        runner = [sys.executable, "-I", "-S", str(MORTAL), str(os.getpid())]
        with self._output.open("ab") as output:
            program = argv[1:]
            if argv[0] == sys.executable and warm.can_start(program, self._env):
                with Path(os.devnull).open() as nothing:
                    streams = nothing.fileno(), output.fileno(), output.fileno()
                    return warm.start(program, env=self._env, streams=streams)
            return subprocess.Popen(
                [*runner, *argv],
                env=self._env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def _started(self) -> subprocess.Popen[bytes] | warm.Child:
        if self._popen is None:
            raise RuntimeError(f"{self.name} was not started")
        return self._popen

    def _signal(self, number: signal.Signals) -> None:
        if self._popen is not None:
            self._popen.send_signal(
                number
            )  # which knows of an ended process, and then does nothing


def all_ended(processes: Iterable[Process], timeout: float) -> None:
    """Wait until they have ended by themselves.

    Raises:
        AssertionError: Some still ran after `timeout` seconds; with what they were at.
    """
    ends_s = time.monotonic() + timeout
    running = list(processes)
    while running and time.monotonic() < ends_s:
        time.sleep(POLL_S)
        running = [process for process in running if process.is_running]
    for process in running:
        process.abort()
    output = "\n".join(f"{process.name}:\n{process.output}" for process in running)
    assert not running, f"still running after {timeout} s:\n{output}"


def _temporary_file() -> Path:
    handle, path = tempfile.mkstemp(prefix="holdfast-", suffix=".out")
    os.close(handle)
    return Path(path)
