"""Log records of one line each, whatever text of others is in them.

A name with a line end in it could otherwise add a line to a log that looks like a record of its
own, for example of the audit log. The message is safe with any formatter. Fields (`extra`) are for
programs and hold what was given, except those of the audit log, which are `one_line` too.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from .base import on_one_line


class OneLineLogger(logging.LoggerAdapter[logging.Logger]):
    """A logger that escapes line ends and other controls in what it is given."""

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        """Log *msg* with *args* as `logging.Logger.log` does, if *level* is enabled."""
        if self.isEnabledFor(level):
            kwargs["stacklevel"] = kwargs.get("stacklevel", 1) + 1  # the caller, not this line
            self.logger.log(level, msg, *map(one_line, args), **kwargs)


def logger_of(name: str) -> OneLineLogger:
    """Return the logger called *name*, for records of one line."""
    return OneLineLogger(logging.getLogger(name), {})


def one_line(given: Any) -> Any:
    """Return *given* so that its text is on one line; numbers and None as they are."""
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
    """Any object. Its text is made only if the record is formatted."""

    def __init__(self, given: object) -> None:
        self._given = given

    def __str__(self) -> str:
        return on_one_line(str(self._given))

    def __repr__(self) -> str:
        return on_one_line(repr(self._given))
