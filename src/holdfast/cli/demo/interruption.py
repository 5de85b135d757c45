"""How a demo ends when it is told to."""

from __future__ import annotations

import signal


def end_as_by_ctrl_c() -> None:
    """Have SIGTERM and a closed terminal end the demo in good order, too."""
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):  # Windows has no SIGHUP
            signal.signal(getattr(signal, name), signal.default_int_handler)


def hear_no_more() -> None:
    """Have nothing interrupt what is put away now; an impatient second Ctrl-C would leave it."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
