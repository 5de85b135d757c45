"""The supervisor: a small detached process, the parent of one folder's server.

It starts the server, starts it again when it dies, and stops it after the last user has left. Each
user holds a lock (flock) on a file of its own, the *client lock*. The kernel frees the lock of a
process that is killed, so every user leaves in the end. The order of events:

1. The supervisor takes `supervisor.lock` and `server.lock`. The server inherits `server.lock`: if
   the supervisor is killed, its server still keeps a second server out of the folder. The process
   that starts the supervisor checks that both locks are free.
2. Ten times a second it checks whether the server lives, and whether the folder has users or a pin.
3. When the supervisor stops, it holds `gate.lock` until it ends. A new user takes that lock first.
   So either the supervisor sees the user in time, or the user finds no supervisor and starts one.

It runs by path in a bare interpreter (`python -I -S supervisor.py …`), in the folder. It imports
only the standard library, never `holdfast`: the client library would cost a process that mostly
waits 30 MB and a tenth of a second. So the names of the files are defined here, and described in
`folder.py`.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Final, NoReturn

GATE: Final = "gate.lock"
SUPERVISOR_LOCK: Final = "supervisor.lock"
SERVER_LOCK: Final = "server.lock"
PINNED: Final = "pinned"
SOCKET: Final = "valkey.sock"
USERS: Final = "users"

LOCK_S: Final = 1.0
"""Seconds that a free lock may look held, because another process checks it."""

POLL_S: Final = 0.1
"""Seconds between two checks. The timer of the server itself runs as often."""

PING_S: Final = 1.0
"""Seconds that a reply to PING may take."""

STOP_S: Final = 10.0
"""Seconds that a shutdown may take. Then SIGKILL follows; it loses no acknowledged write either."""

STEADY_S: Final = 60.0
"""Seconds after which a death does not count as one of a series."""

PAUSE_S_MIN: Final = 0.05
PAUSE_S_MAX: Final = 5.0
"""Pause before a restart; doubled at each death until a server lives for `STEADY_S`."""

DEATHS_MAX: Final = 100
"""Deaths in a row until the supervisor gives up: eight minutes, for example of a full disk."""

PR_SET_PDEATHSIG: Final = 1


class ServerProcess:
    """One process of the server.

    Attributes:
        answered: whether it ever replied to PING with PONG: it had loaded its data.
    """

    def __init__(self, command: list[str]) -> None:
        self.answered = False
        self._born_s = time.monotonic()
        self._exit_code: int | None = None
        supervisor = os.getpid()
        self._pid = os.fork()
        if self._pid == 0:
            _become(command, supervisor)

    @property
    def age_s(self) -> float:
        """Return the seconds since its start."""
        return time.monotonic() - self._born_s

    def exit_code(self) -> int | None:
        """Return None while it lives, 0 after a shutdown, -n when signal n killed it."""
        if self._exit_code is None:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            if pid:
                self._exit_code = os.waitstatus_to_exitcode(status)
        return self._exit_code

    def check_answer(self) -> None:
        """Set `answered` if the server replies to PING."""
        self.answered = self.answered or _pong()

    def stop(self) -> None:
        """Shut it down within `STOP_S`, or kill it."""
        deadline_s = time.monotonic() + STOP_S
        while self.exit_code() is None and time.monotonic() < deadline_s:
            # Repeated, because a signal between fork and exec is lost. A second one does no harm.
            self._signal(signal.SIGTERM, patience_s=0.5)
        if self.exit_code() is None:
            self._signal(signal.SIGKILL, patience_s=STOP_S)

    def _signal(self, number: signal.Signals, *, patience_s: float) -> None:
        """Send a signal, and wait for the end at most *patience_s*."""
        os.kill(self._pid, number)
        deadline_s = time.monotonic() + patience_s
        while self.exit_code() is None and time.monotonic() < deadline_s:
            time.sleep(0.01)


class Supervisor:
    """Runs the server as long as the folder has users.

    Attributes:
        start_failed: whether the server ended before its first reply.
    """

    def __init__(self, command: list[str]) -> None:
        self.start_failed = False
        self._command = command
        self._gate = os.open(GATE, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        self._stop_requested = False
        self._has_served = False
        self._deaths = 0

    def request_stop(self, *_signal: object) -> None:
        """Stop the server soon, even if it has users."""
        self._stop_requested = True

    def run(self) -> None:
        """Run the server until it has stopped for good."""
        server: ServerProcess | None = ServerProcess(self._command)
        try:
            while server and not self._stop_requested and not self._last_user_left():
                # A start is faster than an interval: check often until the first reply.
                time.sleep(POLL_S if server.answered else POLL_S / 10)
                server = self._restarted(server)
        finally:
            if server:
                server.stop()

    def _restarted(self, server: ServerProcess) -> ServerProcess | None:
        """Return this server, or a new one if it died; None if it stopped for good."""
        code = server.exit_code()
        if code is None:
            server.check_answer()
            self._has_served = self._has_served or server.answered
            return server
        if code == 0:
            return None  # SHUTDOWN or SIGTERM ended it: that was intended.
        if not self._has_served:
            self.start_failed = True
            return None  # A second try would fail the same; the first user gets the reason at once.
        self._deaths = 1 if server.age_s > STEADY_S else self._deaths + 1
        if self._deaths > DEATHS_MAX:
            _log(f"the server ended with {code}, as {DEATHS_MAX} times before; giving up")
            return None
        _log(f"the server ended with {code}; starting it again")
        time.sleep(min(PAUSE_S_MIN * 2 ** (self._deaths - 1), PAUSE_S_MAX))
        return ServerProcess(self._command)

    def _last_user_left(self) -> bool:
        """Return whether the folder has no user. If so, the gate lock stays held from now on."""
        if not _lock(self._gate):
            return False  # A new user holds it.
        if not _in_use():
            return True
        fcntl.flock(self._gate, fcntl.LOCK_UN)
        return False


def _in_use() -> bool:
    """Return whether the folder is pinned or has a user. Remove the lock files of dead users.

    The caller must hold the gate: otherwise a new file, not locked yet, looks like a dead user's.
    """
    if Path(PINNED).exists():
        return True
    with contextlib.suppress(FileNotFoundError):  # The folder was deleted.
        return any(_taken(client_lock) for client_lock in Path(USERS).iterdir())
    return False


def _taken(client_lock: Path) -> bool:
    descriptor = os.open(client_lock, os.O_RDWR | os.O_NOFOLLOW)
    try:
        # Shared: a user that closes at this moment must not take this check for another user.
        if not _lock(descriptor, fcntl.LOCK_SH):
            return True
        client_lock.unlink()
        return False
    finally:
        os.close(descriptor)


def _lock(descriptor: int, kind: int = fcntl.LOCK_EX) -> bool:
    """Lock the open file, exclusive or shared. Return False if another holder prevents it."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _pong() -> bool:
    """Return whether the server replies PONG. While it loads its data it replies an error."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(PING_S)
        try:
            client.connect(SOCKET)
            client.sendall(b"PING\r\n")
            return client.recv(64).startswith(b"+PONG")
        except OSError:
            return False


def _become(command: list[str], supervisor: int) -> NoReturn:
    """Turn this forked child of the process *supervisor* into the server."""
    try:
        if sys.platform == "linux":
            # When the supervisor is killed, the kernel sends its server SIGTERM. On other systems
            # the server runs on until the next process opens the folder.
            with contextlib.suppress(ImportError, OSError, AttributeError):
                import ctypes

                ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
            if os.getppid() != supervisor:
                os._exit(0)  # The supervisor was killed just before.
        os.execv(command[0], command)  # noqa: S606  # no shell, and the starter chose the binary
    except OSError as error:
        _log(f"cannot run {command[0]}: {error}")
    finally:
        os._exit(127)


def _log(message: str) -> None:
    """Add a line to the server's log, which is standard error."""
    sys.stderr.write(f"{os.getpid()}:supervisor {time.strftime('%d %b %Y %H:%M:%S')} * {message}\n")
    sys.stderr.flush()


