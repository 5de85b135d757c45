"""The servers behind it all: memory, persistence, replicas, what they are slow at."""

from __future__ import annotations

from typing import Any, Final

from ..look import Look
from ..screen import Page, Screen


async def show(look: Look) -> dict[str, Any]:
    """Every server that holds data."""
    return {
        "topology": look.hf.topology,
        "namespace": look.hf.namespace,
        "servers": await look.hf.servers(),
    }


SCREEN: Final = Screen("Server", "System", (Page("server", show),))
