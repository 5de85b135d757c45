"""A lock on a file (flock), freed by the kernel when its last holder dies.

It belongs to the open file, not to the process: two in one process exclude each other, and a forked
child holds its parent's as well. Hence two ways to let go: `close` gives up our part, `unlock` that
of every fork too. An exec'd program inherits nothing.

Folders on network file systems that do not pass flock on to other machines are no place for it.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from .ownership import open_own

POLL_S = 0.01
"""How often a wait looks again; flock itself cannot wait for a limited time."""


class FileLock:
    """A lock on one file. Made by `take` or `try_take`, held until `close` or `unlock`."""

    def __init__(self, path: Path) -> None:
        # A file object, so that a forgotten lock ends, with a ResourceWarning, when collected.
        self._file = os.fdopen(open_own(path, os.O_RDWR | os.O_CREAT), "rb")

    @classmethod
    def take(cls, path: Path, *, timeout_s: float) -> FileLock:
        """Hold the lock of *path*, which is created if it is missing.

        Raises:
            TimeoutError: others held it for all of *timeout_s* seconds.
        """
        deadline_s = time.monotonic() + timeout_s
        while (lock := cls.try_take(path)) is None:
            if time.monotonic() >= deadline_s:
                raise TimeoutError(f"another process has held {path.name} for {timeout_s:g} s")
            time.sleep(POLL_S)
        return lock

    @classmethod
    def try_take(cls, path: Path) -> FileLock | None:
        """Hold the lock of *path*, which is created if it is missing. None: it is held."""
        lock = cls(path)
        taken = False
        try:
            taken = _flock(lock._file.fileno(), fcntl.LOCK_EX)
        finally:
            if not taken:
                lock.close()
        return lock if taken else None

    def close(self) -> None:
        """Let go of our part; a forked child keeps its own. May be repeated."""
        self._file.close()

    def unlock(self) -> None:
        """Let go, also for a child that another thread happened to fork meanwhile."""
        fcntl.flock(self._file, fcntl.LOCK_UN)
        self._file.close()


def is_held(path: Path) -> bool:
    """Whether anybody holds the lock of *path*. A missing file is not held.

    It looks by holding a shared lock for an instant, in which `try_take` fails for others.
    """
    try:
        descriptor = open_own(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        return not _flock(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def _flock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
