"""Show the Valkey or Redis servers: memory, persistence, replicas and slow commands."""

from __future__ import annotations

from typing import Any, Final

from ..page_request import PageRequest
from ..screen import DashboardScreen, Page


async def show(view: PageRequest) -> dict[str, Any]:
    """Return the state of all servers that hold data of the namespace."""
    return {
        "topology": view.hf.topology,
        "namespace": view.hf.namespace,
        "servers": await view.hf.servers(),
    }


SCREEN: Final = DashboardScreen("Server", "System", (Page("server", show),))
