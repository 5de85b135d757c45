"""Describe how a process ended."""

from __future__ import annotations

import signal


def how_ended(code: int) -> str:
    """Return how a process ended, as in `was ended by SIGKILL`."""
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:  # a real-time signal
        return f"was ended by signal {-code}"
