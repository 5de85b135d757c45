"""A short address for the socket of a folder.

The kernel allows about a hundred bytes, and paths may be longer. Such a folder gets an alias: a
symbolic link in the temporary directory. The socket itself is always in the folder, so processes
with different temporary directories use different aliases of the same socket.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from .ownership import real_path

ADDRESS_BYTES_MAX: Final = 103
"""The limit is 104 bytes on macOS and 108 on Linux, with the final zero."""

TEMPORARY_BYTES_MAX: Final = 50
"""Longest usable temporary directory: the alias and the name of the socket are appended."""


def short_address(folder: Path, name: str) -> str:
    """Return a path of the socket *name* in *folder* that fits in a socket address.

    It makes the alias if one is needed. The alias stays until the temporary directory is cleaned,
    because another process may use it.

    Raises:
        OSError: the alias is needed and cannot be made.
    """
    address = folder / name
    if len(os.fsencode(address)) <= ADDRESS_BYTES_MAX:
        return str(address)
    return str(_alias(folder) / name)


def short_temporary() -> Path:
    """Return the temporary directory, or `/tmp` if its name is too long for an address."""
    usual = tempfile.gettempdir()
    return Path(usual if len(os.fsencode(usual)) <= TEMPORARY_BYTES_MAX else "/tmp")  # noqa: S108


def _alias(folder: Path) -> Path:
    """Return the symbolic link to *folder*, always the same one; make it if it is missing."""
    home = short_temporary() / f"holdfast-{os.getuid()}"
    home.mkdir(mode=0o700, exist_ok=True)
    real_path(home)  # checks the folders above it
    found = home.lstat()
    # Other users may write to /tmp: a link in a directory of theirs could lead anywhere.
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise PermissionError(f"{home} is not a directory that only this user can write to")
    alias = home / hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
    if not alias.is_symlink():
        with suppress(FileExistsError):  # another process has just made it
            alias.symlink_to(folder)
    return alias
