"""Find a short address for the socket of a folder.

The kernel allows about a hundred bytes, and paths may be longer. A folder with a longer path gets
an alias: a symbolic link to the folder, in the temporary directory. The socket itself is always in
the folder, so processes with different temporary directories use different aliases of one socket.
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
"""Longest address in bytes: the limit is 104 on macOS and 108 on Linux, with the final zero."""

TEMPORARY_BYTES_MAX: Final = 50
"""Longest usable path of the temporary directory: the address adds the alias and the socket."""


def short_address(folder: Path, name: str) -> str:
    """Return a path to the socket *name* in *folder* that is short enough for a socket address.

    Create a symbolic link to *folder* in the temporary directory if the real path is too long. Keep
    the link, because another process may use it.

    Raises:
        OSError: the link is needed and cannot be created.
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
    """Return the symbolic link to *folder*. Create it if it is missing."""
    home = short_temporary() / f"holdfast-{os.getuid()}"
    home.mkdir(mode=0o700, exist_ok=True)
    real_path(home)  # Raises if other users can change a folder above it.
    found = home.lstat()
    # Refuse a directory of another user, because a link in it could lead anywhere.
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise PermissionError(f"{home} is not a directory that only this user can write to")
    alias = home / hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
    if not alias.is_symlink():
        with suppress(FileExistsError):  # Another process has created it.
            alias.symlink_to(folder)
    return alias
