"""Configure the logging of `holdfast worker` by `--quiet`, `--log-format` and `--log-config`."""

from __future__ import annotations

import json
import logging
import logging.config
import tomllib
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from .connection import fail
from .exit_codes import WRONG_USAGE
from .log_output import JsonFormatter, log_to_stderr
from .output import warn


class LogFormat(StrEnum):
    """The formats of log lines."""

    TEXT = "text"
    JSON = "json"


_READERS: Final = {".json": json.loads, ".toml": tomllib.loads}


def check_log_options(config: Path | None, form: LogFormat | None, *, quiet: bool) -> None:
    """End the command if the options contradict each other."""
    if config is not None and (form is not None or quiet):
        other = "--quiet" if form is None else "--log-format"
        fail(f"--log-config sets everything: give it without {other}", code=WRONG_USAGE)


def configure_logging(config: Path | None, form: LogFormat | None, *, quiet: bool) -> None:
    """Configure logging, after the application was imported.

    - If *config* is given, apply this file.
    - Otherwise, if the application has configured logging (the root logger has handlers), change
      nothing.
    - Otherwise, write records to standard error.
    """
    if config is not None:
        _apply(config)
    elif logging.getLogger().handlers:
        if form is not None or quiet:
            given = "--quiet" if form is None else "--log-format"
            warn(f"{given} has no effect: the application configures logging")
    else:
        formatter = JsonFormatter() if form is LogFormat.JSON else None
        log_to_stderr(logging.WARNING if quiet else logging.INFO, formatter)


def _apply(config: Path) -> None:
    """Configure logging from the file *config*. End the command if the file is invalid."""
    given = _read(config)
    # By default `dictConfig` disables existing loggers, which include those of Holdfast.
    given.setdefault("disable_existing_loggers", False)
    given.setdefault("version", 1)
    try:
        logging.config.dictConfig(given)
    except (ValueError, TypeError, AttributeError, ImportError, KeyError) as error:
        causes = [str(error), str(error.__cause__ or "")]
        fail(f"{str(config)!r} cannot configure logging: {': '.join(filter(None, causes))}")


def _read(config: Path) -> dict[str, Any]:
    reader = _READERS.get(config.suffix.lower())
    if reader is None:
        problem = f"--log-config {str(config)!r} is neither a .json nor a .toml file"
        fail(f"{problem}; write it for logging.config.dictConfig", code=WRONG_USAGE)
    try:
        given = reader(config.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        fail(f"cannot read --log-config {str(config)!r}: {reason}", code=WRONG_USAGE)
    if not isinstance(given, dict):
        fail(f"--log-config {str(config)!r} holds no table of settings", code=WRONG_USAGE)
    return given
