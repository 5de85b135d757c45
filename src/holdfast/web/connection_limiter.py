"""Limit the connections of a server, and how often it warns about malformed requests."""

from __future__ import annotations

import ipaddress
import logging
import resource
import time
from asyncio import Transport
from collections.abc import Sequence
from typing import Any, Final

from .. import client_address
from .concurrency_limiter import ConcurrencyLimiter
from .limits import Limits

OWN_FILES: Final = 100
"""Open files that the process needs in addition to its connections."""

WARN_EVERY_S: Final = 60.0
"""Seconds between two warnings about malformed requests."""


class ConnectionLimiter:
    """Limits the number of connections in total and from each address.

    Args:
        limits: contains both limits.
        proxies: addresses and networks of proxies. Their connections count only in total, because
            they carry the requests of many clients.
    """

    def __init__(self, limits: Limits, proxies: Sequence[str]) -> None:
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        available = limits.all_connections if files == resource.RLIM_INFINITY else files - OWN_FILES
        self.most: int = max(1, min(limits.all_connections, available))
        self._by_address = ConcurrencyLimiter(
            limits.connections, "too many connections from this address"
        )
        self._proxies = [ipaddress.ip_network(proxy, strict=False) for proxy in proxies]

    def admit(self, transport: Transport, count: int) -> str | None:
        """Count a new connection. Return a name for `release`, or None if there are too many.

        The name is '' if the connection counts only in total.

        Args:
            transport: the transport of the connection.
            count: open connections of the server, including the new one.
        """
        peer = transport.get_extra_info("peername")
        host = str(peer[0]) if isinstance(peer, tuple) else ""
        if count > self.most:
            return None
        if not host or self._is_proxy(host):
            return ""
        name = client_address({"client": (host,)})
        return name if self._by_address.take(name) else None

    def release(self, name: str | None) -> None:
        """Stop counting a connection, for which `admit` returned *name*."""
        if name:
            self._by_address.release(name)

    def _is_proxy(self, host: str) -> bool:
        try:
            address = ipaddress.ip_address(host.partition("%")[0])
        except ValueError:
            return False
        return any(address in network for network in self._proxies)


class ThrottledLogger(logging.LoggerAdapter[logging.Logger]):
    """Logs each malformed request at level DEBUG, and their number once a minute as a warning."""

    def __init__(self, logger: logging.Logger) -> None:
        super().__init__(logger, {})
        self._count = 0
        self._warned_at = -WARN_EVERY_S

    @property
    def level(self) -> int:
        """Return the level of the logger, which uvicorn reads."""
        return self.logger.level

    def warning(self, msg: object, *args: Any, **more: Any) -> None:
        """Log *msg* at level DEBUG. Once a minute, log a warning with the number of messages."""
        self.debug(msg, *args, **more)
        self._count += 1
        now = time.monotonic()
        if now - self._warned_at >= WARN_EVERY_S:
            times = "1 request" if self._count == 1 else f"{self._count:,} requests"
            self.logger.warning("%s could not be parsed; the last one: %s", times, msg)
            self._warned_at, self._count = now, 0

    def exception(self, msg: object, *args: Any, **more: Any) -> None:
        """Log *msg* with the exception if the application failed; otherwise call `warning`."""
        if "ASGI" in str(msg):
            self.logger.exception(msg, *args, **more)
        else:
            self.warning(msg, *args, **more)
