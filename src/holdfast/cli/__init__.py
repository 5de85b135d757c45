"""Provide the command line `holdfast …`. It uses only public names of the package."""

from __future__ import annotations

import errno
import sys
from typing import Final

_UNWRITABLE: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Why standard output, such as a file on a full disk, refuses what is printed."""


def main() -> None:
    """Run the command line. If its extra is not installed, exit and say how to install it."""
    try:
        from .app import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich", "click"):
            raise
        sys.exit(
            "the command line needs an extra: install `holdfast[cli]` from where you got Holdfast"
        )
    try:
        app()
    except OSError as error:
        if error.errno not in _UNWRITABLE or error.filename is not None:
            raise
        sys.exit(f"holdfast: the output cannot be written: {error.strerror}")
