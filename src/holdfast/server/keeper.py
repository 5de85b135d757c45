"""The keeper: a small detached process, parent of one folder's server.

It starts the server, starts it again when it dies, and stops it when the last user has left. A
user's sign of life is a lock (flock) on a file of its own, its *seat*; the kernel frees the lock of
a process that is killed, so no user can fail to leave. In order:

1. It takes `keeper.lock`, which says that a keeper lives, and `server.lock`, which says that a
   server may: the server inherits that one, so that a killed keeper's server still bars the folder
   to a second one. Whoever starts the keeper sees to it that both are free.
2. Ten times a second: is the server alive, is a seat taken or the folder pinned?
3. Leaving, the keeper holds `gate.lock` until it ends. Whoever enters takes the gate first, so a
   newcomer either is seen in time or finds neither keeper nor server and starts its own.

Run by path in a bare interpreter (`python -I -S keeper.py …`), the folder being its working
directory. It imports only the standard library, never `holdfast`, whose client library would cost
a process that only waits 30 MB and a tenth of a second. For the same reason the names that it uses
stand here; `folder.py` draws the whole folder.
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
KEEPER_LOCK: Final = "keeper.lock"
SERVER_LOCK: Final = "server.lock"
PINNED: Final = "pinned"
SOCKET: Final = "valkey.sock"
USERS: Final = "users"

LOCK_S: Final = 1.0
"""How long a free lock may look held, because others peek at it."""

POLL_S: Final = 0.1
"""The server's own cron wakes as often, so an idle keeper costs no more than an idle server."""

PING_S: Final = 1.0
"""How long an answer to PING may take."""

STOP_S: Final = 10.0
"""How long an orderly shutdown may take; then SIGKILL, which loses no acknowledged write either."""

STEADY_S: Final = 60.0
"""A server that lived so long did not die of its start."""

PAUSE_S_MIN: Final = 0.05
PAUSE_S_MAX: Final = 5.0
"""Before a new start; doubled from death to death until a server lives `STEADY_S`."""

DEATHS_MAX: Final = 100
"""Deaths in a row before the keeper gives up: eight minutes of, say, a full disk."""

PR_SET_PDEATHSIG: Final = 1


class Server:
    """One life of the server process.

    Attributes:
        answered: whether it ever answered PING with PONG, that is, had loaded its data.
    """

    def __init__(self, command: list[str]) -> None:
        self.answered = False
        self._born_s = time.monotonic()
        self._exit_code: int | None = None
        keeper = os.getpid()
        self._pid = os.fork()
        if self._pid == 0:
            _become(command, keeper)

    @property
    def age_s(self) -> float:
        """Seconds since its start."""
        return time.monotonic() - self._born_s

    def exit_code(self) -> int | None:
        """None while it lives; 0 after an orderly shutdown; -n when signal n killed it."""
        if self._exit_code is None:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            if pid:
                self._exit_code = os.waitstatus_to_exitcode(status)
        return self._exit_code

    def listen(self) -> None:
        """Notice when it answers for the first time."""
        self.answered = self.answered or _pong()

    def stop(self) -> None:
        """Shut it down in order, within `STOP_S`, or kill it."""
        deadline_s = time.monotonic() + STOP_S
        while self.exit_code() is None and time.monotonic() < deadline_s:
            # Repeated, because between fork and exec a signal is lost; the server takes the
            # second as it took the first.
            self._ask(signal.SIGTERM, patience_s=0.5)
        if self.exit_code() is None:
            self._ask(signal.SIGKILL, patience_s=STOP_S)

    def _ask(self, wish: signal.Signals, *, patience_s: float) -> None:
        """Send a signal and wait so long for the end."""
        os.kill(self._pid, wish)
        deadline_s = time.monotonic() + patience_s
        while self.exit_code() is None and time.monotonic() < deadline_s:
            time.sleep(0.01)


