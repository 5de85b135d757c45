"""The connections of a server: how many there are, and what clients may log."""

from __future__ import annotations

import ipaddress
import logging
import resource
import time
from asyncio import Transport
from collections.abc import Sequence
from typing import Any, Final

from .limits import Limits, Places, address_of

OWN_FILES: Final = 100
"""Open files that the process needs besides its connections."""

AGAIN_S: Final = 60.0
"""Seconds between two warnings about malformed requests."""


class Watch:
    """Admits connections: so many of one address, and so many of all.

    Args:
        limits: how many.
        proxies: addresses and networks of proxies, whose connections are those of many clients.
    """

    def __init__(self, limits: Limits, proxies: Sequence[str]) -> None:
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        room = limits.all_connections if files == resource.RLIM_INFINITY else files - OWN_FILES
        self.most = max(1, min(limits.all_connections, room))
        self._places = Places(limits.connections, "too many connections from this address")
        self._proxies = [ipaddress.ip_network(proxy, strict=False) for proxy in proxies]

    def admit(self, transport: Transport, count: int) -> str | None:
        """Return the name under which a connection is counted; None if there are too many.

        Args:
            transport: of the connection.
            count: how many connections the server has with it.
        """
        peer = transport.get_extra_info("peername")
        host = str(peer[0]) if isinstance(peer, tuple) else ""
        if count > self.most:
            return None
        if not host or self._is_proxy(host):
            return ""
        name = address_of(host)
        return name if self._places.take(name) else None

    def leave(self, name: str | None) -> None:
        """Count a connection no longer; *name* is what `admit` returned."""
        if name:
            self._places.leave(name)

    def _is_proxy(self, host: str) -> bool:
        try:
            address = ipaddress.ip_address(host.partition("%")[0])
        except ValueError:
            return False
        return any(address in network for network in self._proxies)


class Quiet(logging.LoggerAdapter[logging.Logger]):
    """Logs what clients can cause on DEBUG, and one warning a minute that says how often it was."""

    def __init__(self, logger: logging.Logger) -> None:
        super().__init__(logger, {})
        self._count = 0
        self._warned_at = -AGAIN_S

    @property
    def level(self) -> int:
        """The level of the logger, as uvicorn asks for it."""
        return self.logger.level

    def warning(self, msg: object, *args: Any, **more: Any) -> None:
        """Log on DEBUG, and warn once a minute."""
        self.debug(msg, *args, **more)
        self._count += 1
        now = time.monotonic()
        if now - self._warned_at >= AGAIN_S:
            times = "1 request" if self._count == 1 else f"{self._count:,} requests"
            self.logger.warning("%s could not be understood; the last one: %s", times, msg)
            self._warned_at, self._count = now, 0

    def exception(self, msg: object, *args: Any, **more: Any) -> None:
        """Log an error of the application as it is, and anything else as `warning` does."""
        if "ASGI" in str(msg):
            self.logger.exception(msg, *args, **more)
        else:
            self.warning(msg, *args, **more)
