"""Limit the connections of a server, and the warnings that clients can cause."""

from __future__ import annotations

import ipaddress
import logging
import resource
import time
from asyncio import Transport
from collections.abc import Sequence
from typing import Any, Final

from .limits import ConcurrencyLimiter, Limits, network_of

OWN_FILES: Final = 100
"""Open files that the process needs besides its connections."""

WARN_EVERY_S: Final = 60.0
"""Seconds between two warnings about malformed requests."""


class ConnectionLimiter:
    """Admits a number of connections in all and from each address.

    Args:
        limits: the numbers.
        proxies: addresses and networks of proxies, whose connections are those of many clients.
    """

    def __init__(self, limits: Limits, proxies: Sequence[str]) -> None:
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        available = limits.all_connections if files == resource.RLIM_INFINITY else files - OWN_FILES
        self.most = max(1, min(limits.all_connections, available))
        self._by_address = ConcurrencyLimiter(
            limits.connections, "too many connections from this address"
        )
        self._proxies = [ipaddress.ip_network(proxy, strict=False) for proxy in proxies]

    def admit(self, transport: Transport, count: int) -> str | None:
        """Return the name under which a connection is counted; None if there are too many.

        Args:
            transport: of the connection.
            count: the connections of the server, this one included.
        """
        peer = transport.get_extra_info("peername")
        host = str(peer[0]) if isinstance(peer, tuple) else ""
        if count > self.most:
            return None
        if not host or self._is_proxy(host):
            return ""
        name = network_of(host)
        return name if self._by_address.take(name) else None

    def release(self, name: str | None) -> None:
        """Count a connection as closed; *name* is what `admit` returned."""
        if name:
            self._by_address.release(name)

    def _is_proxy(self, host: str) -> bool:
        try:
            address = ipaddress.ip_address(host.partition("%")[0])
        except ValueError:
            return False
        return any(address in network for network in self._proxies)


class ThrottledLogger(logging.LoggerAdapter[logging.Logger]):
    """Logs malformed requests at level DEBUG, and one warning a minute with their number."""

    def __init__(self, logger: logging.Logger) -> None:
        super().__init__(logger, {})
        self._count = 0
        self._warned_at = -WARN_EVERY_S

    @property
    def level(self) -> int:
        """Return the level of the logger: uvicorn reads it."""
        return self.logger.level

    def warning(self, msg: object, *args: Any, **more: Any) -> None:
        """Log at level DEBUG, and warn once a minute."""
        self.debug(msg, *args, **more)
        self._count += 1
        now = time.monotonic()
        if now - self._warned_at >= WARN_EVERY_S:
            times = "1 request" if self._count == 1 else f"{self._count:,} requests"
            self.logger.warning("%s could not be parsed; the last one: %s", times, msg)
            self._warned_at, self._count = now, 0

    def exception(self, msg: object, *args: Any, **more: Any) -> None:
        """Log an error of the application, and pass anything else to `warning`."""
        if "ASGI" in str(msg):
            self.logger.exception(msg, *args, **more)
        else:
            self.warning(msg, *args, **more)