def _take(name: str) -> int:
    """Lock the file *name*; return its descriptor."""
    descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    deadline_s = time.monotonic() + LOCK_S
    while not _lock(descriptor):
        if time.monotonic() > deadline_s:
            sys.exit(f"{name} is held by another process")
        time.sleep(POLL_S / 10)
    return descriptor


def main() -> None:
    """Run `supervisor.py FOLDER named|private SERVER ARGUMENT…`, with FOLDER as working directory.

    A private folder is deleted at the end. If the start failed, the starter deletes it, after it
    has read the log.
    """
    folder, kind, *command = sys.argv[1:]
    supervisor_lock, server_lock = _take(SUPERVISOR_LOCK), _take(SERVER_LOCK)
    if os.fork():
        # The starter waits for this process; its child is adopted by init and leaves no zombie.
        os._exit(0)
    os.set_inheritable(server_lock, True)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())  # The starter's mask may be inherited.
    supervisor = Supervisor(command)
    signal.signal(signal.SIGTERM, supervisor.request_stop)
    supervisor.run()
    if kind == "private" and not supervisor.start_failed:
        import shutil

        shutil.rmtree(folder, ignore_errors=True)
    # Before the gate, which opens when this process ends: a new user must find no supervisor.
    os.close(server_lock)
    os.close(supervisor_lock)


if __name__ == "__main__":
    main()
