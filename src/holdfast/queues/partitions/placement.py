"""Encode the layout that a producer knows, and recognize the answer that it is outdated."""

from __future__ import annotations

from typing import Final

HELD: Final = "held"
"""The mode of a batch that stores only tasks with a key in use."""

KNOWN: Final = "known"
"""The mode of a batch that only asks for an answer that was given before."""


def placement_of(room: int, version: int, index: int = 0, mode: str = "") -> str:
    """Return the layout that a producer knows, in the form that `lua/parts/placement.lua` reads.

    Args:
        room: new tasks for which there must be room.
        version: the version of the layout that it knows.
        index: the partition.
        mode: `HELD`, `KNOWN` or empty.
    """
    if not version and not mode:
        return str(room)
    return f"{room} {version} {index} {mode}".rstrip()


class LayoutMoved(Exception):
    """A partition refused tasks because the layout has changed; nothing was stored."""
