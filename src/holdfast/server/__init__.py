"""Run an embedded server: a real Valkey for the programs of one machine, without any setup.

A folder contains the data of one server. `EmbeddedServer.open` starts the server if needed; the
server stops when its last user closes it. After `start` it runs without users until `stop`.
"""

from .embedded import EmbeddedServer
from .pinning import start, stop
from .server_status import ServerStatus, status

__all__ = ["EmbeddedServer", "ServerStatus", "start", "status", "stop"]
