"""Log lines on standard error, for commands that run for long."""

from __future__ import annotations

import logging
from typing import Any

from .output import printable

INDENT = "  "


def log_to_stderr(level: int) -> None:
    """Show log records from *level* on."""
    handler = logging.StreamHandler()
    handler.setFormatter(LineFormatter("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(level=level, handlers=[handler])


class LineFormatter(logging.Formatter):
    """Writes one line for each record, and its traceback indented below it.

    Records may hold untrusted text: control characters become visible, and no such text begins a
    line, where it could pass for a record of its own.
    """

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  (as logging has it)
        return printable(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802  (as logging has it)
        return _indented(super().formatException(ei))

    def formatStack(self, stack_info: str) -> str:  # noqa: N802  (as logging has it)
        return _indented(super().formatStack(stack_info))


def _indented(text: str) -> str:
    return "\n".join(INDENT + printable(line) for line in text.split("\n"))
