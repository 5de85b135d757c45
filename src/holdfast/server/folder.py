"""The folder of one embedded server: what is in it, and who may enter.

    folder/          mode 0700 if we make it
      aof/           every acknowledged write, on disk before it is acknowledged (named folders)
      valkey.sock    the server, open to this user only
      server.log     what the server and its keeper say
      users/…        one seat per `open`: held while that user lives, named after its process
      gate.lock      held for an instant by who enters, and to the end by a keeper that leaves
      keeper.lock    held while a keeper lives
      server.lock    held while a keeper or a server lives
      pinned         exists: the server stays when the last user leaves

Files of a lock stay when it is released: deleting them would let two processes hold two of them.
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
from .keeper import GATE, KEEPER_LOCK, PINNED, SERVER_LOCK, SOCKET, STOP_S, USERS
from .lock import FileLock, is_held
from .ownership import check_own, open_own, real_path

GATE_S: Final = 2 * STOP_S + 10
"""How long to wait at the gate: a keeper behind it may need all its time to stop its server."""

TAIL_BYTES: Final = 600
"""How much of the log an error quotes: its last few lines."""


class Folder:
    """A folder by its real path, so that every spelling of it means the same server.

    Raises `PermissionError` if others could replace a folder on the way to it.

    Attributes:
        path: where it is.
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
        self._keeper_lock = self.path / KEEPER_LOCK
        self._server_lock = self.path / SERVER_LOCK
        self._users = self.path / USERS

    @classmethod
    def made(cls, path: str | os.PathLike[str] | None) -> Folder:
        """The folder *path*, made if it is missing; None: a new private one.

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
        """The address of the server's socket, short enough to connect to.

        Raises:
            OSError: the path is too long and no alias can be made.
        """
        return short_address(self.path, SOCKET)

    @property
    def kept(self) -> bool:
        """Whether a keeper lives."""
        return is_held(self._keeper_lock)

    @property
    def served(self) -> bool:
        """Whether a keeper lives, or a server whose keeper was killed."""
        return self.kept or is_held(self._server_lock)

    def user_pids(self) -> tuple[int, ...]:
        """The process ids, as they saw them, of those who hold a seat; one per seat."""
        try:
            seats = list(self._users.iterdir())
        except FileNotFoundError:  # a private folder, deleted after its last user
            return ()
        taken = [seat.name for seat in seats if is_held(seat)]
        return tuple(sorted(int(name.partition("-")[0]) for name in taken))

    def enter(self) -> FileLock:
        """Take a seat: from here on, until it is released, a keeper does not leave by itself.

        Raises:
            OSError: no permission, others could change the folder, or the gate was shut for
                `GATE_S`.
        """
        with self.gate_shut():
            return FileLock.take(self._users / f"{os.getpid()}-{secrets.token_hex(4)}", timeout_s=1)

    @contextmanager
    def gate_shut(self) -> Iterator[None]:
        """Keep everybody from entering, and a keeper from leaving. Raises as `enter` does."""
        check_own(self.path)
        gate = FileLock.take(self._gate, timeout_s=GATE_S)
        try:
            yield
        finally:
            gate.unlock()

    def log_tail(self) -> str:
        """The last lines of the log, for an error message."""
        try:
            with os.fdopen(open_own(self.log, os.O_RDONLY), "rb") as log:
                start = max(0, log.seek(0, os.SEEK_END) - TAIL_BYTES)
                log.seek(start)
                text = log.read(TAIL_BYTES).decode(errors="replace").rstrip()
        except FileNotFoundError:
            return "(there is no log)"
        return text.partition("\n")[2] if start else text  # whole lines only

    def delete(self) -> None:
        """Remove it with all it holds, as far as possible."""
        shutil.rmtree(self.path, ignore_errors=True)
