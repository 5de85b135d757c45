"""Test the log lines of commands that run for long: one line for each record, whatever it holds."""

from __future__ import annotations

import logging

from cli.filled_queue import HOSTILE
from holdfast.cli.log_output import LineFormatter

FORGED = f"{HOSTILE}\n2026-11-22 10:00:00,000 INFO ann (operator) queue/purge: done\r\x85\u2028x"


def line_of(*args: object, exc_info: object = None) -> str:
    """Return a record as it is printed."""
    record = logging.LogRecord("holdfast", logging.INFO, "f.py", 1, "task %s", args, exc_info)  # type: ignore[arg-type]
    return LineFormatter("%(levelname)s %(message)s").format(record)


def test_no_untrusted_text_begins_a_line() -> None:
    """Escape line ends: such a line could pass for a record."""
    line = line_of(FORGED)
    assert line.isprintable()
    assert line.startswith("INFO task [red]\\x1b[31m")
    assert "\\n2026-11-22" in line


def test_an_error_stays_below_its_record() -> None:
    """Indent each of its lines."""
    error = ValueError(FORGED)
    line = line_of("7", exc_info=(ValueError, error, None))
    first, *below = line.split("\n")
    assert first == "INFO task 7"
    assert below
    assert all(line.startswith("  ") and line.isprintable() for line in below)
