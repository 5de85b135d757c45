"""Lock a file with flock. The kernel releases the lock when its last holder dies.

The lock belongs to the open file, not to the process. So two locks in one process exclude each
other, and a forked child shares the lock of its parent. `close` ends the share of this process;
`unlock` releases the lock for all of them. A program started by exec does not inherit the lock.

The file must be on a local file system, or on a network file system that supports flock between
machines.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from .ownership import open_own

POLL_S = 0.01
"""Seconds between two attempts; flock itself has no timeout."""


class FileLock:
    """A lock on one file. Made by `take` or `try_take`, held until `close` or `unlock`."""

    def __init__(self, path: Path) -> None:
        # A file object closes itself with a ResourceWarning if a caller forgets to close the lock.
        self._file = os.fdopen(open_own(path, os.O_RDWR | os.O_CREAT), "rb")

    @classmethod
    def take(cls, path: Path, *, timeout_s: float) -> FileLock:
        """Lock the file *path*. Create the file if it is missing.

        Raises:
            TimeoutError: other holders had the lock for *timeout_s* seconds.
        """
        deadline_s = time.monotonic() + timeout_s
        while (lock := cls.try_take(path)) is None:
            if time.monotonic() >= deadline_s:
                raise TimeoutError(f"another process has held {path.name} for {timeout_s:g} s")
            time.sleep(POLL_S)
        return lock

    @classmethod
    def try_take(cls, path: Path) -> FileLock | None:
        """Lock the file *path*, and create it if it is missing. Return None if it is locked."""
        lock = cls(path)
        taken = False
        try:
            taken = _flock(lock._file.fileno(), fcntl.LOCK_EX)
        finally:
            if not taken:
                lock.close()
        return lock if taken else None

    def close(self) -> None:
        """Release the share of this process; a forked child keeps its own. Safe to repeat."""
        self._file.close()

    def unlock(self) -> None:
        """Release the lock, even if a child forked by another thread shares it."""
        fcntl.flock(self._file, fcntl.LOCK_UN)
        self._file.close()


def is_held(path: Path) -> bool:
    """Return whether the file *path* is locked; False if it is missing.

    For an instant this function holds a shared lock, so a concurrent `try_take` fails.
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
