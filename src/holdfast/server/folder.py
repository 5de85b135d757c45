"""The folder of one embedded server: its files and locks.

    folder/          mode 0700 if Holdfast makes it
      aof/           every acknowledged write, on disk before it is acknowledged (named folders)
      valkey.sock    the server, open to this user only
      server.log     the log of the server and its supervisor
      users/…        one client lock per `open`: held while that user lives, named after its process
      gate.lock      held briefly by a new user, and until its end by a supervisor that stops
      supervisor.lock    held while a supervisor lives
      server.lock    held while a supervisor or a server lives
      pinned         exists: the server stays when the last user leaves

The files of these locks are never deleted: after that, two processes could hold the "same" lock.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Final

from .address import short_address, short_temporary
from .lock import FileLock, is_held
from .ownership import check_own, open_own, real_path
from .supervisor import GATE, PINNED, SERVER_LOCK, SOCKET, STOP_S, SUPERVISOR_LOCK, USERS

GATE_S: Final = 2 * STOP_S + 10
"""Seconds to wait for the gate: a supervisor may hold it while it stops the server."""

TAIL_BYTES: Final = 600
"""Bytes of the log that an error quotes: its last few lines."""


class Folder:
    """A folder by its real path, so that every path to it means the same server.

    The constructor raises `PermissionError` if others could replace a folder in its path.

    Attributes:
        path: its real path.
        private: whether it is temporary, without persistence, and deleted after its last user.
        pin: the file that, while it exists, keeps the server running without users.
        log: the file of the server's log.
    """

    def __init__(self, path: str | os.PathLike[str], *, private: bool = False) -> None:
        self.path = real_path(path)
        self.private = private
        self.pin = self.path / PINNED
        self.log = self.path / "server.log"
        self._gate = self.path / GATE
        self._supervisor_lock = self.path / SUPERVISOR_LOCK
        self._server_lock = self.path / SERVER_LOCK
        self._users = self.path / USERS

    @classmethod
    def made(cls, path: str | os.PathLike[str] | None) -> Folder:
        """Return the folder *path*, made if it is missing; None: a new private one.

        Raises:
            OSError: it cannot be made, or others could change it.
        """
        if path is None:
            base = short_temporary()
            folder = cls(tempfile.mkdtemp(prefix="holdfast-", dir=base), private=True)
        else:
            folder = cls(path)
        folder.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        real_path(folder.path)  # the folders above it may be new
        check_own(folder.path)
        folder._users.mkdir(mode=0o700, exist_ok=True)
        return folder

    def __str__(self) -> str:
        return str(self.path)

    @cached_property
    def socket(self) -> str:
        """Return the address of the server's socket, short enough to connect to.

        Raises:
            OSError: the path is too long and no alias can be made.
        """
        return short_address(self.path, SOCKET)

    @property
    def supervised(self) -> bool:
        """Return whether a supervisor runs."""
        return is_held(self._supervisor_lock)

    @property
    def served(self) -> bool:
        """Return whether a supervisor runs, or a server without one: it was killed."""
        return self.supervised or is_held(self._server_lock)

    def user_pids(self) -> tuple[int, ...]:
        """Return the process ids of the users, as they saw them; one per client lock."""
        try:
            client_locks = list(self._users.iterdir())
        except FileNotFoundError:  # a private folder, deleted after its last user
            return ()
        taken = [client_lock.name for client_lock in client_locks if is_held(client_lock)]
        return tuple(sorted(int(name.partition("-")[0]) for name in taken))

    def lock_as_client(self) -> FileLock:
        """Take a client lock: the supervisor runs until it is released.

        Raises:
            OSError: no permission, others could change the folder, or another process held the
                gate for `GATE_S`.
        """
        with self.gate_held():
            return FileLock.take(self._users / f"{os.getpid()}-{secrets.token_hex(4)}", timeout_s=1)

    @contextmanager
    def gate_held(self) -> Iterator[None]:
        """Keep new users out and the supervisor from stopping. Raise as `lock_as_client` does."""
        check_own(self.path)
        gate = FileLock.take(self._gate, timeout_s=GATE_S)
        try:
            yield
        finally:
            gate.unlock()

    def log_tail(self) -> str:
        """Return the last lines of the log, for an error message."""
        try:
            with os.fdopen(open_own(self.log, os.O_RDONLY), "rb") as log:
                start = max(0, log.seek(0, os.SEEK_END) - TAIL_BYTES)
                log.seek(start)
                text = log.read(TAIL_BYTES).decode(errors="replace").rstrip()
        except FileNotFoundError:
            return "(there is no log)"
        return text.partition("\n")[2] if start else text  # whole lines only

    def delete(self) -> None:
        """Delete the folder with its content, as far as possible."""
        shutil.rmtree(self.path, ignore_errors=True)
