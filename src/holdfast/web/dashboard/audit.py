"""Records of the actions of the dashboard."""

from __future__ import annotations

from ..audit import record
from .access import Visitor
from .deed import Fields


def audited(visitor: Visitor, action: str, fields: Fields, outcome: str) -> None:
    """Record an action with the fields of its form."""
    target = {
        key: value[0] if len(value) == 1 else list(value)
        for key, value in fields.items()
        if key not in ("back", "key")
    }
    record(visitor.name, visitor.role, action, target, outcome)
