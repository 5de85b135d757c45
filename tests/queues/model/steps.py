"""Steps in the model: what a task has stored, what it waits for, and the signals it was sent."""

from __future__ import annotations

from dataclasses import dataclass, replace

import msgspec

NEVER_MS = 2**47


@dataclass(frozen=True)
class Steps:
    """What is stored of the steps of one task.

    Attributes:
        ended: number of the steps that have ended.
        pending: kind, name, signal and end (ms) of the sleep or wait that has begun; or nothing.
        last: number of the last signal.
        signals: number, instant (ms) and name of those that no wait has taken.
    """

    ended: int = 0
    pending: tuple[str, str, str, int] | None = None
    last: int = 0
    signals: tuple[tuple[int, int, str], ...] = ()

    @classmethod
    def of(cls, packed: bytes) -> Steps:
        """Return what the server has stored."""
        index = msgspec.msgpack.decode(packed)
        pending = index["pending"]
        return cls(
            index["count"],
            (*pending[:3], int(pending[3])) if pending else None,
            index["last"],
            tuple((number, int(sent_ms), name) for number, sent_ms, name in index["signals"]),
        )

    @property
    def has_begun(self) -> bool:
        """Return whether the task asked for a step; a signal alone is none."""
        return bool(self.ended or self.pending)

    def found(self) -> tuple[int, int, str] | None:
        """Return the signal that ends the wait; None if there is none in time."""
        if self.pending is None or self.pending[0] != "wait":
            return None
        _, _, wanted, until_ms = self.pending
        fitting = (one for one in self.signals if one[2] == wanted and one[1] <= until_ms)
        return next(fitting, None)

    def with_step(self) -> Steps:
        """Return them with one more step that has ended."""
        return replace(self, ended=self.ended + 1, pending=None)

    def with_wait(self, kind: str, name: str, wait_ms: int, now_ms: int) -> tuple[Steps, str]:
        """Begin a sleep or a wait, or end it. Return what came of it, too."""
        if self.pending and self.pending[:2] != (kind, name):
            return self, "other"
        until_ms = NEVER_MS if wait_ms < 0 else now_ms + wait_ms
        begun = self.pending or (kind, name, name if kind == "wait" else "", until_ms)
        after = replace(self, pending=begun)
        if taken := after.found():
            left = tuple(one for one in self.signals if one != taken)
            return replace(after, signals=left).with_step(), "ended"
        if begun[3] <= now_ms:
            return after.with_step(), "ended"
        return after, "waits"

    def with_signal(self, name: str, now_ms: int) -> Steps:
        """Return them with one more signal."""
        last = self.last + 1
        return replace(self, last=last, signals=(*self.signals, (last, now_ms, name)))

    def wakes_ms(self, now_ms: int) -> int:
        """Return when a task that is put away now runs again."""
        return now_ms if self.pending is None or self.found() else self.pending[3]
