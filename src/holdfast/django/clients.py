"""The clients of this process: one for each server and namespace, shared by all threads."""

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

    Django makes a backend for each thread, so the backends share their clients.
    """
    with _lock:
        client = _clients.get(server)
        if client is None:
            if not _clients:
                atexit.register(close_clients)
            client = _clients[server] = server.opened()
        return client


def close_clients() -> None:
    """Close all clients. The next use opens them again."""
    with _lock:
        clients = list(_clients.values())
        _clients.clear()
    for client in clients:
        client.close()
