"""The embedded server: a real Valkey for one machine, without any setup.

A folder holds the data of one server. `EmbeddedServer.open` starts the server if needed; it stops
when the last user closes it. After `start` it runs without users, until `stop`.
"""

from .embedded import EmbeddedServer
from .pinning import start, stop
from .server_status import ServerStatus, status

__all__ = ["EmbeddedServer", "ServerStatus", "start", "status", "stop"]
