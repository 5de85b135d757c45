"""The health of a worker, for probes."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

SILENT_S: Final = 30.0
"""Seconds without an answer of the server after which a worker is not ready."""

BLOCKED_S: Final = 30.0
"""Seconds for which a task may block the event loop of a worker that counts as alive."""


class WorkerHealth(msgspec.Struct, frozen=True):
    """The health of a worker.

    Attributes:
        state: `stopped` before and after `run`; `starting` until the server of each queue has
            accepted the worker; `serving`; `stopping` while the last tasks finish.
        blocked_s: seconds for which a task has blocked the event loop so far; 0 if the loop runs.
        silent_s: seconds since the server of a queue last answered; the longest of all queues.
        problems: why tasks are not claimed, a text for each queue; empty if all are served.
    """

    state: Literal["stopped", "starting", "serving", "stopping"]
    blocked_s: float = 0.0
    silent_s: float = 0.0
    problems: tuple[str, ...] = ()

    def not_alive(self, blocked_s: float = BLOCKED_S) -> str:
        """Return why the worker should be restarted; empty if it should not.

        Args:
            blocked_s: seconds for which a task may block the event loop.
        """
        if self.blocked_s < blocked_s:
            return ""
        return f"a task has blocked the event loop for {self.blocked_s:.0f} s"

    def not_ready(self, silent_s: float = SILENT_S) -> str:
        """Return why the worker claims no tasks; empty if it claims them.

        Args:
            silent_s: seconds for which the server may be silent.
        """
        if self.problems:
            return "; ".join(self.problems)
        if self.state != "serving":
            return f"the worker is {self.state}"
        if self.silent_s >= silent_s:
            return f"the server has not answered for {self.silent_s:.0f} s"
        return ""
