"""Run one folder's server as its parent process: a small detached process, the *supervisor*.

The supervisor starts the server, starts it again if it dies, and stops it after the last user has
left. Each user holds a lock (flock) on a file of its own, the *client lock*. The kernel releases
the lock of a killed process, so even a killed user leaves.

1. The supervisor takes `supervisor.lock` and `server.lock`. The server inherits `server.lock`: if
   the supervisor is killed, the server still keeps a second server out of the folder. The process
   that starts the supervisor checks that both locks are free.
2. Ten times a second, the supervisor checks whether the server lives, and whether the folder has
   users or is pinned.
3. A supervisor that stops holds `gate.lock` until it ends, and a new user takes that lock first. So
   either the supervisor sees the user in time, or the user finds no supervisor and starts one.

This file runs as a script in a bare interpreter (`python -I -S supervisor.py …`), with the folder
as working directory. It imports only the standard library, because importing `holdfast` would cost
30 MB and a tenth of a second. So this file defines the names of the files; `folder.py` describes
them.
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
"""Seconds to wait for a lock: a process that checks a free lock holds it for an instant."""

POLL_S: Final = 0.1
"""Seconds between two checks of the server and its users."""

PING_S: Final = 1.0
"""Timeout of a reply to PING, in seconds."""

STOP_S: Final = 10.0
"""Seconds until a server that does not shut down is killed. That loses no acknowledged write."""

STEADY_S: Final = 60.0
"""If a server has run for more than this many seconds, its death begins a new row of deaths."""

PAUSE_S_MIN: Final = 0.05
PAUSE_S_MAX: Final = 5.0
"""Longest pause before a restart, in seconds; the pause doubles with each death in a row."""

DEATHS_MAX: Final = 100
"""Deaths in a row after which the supervisor gives up: about eight minutes."""

PR_SET_PDEATHSIG: Final = 1


class ServerProcess:
    """One process of the server.

    Attributes:
        answered: whether the server has replied PONG to a PING, that is, has loaded its data.
    """

    def __init__(self, command: list[str]) -> None:
        self.answered: bool = False
        self._born_s = time.monotonic()
        self._exit_code: int | None = None
        supervisor = os.getpid()
        self._pid = os.fork()
        if self._pid == 0:
            _become(command, supervisor)

    @property
    def age_s(self) -> float:
        """Return the seconds since the process started."""
        return time.monotonic() - self._born_s

    def exit_code(self) -> int | None:
        """Return None while the process lives, 0 after a shutdown, -n if signal n killed it."""
        if self._exit_code is None:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            if pid:
                self._exit_code = os.waitstatus_to_exitcode(status)
        return self._exit_code

    def check_answer(self) -> None:
        """Set `answered` if the server replies to PING."""
        self.answered = self.answered or _pong()

    def stop(self) -> None:
        """Shut the server down. Kill it if it still runs after `STOP_S`."""
        deadline_s = time.monotonic() + STOP_S
        while self.exit_code() is None and time.monotonic() < deadline_s:
            # Repeat the signal, because one between fork and exec is lost. Repeating is harmless.
            self._signal(signal.SIGTERM, patience_s=0.5)
        if self.exit_code() is None:
            self._signal(signal.SIGKILL, patience_s=STOP_S)

    def _signal(self, number: signal.Signals, *, patience_s: float) -> None:
        """Send a signal, and wait at most *patience_s* seconds for the process to end."""
        os.kill(self._pid, number)
        deadline_s = time.monotonic() + patience_s
        while self.exit_code() is None and time.monotonic() < deadline_s:
            time.sleep(0.01)


class Supervisor:
    """Runs the server while the folder has users or is pinned.

    Attributes:
        start_failed: whether the server ended before its first reply. A signal may have killed a
            server that had replied to its user only, so the first such death does not count.
    """

    def __init__(self, command: list[str]) -> None:
        self.start_failed: bool = False
        self._command = command
        self._gate = os.open(GATE, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        self._stop_requested = False
        self._has_served = False
        self._deaths = 0

    def request_stop(self, *_signal: object) -> None:
        """Stop the server soon, even if it has users."""
        self._stop_requested = True

    def run(self) -> None:
        """Run the server until it is stopped, its last user leaves, or it cannot be restarted."""
        server: ServerProcess | None = ServerProcess(self._command)
        try:
            while server and not self._stop_requested and not self._last_user_left():
                # Check more often until the first reply, because a start takes less than `POLL_S`.
                time.sleep(POLL_S if server.answered else POLL_S / 10)
                server = self._restarted(server)
        finally:
            if server:
                server.stop()

    def _restarted(self, server: ServerProcess) -> ServerProcess | None:
        """Return *server*, or a new server if it died. None: do not start it again."""
        code = server.exit_code()
        if code is None:
            server.check_answer()
            self._has_served = self._has_served or server.answered
            return server
        if code == 0:
            return None  # The command SHUTDOWN or SIGTERM ended it.
        if not self._has_served and (code > 0 or self._deaths):
            self.start_failed = True
            return None  # Another start would fail too. The first user gets the reason at once.
        self._deaths = 1 if server.age_s > STEADY_S else self._deaths + 1
        if self._deaths > DEATHS_MAX:
            _log(f"the server ended with {code}, as {DEATHS_MAX} times before; giving up")
            return None
        _log(f"the server ended with {code}; starting it again")
        time.sleep(min(PAUSE_S_MIN * 2 ** (self._deaths - 1), PAUSE_S_MAX))
        return ServerProcess(self._command)

    def _last_user_left(self) -> bool:
        """Return whether the folder has no user. If so, never release the gate lock again."""
        if not _lock(self._gate):
            return False  # A new user, or a process that pins the folder, holds the lock.
        if not _in_use():
            return True
        fcntl.flock(self._gate, fcntl.LOCK_UN)
        return False


def _in_use() -> bool:
    """Return whether the folder is pinned or has a user. Remove the client locks of dead users.

    The caller must hold the gate lock. Otherwise a new client lock that its user has not locked yet
    would be taken for that of a dead user.
    """
    if Path(PINNED).exists():
        return True
    with contextlib.suppress(FileNotFoundError):  # The folder was deleted.
        return any(_taken(client_lock) for client_lock in Path(USERS).iterdir())
    return False


def _taken(client_lock: Path) -> bool:
    descriptor = os.open(client_lock, os.O_RDWR | os.O_NOFOLLOW)
    try:
        # Take a shared lock. With an exclusive one, a user that closes at this moment would see the
        # file locked, and mistake this check for another user.
        if not _lock(descriptor, fcntl.LOCK_SH):
            return True
        client_lock.unlink()
        return False
    finally:
        os.close(descriptor)


def _lock(descriptor: int, kind: int = fcntl.LOCK_EX) -> bool:
    """Lock the open file, exclusively or shared (*kind*). Return False if it is locked."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _pong() -> bool:
    """Return whether the server replies PONG. A server that loads its data replies an error."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(PING_S)
        try:
            client.connect(SOCKET)
            client.sendall(b"PING\r\n")
            return client.recv(64).startswith(b"+PONG")
        except OSError:
            return False


def _become(command: list[str], supervisor: int) -> NoReturn:
    """Execute the server in this forked child of the process *supervisor*."""
    try:
        if sys.platform == "linux":
            # Let the kernel send the server SIGTERM when the supervisor is killed. On other systems
            # the server runs on until the next process opens the folder.
            with contextlib.suppress(ImportError, OSError, AttributeError):
                import ctypes

                ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
            if os.getppid() != supervisor:
                os._exit(0)  # The supervisor was killed before the call of prctl.
        os.execv(command[0], command)  # noqa: S606  # no shell, and the caller chose the binary
    except OSError as error:
        _log(f"cannot run {command[0]}: {error}")
    finally:
        os._exit(127)


def _log(message: str) -> None:
    """Append a line to the server's log, which is standard error."""
    sys.stderr.write(f"{os.getpid()}:supervisor {time.strftime('%d %b %Y %H:%M:%S')} * {message}\n")
    sys.stderr.flush()


