"""The audit log: who did what, to what, and what came of it."""

from __future__ import annotations

import msgspec

from ...errors.records import logger_of, one_line
from .access import Visitor
from .deed import Fields

logger = logger_of("holdfast.audit")


def audited(visitor: Visitor, action: str, fields: Fields, outcome: str) -> None:
    """Write one record: on INFO, with the same as fields `user role action target outcome`.

    It is one line in each of them, whatever a name holds.
    """
    target = one_line(
        {
            key: value[0] if len(value) == 1 else list(value)
            for key, value in fields.items()
            if key not in ("back", "key")
        }
    )
    logger.info(
        "%s (%s) %s %s: %s",
        visitor.name,
        visitor.role,
        action,
        msgspec.json.encode(target).decode(),
        outcome,
        extra={
            "user": one_line(visitor.name),
            "role": visitor.role,
            "action": action,
            "target": target,
            "outcome": one_line(outcome),
        },
    )
