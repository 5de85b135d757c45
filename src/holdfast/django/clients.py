"""Share the clients of this process: all threads use one for each server and namespace."""

from __future__ import annotations

import atexit
import threading
from typing import Final

from .. import Holdfast
from .options import ServerOptions

_clients: Final[dict[ServerOptions, Holdfast]] = {}
_lock: Final = threading.Lock()


def client_of(server: ServerOptions) -> Holdfast:
    """Return the client of *server*. It stays open until the process ends.

    Django makes a backend for each thread. The backends of all threads get the same client.
    """
    with _lock:
        client = _clients.get(server)
        if client is None:
            if not _clients:
                atexit.register(close_clients)
            client = _clients[server] = server.opened()
        return client


def close_clients() -> None:
    """Close all clients. The next call of `client_of` opens a new one."""
    with _lock:
        clients = list(_clients.values())
        _clients.clear()
    for client in clients:
        client.close()
