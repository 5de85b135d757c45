"""Check that no other user can change a folder.

A user who can write to the folder, or to one above it, could replace a file by a link, or the
socket by the socket of another server. Such a folder is refused.
"""

from __future__ import annotations

import errno
import grp
import os
import pwd
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH
"""Permission bits that let other users change a file."""

LINKS_MAX: Final = 40
"""Largest number of symbolic links in one path; the kernel allows as many."""

ROOT: Final = 0


def real_path(path: str | os.PathLike[str]) -> Path:
    """Return *path* with all symbolic links resolved. Check every folder and link in it.

    Raises:
        PermissionError: other users could replace one of them.
        OSError: one of them cannot be read.
    """
    left = list(reversed((Path.cwd() / path).parts[1:]))
    here, links = Path("/"), 0
    while left:
        part = left.pop()
        if part == "..":
            here = here.parent
            continue
        _check_above(here)
        try:
            found = (here / part).lstat()
        except FileNotFoundError:
            return Path(os.path.normpath(here.joinpath(part, *reversed(left))))
        if not stat.S_ISLNK(found.st_mode):
            here /= part
            continue
        links += 1
        if links > LINKS_MAX:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))
        if found.st_uid not in (ROOT, os.geteuid()):
            raise PermissionError(
                f"{here / part} is a link of user {found.st_uid}; name the folder"
            )
        target = (here / part).readlink()
        here = Path("/") if target.is_absolute() else here
        left += reversed(target.parts[target.is_absolute() :])
    return here


def check_own(folder: Path) -> None:
    """Raise if other users could change *folder*, or a file directly in it.

    Raises:
        PermissionError: the folder, or a file in it, belongs to another user or can be written by
            others.
        OSError: the folder cannot be read.
    """
    _check_entry(folder.lstat(), "it")
    with os.scandir(folder) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):  # Another process has removed the file since.
                _check_entry(entry.stat(follow_symlinks=False), f"{entry.name!r} in it")


def open_own(path: Path, flags: int) -> int:
    """Open the file *path* with *flags*, and return its descriptor. Never follow a link.

    Raises:
        OSError: the file is a link, or cannot be opened.
    """
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)


def _check_entry(found: os.stat_result, what: str) -> None:
    if stat.S_ISLNK(found.st_mode):
        raise PermissionError(f"{what} is a link; remove it")
    if found.st_uid != os.geteuid():
        raise PermissionError(f"{what} belongs to user {found.st_uid}; run as that user")
    if found.st_mode & OTHERS:
        mode = stat.S_IMODE(found.st_mode)
        raise PermissionError(f"others can write to {what} (mode {mode:04o}); chmod go-w")


def _check_above(folder: Path) -> None:
    """Raise if other users could replace files in *folder*. In a sticky folder they cannot."""
    found = folder.lstat()
    if folder.parent != folder and found.st_uid not in (ROOT, os.geteuid()):
        raise PermissionError(f"{folder}, above it, belongs to user {found.st_uid}; name another")
    if not found.st_mode & OTHERS or found.st_mode & stat.S_ISVTX:
        return
    if found.st_mode & stat.S_IWOTH or not _is_trusted(found):
        mode = stat.S_IMODE(found.st_mode)
        raise PermissionError(f"others can write to {folder}, above it (mode {mode:04o})")


def _is_trusted(found: os.stat_result) -> bool:
    """Return whether the group that can write is trusted.

    It is if the folder belongs to root, or if this user is the group's only member.
    """
    if found.st_uid == ROOT:
        return True
    try:
        group, user = grp.getgrgid(found.st_gid), pwd.getpwuid(os.geteuid())
    except KeyError:
        return False
    return user.pw_gid == found.st_gid and set(group.gr_mem) <= {user.pw_name}