class Keeper:
    """Keeps one server for as long as somebody uses the folder."""

    def __init__(self, command: list[str]) -> None:
        self.start_failed = False
        """Whether the server ended before it ever answered."""
        self._command = command
        self._gate = os.open(GATE, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        self._told_to_leave = False
        self._served = False
        self._deaths = 0

    def leave(self, *_signal: object) -> None:
        """Stop the server soon, users or not."""
        self._told_to_leave = True

    def keep(self) -> None:
        """Return when the server is stopped and not to be started again."""
        server: Server | None = Server(self._command)
        try:
            while server and not self._told_to_leave and not self._last_user_left():
                # A start takes half a tick: look closer, to tell a failed one from a later death.
                time.sleep(POLL_S if server.answered else POLL_S / 10)
                server = self._tend(server)
        finally:
            if server:
                server.stop()

    def _tend(self, server: Server) -> Server | None:
        """The living server: this one, or its successor if it died. None: that was the last."""
        code = server.exit_code()
        if code is None:
            server.listen()
            self._served = self._served or server.answered
            return server
        if code == 0:
            return None  # Somebody sent it SHUTDOWN or SIGTERM: that is meant.
        if not self._served:
            self.start_failed = True
            return None  # A second try would end the same; the first user is told why, at once.
        self._deaths = 1 if server.age_s > STEADY_S else self._deaths + 1
        if self._deaths > DEATHS_MAX:
            _say(f"the server ended with {code}, as {DEATHS_MAX} times before; giving up")
            return None
        _say(f"the server ended with {code}; starting it again")
        time.sleep(min(PAUSE_S_MIN * 2 ** (self._deaths - 1), PAUSE_S_MAX))
        return Server(self._command)

    def _last_user_left(self) -> bool:
        """Whether nobody uses the folder any more. If so the gate stays shut from here on."""
        if not _lock(self._gate):
            return False  # Somebody is coming in.
        if not _in_use():
            return True
        fcntl.flock(self._gate, fcntl.LOCK_UN)
        return False


def _in_use() -> bool:
    """Whether the folder is pinned or a seat is taken. Clears away the seats of the dead.

    Only for the holder of the gate: a seat just made, not yet locked, would look like a dead one's.
    """
    if Path(PINNED).exists():
        return True
    with contextlib.suppress(FileNotFoundError):  # The folder was deleted: nobody can use it.
        return any(_taken(seat) for seat in Path(USERS).iterdir())
    return False


def _taken(seat: Path) -> bool:
    descriptor = os.open(seat, os.O_RDWR | os.O_NOFOLLOW)
    try:
        # Shared, so that who leaves just then does not take our look for another user.
        if not _lock(descriptor, fcntl.LOCK_SH):
            return True
        seat.unlink()
        return False
    finally:
        os.close(descriptor)


def _lock(descriptor: int, kind: int = fcntl.LOCK_EX) -> bool:
    """Lock the open file for us alone, if nobody else holds it; or shared, if nobody does alone."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _pong() -> bool:
    """Whether the server answers PING with PONG. While it loads its data it answers an error."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(PING_S)
        try:
            client.connect(SOCKET)
            client.sendall(b"PING\r\n")
            return client.recv(64).startswith(b"+PONG")
        except OSError:
            return False


def _become(command: list[str], keeper: int) -> NoReturn:
    """Turn this forked child of the process *keeper* into the server."""
    try:
        if sys.platform == "linux":
            # A killed keeper takes its server along, in order (SIGTERM): nobody would ever stop it.
            # Elsewhere it stays until the next process opens the folder.
            with contextlib.suppress(ImportError, OSError, AttributeError):
                import ctypes

                ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
            if os.getppid() != keeper:
                os._exit(0)  # It was killed just before.
        os.execv(command[0], command)  # noqa: S606  # no shell, and the starter chose the binary
    except OSError as error:
        _say(f"cannot run {command[0]}: {error}")
    finally:
        os._exit(127)


def _say(message: str) -> None:
    """Add a line to the server's log, which is our standard error."""
    sys.stderr.write(f"{os.getpid()}:keeper {time.strftime('%d %b %Y %H:%M:%S')} * {message}\n")
    sys.stderr.flush()


def _take(name: str) -> int:
    """The descriptor of the lock *name*, held."""
    descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    deadline_s = time.monotonic() + LOCK_S
    while not _lock(descriptor):
        if time.monotonic() > deadline_s:
            sys.exit(f"{name} is held by another process")
        time.sleep(POLL_S / 10)
    return descriptor


def main() -> None:
    """`keeper.py FOLDER named|private SERVER ARGUMENT…`, FOLDER being the working directory.

    A private folder is deleted at the end, unless the start failed: then the starter does it, when
    it has read the log.
    """
    folder, kind, *command = sys.argv[1:]
    keeper_lock, server_lock = _take(KEEPER_LOCK), _take(SERVER_LOCK)
    if os.fork():
        # The starter waits for this process. Its child is nobody's: no zombie in a user that lives.
        os._exit(0)
    os.set_inheritable(server_lock, True)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())  # The starter's may be inherited.
    keeper = Keeper(command)
    signal.signal(signal.SIGTERM, keeper.leave)
    keeper.keep()
    if kind == "private" and not keeper.start_failed:
        import shutil

        shutil.rmtree(folder, ignore_errors=True)
    # Before the gate, which opens as this process ends: who enters then must find no keeper.
    os.close(server_lock)
    os.close(keeper_lock)


if __name__ == "__main__":
    main()
