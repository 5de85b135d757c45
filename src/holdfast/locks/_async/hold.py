"""Provide the context managers that `hold` returns: they hold permits for one `with` block."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Final

from ...core.clock import Deadline
from ...core.concurrency._async.cancellation import run_shielded
from ...core.concurrency._async.holding_context import ContextExit, HoldingContext
from .acquisition import acquire
from .lease import AsyncLease
from .permits import AsyncPermits

_USED: Final = "it was for another block; call `hold` for each"


async def _release_one(
    held: list[AsyncLease],
    kind: type[BaseException] | None,
    error: BaseException | None,
    traceback: TracebackType | None,
) -> None:
    for lease in held:
        await lease.__aexit__(kind, error, traceback)


class AsyncHold(HoldingContext):
    """Holds a permit for one `with` block."""

    __slots__ = ("_permits", "_timeout_s")

    def __init__(self, permits: AsyncPermits, timeout_s: float | None) -> None:
        self.held: list[AsyncLease] = []
        self._permits: AsyncPermits | None = permits
        self._timeout_s = timeout_s

    async def __aenter__(self) -> AsyncLease:
        permits, self._permits = self._permits, None
        if permits is None:
            raise RuntimeError(_USED)
        lease = None
        try:
            lease = await acquire(permits, self._timeout_s)
            self.held.append(lease)
            return await lease.__aenter__()
        except BaseException:
            if lease is not None:
                await run_shielded(lease.give_up)
            raise

    __aexit__ = ContextExit(_release_one)


async def _release_all(
    held: list[AsyncLease],
    kind: type[BaseException] | None,
    error: BaseException | None,
    traceback: TracebackType | None,
) -> None:
    """Release the leases of a block, the last one first. Raise the last error."""
    raised = error
    for lease in reversed(held):
        try:
            await lease.__aexit__(kind, raised, traceback)
        except BaseException as problem:  # noqa: BLE001 (raised below)
            kind, raised, traceback = type(problem), problem, problem.__traceback__
    try:
        if raised is not None and raised is not error:
            raise raised
    finally:
        del error, raised, traceback  # They refer to this frame: break the reference cycle.


class AsyncHoldAll(HoldingContext):
    """Holds several locks for one `with` block."""

    __slots__ = ("_permits", "_timeout_s")

    def __init__(self, permits: Sequence[AsyncPermits], timeout_s: float | None) -> None:
        self.held: list[AsyncLease] = []
        self._permits: Sequence[AsyncPermits] | None = permits
        self._timeout_s = timeout_s

    async def __aenter__(self) -> dict[str, AsyncLease]:
        permits, self._permits = self._permits, None
        if permits is None:
            raise RuntimeError(_USED)
        try:
            return await self._acquired(permits)
        except BaseException as error:
            await _release_all(self.held, type(error), error, error.__traceback__)
            raise

    __aexit__ = ContextExit(_release_all)

    async def _acquired(self, permits: Sequence[AsyncPermits]) -> dict[str, AsyncLease]:
        deadline = Deadline(self._timeout_s)
        leases: dict[str, AsyncLease] = {}
        for each in permits:
            left_s = None if self._timeout_s is None else deadline.left_s()
            try:
                self.held.append(await acquire(each, left_s))
                leases[each.unit.name] = await self.held[-1].__aenter__()
            except BaseException:
                # Closing the client loses the leases, which may cancel this task: raise
                # ClientClosed instead.
                each.check_client()
                raise
        for lease in leases.values():
            if lease.lost:  # It was lost during the wait for the other locks.
                await lease.release()
        return leases
