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
"""Bytes that are read at once."""


class Keyboard:
    """Hears keys while `with keyboard:` lasts; the terminal is as it was before, afterwards.

    Without a terminal nothing is heard. Ctrl-C stays a signal.

    Args:
        heard: called with each key.
    """

    def __init__(self, heard: Callable[[str], None]) -> None:
        self._heard = heard
        self._before: list[Any] = []

    @property
    def is_there(self) -> bool:
        """Whether anything can be heard."""
        return sys.stdin.isatty()

    def __enter__(self) -> Self:
        if self.is_there:
            self._before = termios.tcgetattr(sys.stdin)
            tty.setcbreak(sys.stdin)
            self._forbid_stopping()
            asyncio.get_running_loop().add_reader(sys.stdin, self._read)
        return self

    def __exit__(self, *ended: object) -> None:
        if self._before:
            asyncio.get_running_loop().remove_reader(sys.stdin)
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._before)

    def _forbid_stopping(self) -> None:
        """Have Ctrl-Z do nothing: it would leave the terminal as it must not stay."""
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
                self._heard(key)