def _take(name: str) -> int:
    """Lock the file *name* and return its descriptor. Exit if it stays locked for `LOCK_S`."""
    descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    deadline_s = time.monotonic() + LOCK_S
    while not _lock(descriptor):
        if time.monotonic() > deadline_s:
            sys.exit(f"{name} is held by another process")
        time.sleep(POLL_S / 10)
    return descriptor


def main() -> None:
    """Run `supervisor.py FOLDER named|private SERVER ARGUMENT…`, with FOLDER as working directory.

    Delete a private folder at the end. If the start failed, leave that to the process that started
    the supervisor, because it reads the log first.
    """
    folder, kind, *command = sys.argv[1:]
    supervisor_lock, server_lock = _take(SUPERVISOR_LOCK), _take(SERVER_LOCK)
    if os.fork():
        # End this process, for which the first user waits. Its child, the supervisor, is adopted by
        # init and leaves no zombie.
        os._exit(0)
    os.set_inheritable(server_lock, True)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())  # The first user may have blocked signals.
    supervisor = Supervisor(command)
    signal.signal(signal.SIGTERM, supervisor.request_stop)
    supervisor.run()
    if kind == "private" and not supervisor.start_failed:
        import shutil

        shutil.rmtree(folder, ignore_errors=True)
    # Release these before the gate lock, which is released when this process ends: a user that then
    # enters must find no supervisor.
    os.close(server_lock)
    os.close(supervisor_lock)


if __name__ == "__main__":
    main()
