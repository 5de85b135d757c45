"""Whether all is well, in one look."""

from __future__ import annotations

from typing import Any, Final

from ..look import Look
from ..screen import Page, Screen


async def show(look: Look) -> dict[str, Any]:
    """All queues together."""
    return {"queues": (await look.hf.queues())[:100]}


SCREEN: Final = Screen("Overview", "", (Page("", show),))
