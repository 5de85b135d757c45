"""Let a loop finish its step when the process is asked to end."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType


def call_on_stop_signal(stop: Callable[[], None]) -> None:
    """Call *stop* at the first SIGTERM or Ctrl-C. Let a second one end the process."""

    def handle(number: int, _: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handle)
