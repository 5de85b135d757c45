"""A lock on a file (flock), freed by the kernel when its last holder dies.

It belongs to the open file, not to the process: two locks in one process exclude each other, and a
forked child shares the lock of its parent. `close` gives up the share of this process, `unlock` the
lock of every fork. An exec'd program inherits nothing.

It needs a local file system, or a network file system that supports flock between machines.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from .ownership import open_own

POLL_S = 0.01
"""Seconds between two tries; flock itself cannot wait for a limited time."""


class FileLock:
    """A lock on one file. Made by `take` or `try_take`, held until `close` or `unlock`."""

    def __init__(self, path: Path) -> None:
        # A file object, so that a forgotten lock ends, with a ResourceWarning, when collected.
        self._file = os.fdopen(open_own(path, os.O_RDWR | os.O_CREAT), "rb")

    @classmethod
    def take(cls, path: Path, *, timeout_s: float) -> FileLock:
        """Take the lock of *path*, which is created if it is missing.

        Raises:
            TimeoutError: other processes held it for *timeout_s* seconds.
        """
        deadline_s = time.monotonic() + timeout_s
        while (lock := cls.try_take(path)) is None:
            if time.monotonic() >= deadline_s:
                raise TimeoutError(f"another process has held {path.name} for {timeout_s:g} s")
            time.sleep(POLL_S)
        return lock

    @classmethod
    def try_take(cls, path: Path) -> FileLock | None:
        """Take the lock of *path*, created if it is missing; return None if it is held."""
        lock = cls(path)
        taken = False
        try:
            taken = _flock(lock._file.fileno(), fcntl.LOCK_EX)
        finally:
            if not taken:
                lock.close()
        return lock if taken else None

    def close(self) -> None:
        """Release the share of this process; a forked child keeps its own. May be repeated."""
        self._file.close()

    def unlock(self) -> None:
        """Release the lock, also for a child that another thread has forked."""
        fcntl.flock(self._file, fcntl.LOCK_UN)
        self._file.close()


def is_held(path: Path) -> bool:
    """Return whether a process holds the lock of *path*; False for a missing file.

    It takes a shared lock for an instant, in which `try_take` fails for others.
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
