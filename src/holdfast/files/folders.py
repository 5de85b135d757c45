"""Folders: listed, and entered step by step without following links, even links that appear
meanwhile."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from .paths import PARTS

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_ENTRY: Final = _FOLDER | os.O_NOFOLLOW


def opened_folder(root: Path) -> int:
    """Return a descriptor of *root*. Links in its own path, which the user gave, are followed."""
    return os.open(root, _FOLDER)


def entered(folder: int, parts: Sequence[str], *, create: bool, mode: int = 0o777) -> int:
    """Return a descriptor of the folder that *parts* lead to from the open *folder*.

    Args:
        folder: a descriptor, which stays open.
        parts: names, one below the other.
        create: whether to create missing folders.
        mode: mode of created folders, before the umask.

    Raises:
        OSError: One of them is a link, or not a folder.
    """
    current = os.dup(folder)
    try:
        for part in parts:
            if create:
                with suppress(FileExistsError):
                    os.mkdir(part, mode, dir_fd=current)
            inner = _entered_one(current, part)
            os.close(current)
            current = inner
    except BaseException:
        os.close(current)
        raise
    return current


def opened_within(root: Path, path: Path) -> int:
    """Return a descriptor for reading the file at *path*, which must lie within *root*.

    A link is followed if it leads to a file within *root*.

    Raises:
        OSError: It leads out of *root*, or cannot be opened.
    """
    home, real = Path(os.path.realpath(root)), Path(os.path.realpath(path))
    if not real.is_relative_to(home):
        raise OSError(
            errno.ELOOP,
            "it is a link that leads out of the folder; follow_links=True publishes what it "
            "leads to",
            str(path),
        )
    *folders, name = real.relative_to(home).parts
    base = opened_folder(home)
    try:
        folder = entered(base, folders, create=False)
    finally:
        os.close(base)
    try:
        # O_NONBLOCK: the open of a named pipe in the folder must not block.
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(name, flags, dir_fd=folder)
    finally:
        os.close(folder)


def _entered_one(folder: int, part: str) -> int:
    try:
        return os.open(part, _ENTRY, dir_fd=folder)
    except NotADirectoryError:
        if stat.S_ISLNK(os.lstat(part, dir_fd=folder).st_mode):
            raise OSError(errno.ELOOP, "it is a link, which is not followed", part) from None
        raise


def walked(root: Path, failed: dict[str, Exception]) -> Iterator[Path]:
    """Yield the regular files below *root*, in order; add paths that cannot be read to *failed*.

    Files that `save_to` has not finished are left out.
    """

    def unreadable(error: OSError) -> None:
        failed[Path(error.filename or root).relative_to(root).as_posix()] = error

    for folder, folders, names in os.walk(root, onerror=unreadable):
        folders[:] = sorted(name for name in folders if name.casefold() != PARTS)
        for name in sorted(names):
            path = Path(folder, name)
            try:
                if stat.S_ISREG(path.stat().st_mode):
                    yield path
            except OSError as error:
                failed[path.relative_to(root).as_posix()] = error
