"""Processes that restart at no cost: forks of one process with all imports done.

`python -m faults.nursery PORT MODULE…` is that process. It reads commands, one JSON line each:
`fork` an actor, `kill` it and wait for its end, send it a signal, or report whether it has `ended`.

The mixed-version test runs this module of the last tagged version, too, so it keeps its name.
"""

import ctypes
import importlib
import json
import os
import random
import signal
import socket
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NoReturn, Self

from faults.mortal import PR_SET_PDEATHSIG
from faults.ports import LOOPBACK
from faults.processes import Process
from faults.waiting import eventually

BORN_S = 100.0


class ForkServer:
    """A process to fork actors from; `with` limits all of them to the block.

    Args:
        modules: that it imports before the first fork.
        env: additions to its environment.
    """

    def __init__(self, *modules: str, env: Mapping[str, str] | None = None) -> None:
        self._listener = socket.create_server((LOOPBACK, 0))
        port = str(self._listener.getsockname()[1])
        self._process = Process.python("-m", __spec__.name, port, *modules, env=env)
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        self._process.start()
        self._listener.settimeout(BORN_S)
        self._peer, _ = self._listener.accept()
        self._line = self._peer.makefile("rw")
        return self

    def __exit__(self, *_: object) -> None:
        self._process.close()  # and its children go with it
        for each in (self._line, self._peer, self._listener):
            each.close()

    @property
    def output(self) -> str:
        """Return what it and its children printed: nothing if all is well."""
        return self._process.output

    def request(self, verb: str, **order: Any) -> Any:
        """Send it a command. Return its answer."""
        with self._lock:
            print(json.dumps({"verb": verb, **order}), file=self._line, flush=True)
            return json.loads(self._line.readline())


class Actor:
    """A client in a round, which may be killed and started again: a victim of a `Nemesis`.

    Args:
        fork_server: the process that forks it.
        play: the function that it runs: `module:function`.
        seed: of its random choices; each fork gets another one. Empty: unknown.
        about: arguments of that function; one is `name`, the name of the actor.
    """

    def __init__(self, fork_server: ForkServer, play: str, *, seed: str = "", **about: Any) -> None:
        self.name: str = about["name"]
        self._fork_server = fork_server
        self._about = {"play": play, **about}
        self._seed = seed
        self._lives = 0
        self._pid = 0

    @property
    def pid(self) -> int:
        """Return its process id; 0 if it does not run."""
        return self._pid

    @property
    def is_running(self) -> bool:
        """Return whether it was started."""
        return bool(self._pid)

    def start(self) -> None:
        """Fork it, unless it runs."""
        if not self._pid:
            self._lives += 1
            seed = self._seed and f"{self._seed} {self.name} {self._lives}"
            self._pid = self._fork_server.request("fork", seed=seed, **self._about)

    def kill(self) -> None:
        """End it by SIGKILL, and wait until it is gone."""
        if self._pid:
            self._fork_server.request("kill", pid=self._pid)
            self._pid = 0

    def pause(self) -> None:
        """Pause it (SIGSTOP)."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on (SIGCONT)."""
        self._signal(signal.SIGCONT)

    def terminate(self) -> None:
        """Ask it to end (SIGTERM); do not wait."""
        self._signal(signal.SIGTERM)

    def wait(self, timeout: float = 60.0) -> None:
        """Wait until it ends by itself."""
        eventually(self._has_ended, timeout, reason=f"{self.name} ends")

    def stop(self) -> None:
        """Kill it: it has no other end."""
        self.kill()

    def is_alive(self) -> bool:
        """Return whether it was started, and has not ended."""
        return bool(self._pid) and not self._has_ended()

    def _has_ended(self) -> bool:
        if self._pid and self._fork_server.request("ended", pid=self._pid):
            self._pid = 0
        return not self._pid

    def _signal(self, number: signal.Signals) -> None:
        if self._pid:
            self._fork_server.request("signal", pid=self._pid, number=number)


def main(port: str, *modules: str) -> None:
    """Execute commands until the connection is closed."""
    for module in modules:
        importlib.import_module(module)
    line = socket.create_connection((LOOPBACK, int(port))).makefile("rw")
    for order in map(json.loads, line):
        print(json.dumps(_obey(**order)), file=line, flush=True)


def _obey(verb: str, pid: int = 0, number: int = 0, **about: Any) -> int:
    match verb:
        case "fork":
            return os.fork() or _live(about)
        case "kill":
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        case "signal":
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        case "ended":
            return os.waitpid(pid, os.WNOHANG)[0]
    return 0


def _live(about: dict[str, Any]) -> NoReturn:
    """Run a child; it ends with the fork server."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    random.seed(about.pop("seed") or None)  # or all would be twins
    module, _, function = about.pop("play").partition(":")
    try:
        getattr(importlib.import_module(module), function)(**about)
    except BaseException as error:  # noqa: BLE001 -- the end of a process
        sys.excepthook(type(error), error, error.__traceback__)
    sys.stderr.flush()
    os._exit(0)  # what the fork server would do at its end is not for its children


if __name__ == "__main__":
    main(*sys.argv[1:])
