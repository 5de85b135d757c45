"""The server that all cases talk to: one process on a loopback port, without persistence."""

from __future__ import annotations

import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from holdfast.server.binary import find_server

OWN_COMMANDS: Final = 1
"""Of the commands that a server counts between two `usage`, the first `usage` itself; of its reads
the second."""

HOST: Final = "127.0.0.1"
_START_S: Final = 15.0
_STOP_S: Final = 5.0
_LONGEST_S: Final = 60.0  # to forget a million keys


@dataclass(frozen=True, slots=True)
class Usage:
    """What a server has done so far.

    Attributes:
        commands: it ran, those inside scripts included.
        reads: from its sockets.
        cpu_s: processor seconds, all its threads.
    """

    commands: int
    reads: int
    cpu_s: float


@dataclass(frozen=True, slots=True)
class CommandTime:
    """What one command took a server, without the network.

    Attributes:
        calls: of it.
        total_s: of all of them.
        p50_s: that half of them took at most.
        p99_s: that 99 of 100 took at most.
    """

    calls: int
    total_s: float
    p50_s: float
    p99_s: float


class Server:
    """A running server.

    Made by `serving`.

    Attributes:
        url: for a client.
        port: on the loopback.
        pid: its process.
    """

    def __init__(self, port: int, pid: int) -> None:
        self.port, self.pid = port, pid
        self.url = f"redis://{HOST}:{port}"
        self._control: Any = redis.Redis(
            HOST, port, retry=Retry(NoBackoff(), 0), socket_timeout=_LONGEST_S
        )

    def usage(self) -> Usage:
        """Return what it has done so far. This question is part of the next answer."""
        stats = self._control.info("stats", "cpu")
        cpu_s = stats["used_cpu_user"] + stats["used_cpu_sys"]
        return Usage(stats["total_commands_processed"], stats["total_reads_processed"], cpu_s)

    def memory(self) -> int:
        """Bytes that it uses."""
        return int(self._control.info("memory")["used_memory"])

    def forget_statistics(self) -> None:
        """Count from zero again."""
        self._control.config_resetstat()

    def spent_on(self, command: str) -> CommandTime:
        """Return what *command* took since the statistics were reset."""
        stats = self._control.info("commandstats")[f"cmdstat_{command}"]
        percentiles = self._control.info("latencystats")[f"latency_percentiles_usec_{command}"]
        return CommandTime(
            stats["calls"], stats["usec"] / 1e6, percentiles["p50"] / 1e6, percentiles["p99"] / 1e6
        )

    def ask(self, command: str, *arguments: str | int) -> Any:
        """Send any *command*, such as `CLUSTER INFO`, and return the reply."""
        return self._control.execute_command(command, *arguments)

    def version(self) -> str:
        """Return its name and version, for people to read."""
        about = self._control.info("server")
        return f"{about.get('server_name', 'redis')} {_version(about)}"

    def clear(self) -> None:
        """Forget all keys. Scripts stay known."""
        self._control.flushall()

    def answers(self) -> bool:
        """Return whether it answers."""
        try:
            return bool(self._control.ping())
        except redis.RedisError:
            return False

    def close(self) -> None:
        """Hang up."""
        self._control.close()


@contextmanager
def serving(*options: str) -> Iterator[Server]:
    """Run a server within the context.

    Args:
        options: more of the server's own options.

    Raises:
        ServerNotFound: there is no server binary; the message says what to install.
        RuntimeError: it did not start; with what it printed.
    """
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        command = [find_server(), "--bind", HOST, "--port", str(port), "--dir", folder]
        command += ["--save", "", "--appendonly", "no"]
        command += ["--lazyfree-lazy-user-flush", "no"]  # the next case must not pay for it
        command += options
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        server = Server(port, process.pid)
        try:
            _wait(server, process)
            yield server
        finally:
            server.close()
            process.terminate()
            try:
                process.communicate(timeout=_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()


def _wait(server: Server, process: subprocess.Popen[bytes]) -> None:
    deadline_s = time.monotonic() + _START_S
    while not server.answers():
        if process.poll() is not None or time.monotonic() > deadline_s:
            process.kill()
            output = process.communicate()[0].decode(errors="replace")
            raise RuntimeError(f"the server did not start:\n{output}")
        time.sleep(0.01)


def free_port() -> int:
    """Return a loopback port that is free now."""
    # If another process takes it before the server does, the server fails, and so does the run.
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _version(about: dict[str, Any]) -> str:
    return str(about.get("valkey_version") or about["redis_version"])
