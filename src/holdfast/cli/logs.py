"""Logs of a command that runs on: lines on standard error."""

from __future__ import annotations

import logging

from .output import printable


def log_to_stderr(level: int) -> None:
    """Show what is logged from *level* on."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Printable("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(level=level, handlers=[handler])


class _Printable(logging.Formatter):
    """Makes control characters visible: what is logged may be text of strangers."""

    def format(self, record: logging.LogRecord) -> str:
        return "\n".join(map(printable, super().format(record).split("\n")))
