"""The embedded server: a real Valkey for one machine, without anything to set up.

A folder holds one server's data. `EmbeddedServer.open` uses its server, starting it if needed, and
the last one out stops it; `start` and `stop` keep it running in between.
"""

from .embedded import EmbeddedServer
from .pinning import start, stop
from .server_status import ServerStatus, status

__all__ = ["EmbeddedServer", "ServerStatus", "start", "status", "stop"]
