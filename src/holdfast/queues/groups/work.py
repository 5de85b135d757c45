"""Define the kinds of work that follow from the ends of members of a group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .nodes import Node


class MemberEnd(NamedTuple):
    """How a member of a group has ended, as `count_ends.lua` reads it."""

    name: str
    version: int
    state: str
    payload: bytes


class CountEnds(NamedTuple):
    """Count ends of members in the record of their group."""

    group_id: str
    ends: Sequence[MemberEnd]


class CarryOut(NamedTuple):
    """Enqueue a call of a group, or report its end to its parent.

    `count_ends.lua` has returned *values*.
    """

    group_id: str
    values: Sequence[bytes]
    found_at: float


class MarkCalled(NamedTuple):
    """Note in the record of a group that a due call is enqueued, or that its parent has its end."""

    group_id: str
    name: str
    version: int
    node: Node | None


class CloseGroup(NamedTuple):
    """Note that all members of a group are enqueued; of a chain, the first one."""

    group_id: str


Work = CountEnds | CarryOut | MarkCalled | CloseGroup
"""One item of work."""


def begin(group_ids: Sequence[str]) -> list[Work]:
    """Return the work that follows when the members of groups are stored."""
    counts = [CountEnds(group_id, ()) for group_id in group_ids]
    return [*counts, *map(CloseGroup, group_ids)]
