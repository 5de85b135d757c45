"""List folders, and open them without following links, even if links are created meanwhile."""

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
    """Return a descriptor of *root*. Follow links in this path, because the user gave it."""
    return os.open(root, _FOLDER)


def entered(folder: int, parts: Sequence[str], *, create: bool, mode: int = 0o777) -> int:
    """Return a descriptor of the subfolder of *folder* with the path *parts*.

    Args:
        folder: a descriptor, which stays open.
        parts: the names in the path, from *folder* on.
        create: whether to create missing folders.
        mode: permissions of created folders, before the umask.

    Raises:
        OSError: A part is a link, or not a folder.
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

    Follow a link if it leads to a file within *root*.

    Raises:
        OSError: The path leads out of *root*, or cannot be opened.
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
        # Use O_NONBLOCK, because otherwise opening a named pipe would block.
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
    """Yield the regular files below *root*, in order. Add files and folders that cannot be read to
    *failed*: path below *root* → error.

    Skip the folder of files that `save_to` has not finished.
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
