"""A clock on the wall that a test may step, for the processes that are started with it: `Clock`."""

from pathlib import Path

import pytest

LIBRARY = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)

needs_faketime = pytest.mark.usefixtures("faketime")
"""Skips where the server's clock cannot be stepped."""


class Clock:
    """The clock on the wall of some processes; their monotonic clock goes on as it should.

    Args:
        folder: Where it may keep a file.

    Attributes:
        env: Variables to start the processes with.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / "clock"
        self.set(0)
        self.env = {
            "LD_PRELOAD": str(LIBRARY),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }

    def set(self, off_s: float) -> None:
        """Let it be wrong by *off_s* seconds from now on."""
        new = self._file.with_suffix(".new")
        new.write_text(f"{off_s:+.3f}\n")
        new.replace(self._file)  # a concurrent reader finds a whole number
