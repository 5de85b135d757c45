"""Refuse features that need POSIX on systems that do not have it."""

from __future__ import annotations

import sys

from ..errors import UnsupportedPlatform


def check_posix(what: str, remedy: str) -> None:
    """Raise `UnsupportedPlatform` on Windows.

    Args:
        what: what needs POSIX, such as `a worker`.
        remedy: what to do instead.
    """
    if sys.platform == "win32":
        raise UnsupportedPlatform(what, remedy)
