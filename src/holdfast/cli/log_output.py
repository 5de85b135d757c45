"""Write log records to standard error, for commands that run for a long time."""

from __future__ import annotations

import json
import logging
from copy import copy
from datetime import UTC, datetime
from typing import Any, Final

from .output import printable

INDENT = "  "


def log_to_stderr(level: int, formatter: logging.Formatter | None = None) -> None:
    """Write log records of *level* and above to standard error, by default as text."""
    handler = logging.StreamHandler()
    handler.setFormatter(formatter or LineFormatter("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(level=level, handlers=[handler])


class LineFormatter(logging.Formatter):
    """Formats each record as one line, with an indented traceback below it.

    Records may contain untrusted text. So control characters are escaped, and no line begins with
    such text, because it could look like another record.
    """

    def format(self, record: logging.LogRecord) -> str:
        if record.exc_text and not record.exc_info:  # the record comes from another process
            record = copy(record)
            record.exc_text = _indented(str(record.exc_text))
        return super().format(record)

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  (as logging has it)
        return printable(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802  (as logging has it)
        return _indented(super().formatException(ei))

    def formatStack(self, stack_info: str) -> str:  # noqa: N802  (as logging has it)
        return _indented(super().formatStack(stack_info))


def _indented(text: str) -> str:
    return "\n".join(INDENT + printable(line) for line in text.split("\n"))


class JsonFormatter(logging.Formatter):
    """Formats each record as one JSON object on one line, in ASCII.

    Its fields are `time` (UTC), `level`, `logger`, `message`, all fields of `extra`, and
    `exception` with the traceback if there is one.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return *record* as JSON."""
        fields: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        given = vars(record)
        fields |= {name: given[name] for name in given.keys() - _OWN - fields.keys()}
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        elif record.exc_text:  # the record comes from another process
            fields["exception"] = record.exc_text
        if record.stack_info:
            fields["stack"] = record.stack_info
        return json.dumps(fields, default=str)


_OWN: Final = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"}
"""Attributes that every record has. All others come from `extra`."""
