"""Write each log record on one line, even if it quotes untrusted text.

Otherwise a name that contains a line end could add a line that looks like a record of its own, for
example in the audit log. The message is safe with any formatter. Fields (`extra`) are for programs
and stay unescaped, except in the audit log, which applies `one_line` to them.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from .base import on_one_line


class OneLineLogger(logging.LoggerAdapter[logging.Logger]):
    """A logger that escapes line ends and other control characters in its arguments."""

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        """Log *msg* with *args* as `logging.Logger.log` does, if *level* is enabled."""
        if self.isEnabledFor(level):
            # The record must name the line of the caller, not this one.
            kwargs["stacklevel"] = kwargs.get("stacklevel", 1) + 1
            self.logger.log(level, msg, *map(one_line, args), **kwargs)


def logger_of(name: str) -> OneLineLogger:
    """Return the `OneLineLogger` of the logger *name*."""
    return OneLineLogger(logging.getLogger(name), {})


def one_line(given: Any) -> Any:
    """Return *given* with all text in it escaped onto one line; numbers and None unchanged."""
    if isinstance(given, str):
        return on_one_line(given)
    if given is None or isinstance(given, int | float):
        return given
    if isinstance(given, Mapping):
        return {one_line(key): one_line(value) for key, value in given.items()}
    if isinstance(given, list | tuple):
        return [one_line(each) for each in given]
    return _OneLine(given)


class _OneLine:
    """Wrap a log argument: its text is escaped, and built only if the record is formatted."""

    def __init__(self, given: object) -> None:
        self._given = given

    def __str__(self) -> str:
        return on_one_line(str(self._given))

    def __repr__(self) -> str:
        return on_one_line(repr(self._given))
