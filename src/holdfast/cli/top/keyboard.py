"""Single keys of a terminal, without Enter."""

from __future__ import annotations

import asyncio
import os
import sys
import termios
import tty
from collections.abc import Callable
from typing import Any, Final, Self

_MOST: Final = 64
"""Bytes of one read."""


class Keyboard:
    """Reads keys within `with keyboard:`; then the terminal gets its former settings back.

    Without a terminal it reads nothing. Ctrl-C stays a signal.

    Args:
        on_key: called with each key.
    """

    def __init__(self, on_key: Callable[[str], None]) -> None:
        self._on_key = on_key
        self._before: list[Any] = []

    @property
    def is_available(self) -> bool:
        """Return whether there is a terminal to read from."""
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
        """Disable Ctrl-Z: it would leave the terminal with these settings."""
        settings = termios.tcgetattr(sys.stdin)
        settings[6][termios.VSUSP] = bytes([os.fpathconf(sys.stdin.fileno(), "PC_VDISABLE")])
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, settings)

    def _read(self) -> None:
        try:
            typed = os.read(sys.stdin.fileno(), _MOST)
        except OSError:  # the terminal is gone
            typed = b""
        if not typed:
            asyncio.get_running_loop().remove_reader(sys.stdin)
        if not typed.startswith(b"\x1b"):  # arrows and the like
            for key in typed.decode(errors="ignore"):
                self._on_key(key)
