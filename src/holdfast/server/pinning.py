"""Start an embedded server that runs without users, and stop it."""

from __future__ import annotations

import os

from ..errors import ServerFailed, ServerInUse
from .embedded import EmbeddedServer, explained
from .folder import Folder
from .launch import stop_server
from .ownership import open_own
from .server_status import ServerStatus, status
from .supervisor import STOP_S


def start(folder: str | os.PathLike[str]) -> ServerStatus:
    """Pin the server of *folder*: it runs until `stop`, with or without users.

    The folder stays pinned after a restart of the machine, but the server runs again only after the
    next `open` or `start`.

    Raises:
        ServerNotFound: there is no server binary.
        ServerFailed: the server does not start.
    """
    with EmbeddedServer.open(folder) as server, explained(folder):
        os.close(open_own(Folder(server.folder).pin, os.O_WRONLY | os.O_CREAT))
        return status(folder)


def stop(folder: str | os.PathLike[str], *, force: bool = False) -> bool:
    """Unpin and stop the server of *folder*. A concurrent `open` waits, and starts it again.

    Args:
        folder: path of the folder.
        force: stop the server even if it has users; their calls fail until it is opened again.

    Returns:
        whether the server was running.

    Raises:
        ServerInUse: the server has users, and *force* is False. Nothing was changed.
        ServerFailed: the server does not stop.
    """
    with explained(folder):
        place = Folder(folder)
        if not place.path.exists():
            return False
        with place.gate_held():
            users = place.user_pids()
            if users and not force:
                raise ServerInUse(str(place), users)
            place.pin.unlink(missing_ok=True)
            running = place.served
            if not stop_server(place):
                raise ServerFailed(str(place), f"it did not stop within {STOP_S:g} s; kill it")
            return running
