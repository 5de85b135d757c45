# Generated from _async/hold.py by tools/unasync.py: edit that, then run `make sync`.
"""Provide the context managers that `hold` returns: they hold permits for one `with` block."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Final

from ...core.clock import Deadline
from ...core.concurrency._sync.cancellation import run_shielded
from ...core.concurrency._sync.holding_context import ContextExit, HoldingContext
from .acquisition import acquire
from .lease import Lease
from .permits import Permits

_USED: Final = "it was for another block; call `hold` for each"


def _release_one(
    held: list[Lease],
    kind: type[BaseException] | None,
    error: BaseException | None,
    traceback: TracebackType | None,
) -> None:
    for lease in held:
        lease.__exit__(kind, error, traceback)


class Hold(HoldingContext):
    """Holds a permit for one `with` block."""

    __slots__ = ("_permits", "_timeout_s")

    def __init__(self, permits: Permits, timeout_s: float | None) -> None:
        self.held: list[Lease] = []
        self._permits: Permits | None = permits
        self._timeout_s = timeout_s

    def __enter__(self) -> Lease:
        permits, self._permits = self._permits, None
        if permits is None:
            raise RuntimeError(_USED)
        lease = None
        try:
            lease = acquire(permits, self._timeout_s)
            self.held.append(lease)
            return lease.__enter__()
        except BaseException:
            if lease is not None:
                run_shielded(lease.give_up)
            raise

    __exit__ = ContextExit(_release_one)


def _release_all(
    held: list[Lease],
    kind: type[BaseException] | None,
    error: BaseException | None,
    traceback: TracebackType | None,
) -> None:
    """Release the leases of a block, the last one first. Raise the last error."""
    raised = error
    for lease in reversed(held):
        try:
            lease.__exit__(kind, raised, traceback)
        except BaseException as problem:  # noqa: BLE001 (raised below)
            kind, raised, traceback = type(problem), problem, problem.__traceback__
    try:
        if raised is not None and raised is not error:
            raise raised
    finally:
        del error, raised, traceback  # They refer to this frame: break the reference cycle.


class HoldAll(HoldingContext):
    """Holds several locks for one `with` block."""

    __slots__ = ("_permits", "_timeout_s")

    def __init__(self, permits: Sequence[Permits], timeout_s: float | None) -> None:
        self.held: list[Lease] = []
        self._permits: Sequence[Permits] | None = permits
        self._timeout_s = timeout_s

    def __enter__(self) -> dict[str, Lease]:
        permits, self._permits = self._permits, None
        if permits is None:
            raise RuntimeError(_USED)
        try:
            return self._acquired(permits)
        except BaseException as error:
            _release_all(self.held, type(error), error, error.__traceback__)
            raise

    __exit__ = ContextExit(_release_all)

    def _acquired(self, permits: Sequence[Permits]) -> dict[str, Lease]:
        deadline = Deadline(self._timeout_s)
        leases: dict[str, Lease] = {}
        for each in permits:
            left_s = None if self._timeout_s is None else deadline.left_s()
            try:
                self.held.append(acquire(each, left_s))
                leases[each.unit.name] = self.held[-1].__enter__()
            except BaseException:
                # Closing the client loses the leases, which may cancel this task: raise
                # ClientClosed instead.
                each.check_client()
                raise
        for lease in leases.values():
            if lease.lost:  # It was lost during the wait for the other locks.
                lease.release()
        return leases
