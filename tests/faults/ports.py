"""Loopback ports that stay ours while nothing listens on them.

A bound socket that does not listen refuses connections, and keeps the kernel from handing its port
to anyone who asks for "any port", in this process or in a neighbouring test worker. On Linux a
listener with SO_REUSEADDR, as every Valkey has, may still bind the same port.
"""

import socket
import sys
from typing import Self

LOOPBACK = "127.0.0.1"


class Port:
    """A free loopback port, reserved until `release`."""

    def __init__(self) -> None:
        self._holder = socket.socket()
        self._holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._holder.bind((LOOPBACK, 0))
        self.number: int = self._holder.getsockname()[1]
        if sys.platform != "linux":
            # BSD kernels allow no second bind, so here a small race remains.
            self._holder.close()

    def listen(self) -> socket.socket:
        """Return a new listening socket on this port."""
        return socket.create_server((LOOPBACK, self.number))

    def release(self) -> None:
        """Give the port back."""
        self._holder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
