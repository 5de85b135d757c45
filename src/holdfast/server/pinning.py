"""Keeping a server running while nobody uses it, and stopping it."""

from __future__ import annotations

import os

from ..errors import ServerFailed, ServerInUse
from .embedded import EmbeddedServer, explained
from .folder import Folder
from .keeper import STOP_S
from .launch import stop_server
from .ownership import open_own
from .server_status import ServerStatus, status


def start(folder: str | os.PathLike[str]) -> ServerStatus:
    """Pin the server of *folder*: it runs until `stop`, whether or not anybody has it open.

    The folder stays pinned when the machine restarts; the server then runs from the next `open` or
    `start` on.

    Raises:
        ServerNotFound: there is no server binary.
        ServerFailed: it does not start.
    """
    with EmbeddedServer.open(folder) as server, explained(folder):
        os.close(open_own(Folder(server.folder).pin, os.O_WRONLY | os.O_CREAT))
        return status(folder)


def stop(folder: str | os.PathLike[str], *, force: bool = False) -> bool:
    """Unpin and stop the server of *folder*. Whoever opens it meanwhile waits, and starts it anew.

    Args:
        force: also while it is in use; its users lose it until one of them opens it again.

    Returns:
        Whether it was running.

    Raises:
        ServerInUse: nothing was changed.
        ServerFailed: it does not stop.
    """
    with explained(folder):
        place = Folder(folder)
        if not place.path.exists():
            return False
        with place.gate_shut():
            users = place.user_pids()
            if users and not force:
                raise ServerInUse(str(place), users)
            place.pin.unlink(missing_ok=True)
            running = place.served
            if not stop_server(place):
                raise ServerFailed(str(place), f"it did not stop within {STOP_S:g} s; kill it")
            return running
