"""Read single keys from a terminal, without Enter."""

from __future__ import annotations

import asyncio
import os
import sys
import termios
import tty
from collections.abc import Callable
from typing import Any, Final, Self

_MOST: Final = 64
"""Bytes that one read returns at most."""


class Keyboard:
    """Reads keys within `with keyboard:`. Restores the settings of the terminal afterwards.

    Without a terminal it reads nothing. Ctrl-C stays a signal.

    Args:
        on_key: called with each key.
    """

    def __init__(self, on_key: Callable[[str], None]) -> None:
        self._on_key = on_key
        self._before: list[Any] = []

    @property
    def is_available(self) -> bool:
        """Return whether standard input is a terminal that can be read."""
        return sys.stdin.isatty()

    def __enter__(self) -> Self:
        if self.is_available:
            self._before = termios.tcgetattr(sys.stdin)
            tty.setcbreak(sys.stdin)
            self._disable_suspend()
            asyncio.get_running_loop().add_reader(sys.stdin, self._read)
        return self

    def __exit__(self, *ended: object) -> None:
        if self._before:
            asyncio.get_running_loop().remove_reader(sys.stdin)
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._before)

    def _disable_suspend(self) -> None:
        """Disable Ctrl-Z, because the shell would get the terminal with the changed settings."""
        settings = termios.tcgetattr(sys.stdin)
        settings[6][termios.VSUSP] = bytes([os.fpathconf(sys.stdin.fileno(), "PC_VDISABLE")])
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, settings)

    def _read(self) -> None:
        try:
            typed = os.read(sys.stdin.fileno(), _MOST)
        except OSError:  # the terminal was closed
            typed = b""
        if not typed:
            asyncio.get_running_loop().remove_reader(sys.stdin)
        if not typed.startswith(b"\x1b"):  # else an arrow key, for example
            for key in typed.decode(errors="ignore"):
                self._on_key(key)
