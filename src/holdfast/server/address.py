"""A socket address that fits.

The kernel takes about a hundred bytes, and the names of folders may be longer. Then the folder gets
a short alias, a symbolic link under the temporary directory, and is addressed through that. The
socket itself is always inside the folder, so processes with different temporary directories make
different aliases of the same thing.
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
"""macOS has room for 104 with the final zero, Linux for 108."""

TEMPORARY_BYTES_MAX: Final = 50
"""Of a temporary directory: leaves room for what we append."""


def short_address(folder: Path, name: str) -> str:
    """A path of the socket *name* in *folder* that fits in a socket address.

    Makes the alias if one is needed. It stays, a few bytes, until the temporary directory is
    cleaned, for another process may be using it.

    Raises:
        OSError: the alias is needed and cannot be made.
    """
    address = folder / name
    if len(os.fsencode(address)) <= ADDRESS_BYTES_MAX:
        return str(address)
    return str(_alias(folder) / name)


def short_temporary() -> Path:
    """The temporary directory, or `/tmp` when its name is too long to build an address on."""
    usual = tempfile.gettempdir()
    return Path(usual if len(os.fsencode(usual)) <= TEMPORARY_BYTES_MAX else "/tmp")  # noqa: S108


def _alias(folder: Path) -> Path:
    """The symbolic link that stands for *folder*, always the same one, made if missing."""
    home = short_temporary() / f"holdfast-{os.getuid()}"
    home.mkdir(mode=0o700, exist_ok=True)
    real_path(home)  # checks the folders above it
    found = home.lstat()
    # Anybody may write to /tmp: a link in a directory that is not ours could lead anywhere.
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise PermissionError(f"{home} is not a directory that only this user can write to")
    alias = home / hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
    if not alias.is_symlink():
        with suppress(FileExistsError):  # Another process was faster.
            alias.symlink_to(folder)
    return alias
