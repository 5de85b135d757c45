"""The part of a call with which a producer shows the partition which layout it knows."""

from __future__ import annotations

from typing import Final

HELD: Final = "held"
"""The mode in which a partition stores a task only if it holds this task, or one with its key."""

KNOWN: Final = "known"
"""The mode in which a partition stores nothing, and only repeats the answer to an earlier call."""


def placement_of(room: int, version: int, index: int = 0, mode: str = "") -> str:
    """Return the layout that a producer knows, in the form that `lua/parts/placement.lua` reads.

    Args:
        room: new tasks for which there must be room.
        version: the version of the layout that the producer knows.
        index: number of the partition, from 0 on.
        mode: `HELD`, `KNOWN` or empty.
    """
    if not version and not mode:
        return str(room)
    return f"{room} {version} {index} {mode}".rstrip()


class LayoutMoved(Exception):
    """A partition refused tasks because the layout has changed; nothing was stored."""
