"""Define the folder of one embedded server, with its files and locks.

    folder/          mode 0700 if Holdfast creates it
      aof/           all writes; in a named folder, each is on disk before it is acknowledged
      valkey.sock    the server's socket, which only this user may use
      server.log     the log of the server and its supervisor
      users/…        one client lock per `open`: held while that user lives, named by its process id
      gate.lock      held briefly by a new user; held until its end by a supervisor that stops
      supervisor.lock    held while a supervisor lives
      server.lock    held while a supervisor or a server lives
      pinned         while this file exists, the server runs without users

The three `.lock` files are never deleted. Otherwise two processes could each lock a file of the
same name, one of them the deleted one.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Final

from .address import short_address, short_temporary
from .lock import FileLock, is_held
from .ownership import check_own, open_own, real_path
from .supervisor import GATE, PINNED, SERVER_LOCK, SOCKET, STOP_S, SUPERVISOR_LOCK, USERS

GATE_S: Final = 2 * STOP_S + 10
"""Seconds to wait for the gate lock: a supervisor may hold it while it stops the server."""

TAIL_BYTES: Final = 600
"""Bytes of the log that an error quotes: its last few lines."""


class Folder:
    """The folder of a server, by its real path, so that every path to it means the same server.

    The constructor raises `PermissionError` if other users could replace a folder in the path.

    Attributes:
        path: real path of the folder.
        private: whether the folder is temporary, without persistence, and deleted after its last
            user.
        pin: path of the file `pinned`.
        log: path of the server's log.
    """

    def __init__(self, path: str | os.PathLike[str], *, private: bool = False) -> None:
        self.path: Path = real_path(path)
        self.private = private
        self.pin: Path = self.path / PINNED
        self.log: Path = self.path / "server.log"
        self._gate = self.path / GATE
        self._supervisor_lock = self.path / SUPERVISOR_LOCK
        self._server_lock = self.path / SERVER_LOCK
        self._users = self.path / USERS

    @classmethod
    def made(cls, path: str | os.PathLike[str] | None) -> Folder:
        """Return the folder *path*. Create it if it is missing. None: create a private folder.

        Raises:
            OSError: the folder cannot be created, or other users could change it.
        """
        if path is None:
            base = short_temporary()
            folder = cls(tempfile.mkdtemp(prefix="holdfast-", dir=base), private=True)
        else:
            folder = cls(path)
        folder.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        real_path(folder.path)  # Check the path again, because its folders may be new.
        check_own(folder.path)
        folder._users.mkdir(mode=0o700, exist_ok=True)
        return folder

    def __str__(self) -> str:
        return str(self.path)

    @cached_property
    def socket(self) -> str:
        """Return the address of the server's socket, short enough to connect to.

        Raises:
            OSError: the path is too long, and no alias can be created.
        """
        return short_address(self.path, SOCKET)

    @property
    def supervised(self) -> bool:
        """Return whether a supervisor runs."""
        return is_held(self._supervisor_lock)

    @property
    def served(self) -> bool:
        """Return whether a supervisor or a server runs. After a kill, a server may run alone."""
        return self.supervised or is_held(self._server_lock)

    def user_pids(self) -> tuple[int, ...]:
        """Return the process id of each user, as that process sees it; one per client lock."""
        try:
            client_locks = list(self._users.iterdir())
        except FileNotFoundError:  # A private folder is deleted after its last user.
            return ()
        taken = [client_lock.name for client_lock in client_locks if is_held(client_lock)]
        return tuple(sorted(int(name.partition("-")[0]) for name in taken))

    def lock_as_client(self) -> FileLock:
        """Take a client lock, which keeps the server running until it is released.

        Raises:
            OSError: the folder cannot be used, other users could change it, or another process held
                the gate lock for `GATE_S`.
        """
        with self.gate_held():
            return FileLock.take(self._users / f"{os.getpid()}-{secrets.token_hex(4)}", timeout_s=1)

    @contextmanager
    def gate_held(self) -> Iterator[None]:
        """Hold the gate lock: no new user enters, and the supervisor does not stop the server.

        Raises:
            OSError: as in `lock_as_client`.
        """
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
        return text.partition("\n")[2] if start else text  # The first line may be cut off.

    def delete(self) -> None:
        """Delete the folder with its content. Ignore errors."""
        shutil.rmtree(self.path, ignore_errors=True)
