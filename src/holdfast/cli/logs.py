"""Logs of a command that runs on: lines on standard error."""

from __future__ import annotations

import logging
from typing import Any

from .output import printable

INDENT = "  "


def log_to_stderr(level: int) -> None:
    """Show what is logged from *level* on."""
    handler = logging.StreamHandler()
    handler.setFormatter(Lines("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(level=level, handlers=[handler])


class Lines(logging.Formatter):
    """One line for each record, and its traceback indented below it.

    What is logged may be text of strangers: control characters become visible, and no text of
    theirs begins a line, which could pass for a record of its own.
    """

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  (as logging has it)
        return printable(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802  (as logging has it)
        return _below(super().formatException(ei))

    def formatStack(self, stack_info: str) -> str:  # noqa: N802  (as logging has it)
        return _below(super().formatStack(stack_info))


def _below(text: str) -> str:
    return "\n".join(INDENT + printable(line) for line in text.split("\n"))
