# Generated from _async/lease.py by tools/unasync.py: edit that, then run `make sync`.
"""Provide the lease of one permit: it is renewed, lost or released."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Self

from ...core.clock import MAX_MS, Duration, from_epoch_ms, since_boot, to_timeout_s
from ...core.concurrency._sync.cancellation import CancelScope, run_in_background, run_shielded
from ...core.concurrency._sync.primitives import Event
from ...core.concurrency._sync.user_calls import CallbackRunner
from ...core.concurrency.fork_hooks import process_id
from ...core.stored import stored_score
from ...errors import HoldfastError, LeaseLost
from ...errors.one_line_logger import logger_of
from ..lost_signal import LostSignal
from .permits import Permits

logger: Final = logger_of("holdfast.locks")


class Lease:
    """A held permit. As a context manager it releases the permit at the end of the block.

    Any task or thread may use this object. A thread of the client renews the lease until it is
    released. A forked child neither renews nor releases it.

    Made by `acquire`, `try_acquire` and `hold`.

    Attributes:
        fence: a unique number, higher than the fence of every earlier lease of the same lock.
        holder: name of the holder, as other clients see it: `host:process id:number`.
    """

    __slots__ = (
        "__weakref__",
        "_cancel_scope",
        "_events",
        "_in_flight",
        "_is_released",
        "_lost_signal",
        "_permits",
        "_pid",
        "_release_replies",
        "_released",
        "_renewed",
        "fence",
        "holder",
    )

    def __init__(
        self, permits: Permits, holder: str, fence: int, taken_at: float, *, in_flight: bool
    ) -> None:
        self.fence: int = fence
        self.holder: str = holder
        self._permits = permits
        self._in_flight = in_flight  # whether a call of the acquisition may be in flight
        self._pid = process_id()
        # Whether the holder has released the lease. True until the end of this method: an exception
        # may interrupt the method at any line, and then `__del__` must do nothing.
        self._released = True
        self._is_released = False  # whether the server has confirmed the release
        self._cancel_scope: CancelScope | None = None
        self._events: set[Event] = set()  # one for each call of `wait_lost`
        self._lost_signal = LostSignal()
        # Each call of `release` adds b"" before it calls the server, and then the server's answer.
        self._release_replies: list[bytes] = []
        self._renewed = permits.renewed_lease(holder, fence, taken_at, self._lost_signal)
        permits.keep(self._renewed)
        self._released = False

    def __repr__(self) -> str:
        state = "released" if self._released else "lost" if self.lost else "held"
        return f"<{state} lease of {self._permits.unit}, fence {self.fence}>"

    @property
    def lost(self) -> bool:
        """Return whether the lease is lost, so that another client may hold the permit now.

        This reads the local clock and does no I/O. A lost lease stays lost. A released lease is not
        lost.
        """
        if self._pid != process_id():
            return True
        if not self._released and not self._lost_signal.is_set and self._renewed.ended:
            self._permits.drop(self._renewed)
            self._lost_signal.set()
        return self._lost_signal.is_set

    @property
    def remaining(self) -> float:
        """Return the seconds until the lease ends, unless it is renewed; 0 if lost or released."""
        if self._released or self.lost:
            return 0.0
        return max(0.0, self._renewed.ends_at - since_boot())

    def wait_lost(self, timeout: Duration | None = None) -> bool:
        """Wait until the lease is lost or released, but at most *timeout* seconds (None: no limit).

        Returns:
            Whether the lease is lost; False at the timeout, and if it was released.
        """
        timeout_s = to_timeout_s(timeout)
        event = Event()
        # Add the event before `_released` is read: `_drop` sets `_released`, then reads the events.
        self._events.add(event)
        self._lost_signal.add_listener(event.set)
        try:
            if not self._released and not self.lost:
                event.wait(timeout_s)
        finally:
            self._events.discard(event)
            self._lost_signal.remove_listener(event.set)
        return self.lost

    def on_lost(self, callback: Callable[[], object]) -> None:
        """Call *callback* when the lease is lost; at once if it is lost already.

        In asyncio, the event loop calls it. In blocking code, a new thread calls it.

        Raises:
            TypeError: *callback* is not a plain function, so that calling it would do nothing.
        """
        if not callable(callback) or inspect.iscoroutinefunction(callback):
            raise TypeError(f"the callback must be a function that is not async, got {callback!r}")
        runner = CallbackRunner()
        self._lost_signal.add_listener(lambda: runner.run(callback))

    def renew(self) -> None:
        """Renew the lease: its full length, and `max_hold`, begin again now.

        Only needed with `auto_renew=False` or `max_hold`.

        Raises:
            LeaseLost: The lease is lost, or was released.
            ServerUnavailable: The server cannot be reached. The lease ends at the same time as
                before.
        """
        if self._released:
            raise self._lost_error("it was released")
        if self.lost:
            raise self._lost_error("it was not renewed in time")
        asked_at = since_boot()
        if not self._permits.renew(self.holder, self.fence):
            self._permits.drop(self._renewed)
            self._lost_signal.set()
            raise self._lost_error("the server does not know it any more")
        self._renewed.taken_at = asked_at
        longest_s = self._permits.options.longest_hold_s
        if longest_s is not None:
            self._renewed.until = asked_at + longest_s
        if self._lost_signal.is_set:  # Listeners were notified of the loss, and may have stopped.
            raise self._lost_error("it ended while it was renewed")

    def release(self) -> None:
        """Release the permit. The first waiter gets it. Safe to repeat.

        Raises:
            LeaseLost: The lease was lost before. The error has the time and the next holder, if
                they are known.
            ServerUnavailable: The server cannot be reached, or the release is not durable yet. The
                permit is free when the lease ends, or after another call of `release`.
        """
        try:
            lost = False
            if self._is_released:
                return
            was_released = self._released
            if self.lost:
                self._check_process()
                lost = True
            self._drop()
            self._release_replies.append(b"")
            if self._in_flight:
                reply = self._permits.end(self.holder, in_flight=True)
            else:
                reply = self._permits.release(self.holder)
            self._release_replies.append(reply[0])
            self._is_released = True
        except LeaseLost:  # This is a forked child.
            raise
        except HoldfastError:
            if lost:
                reason = "it was not renewed in time; its new holder is unknown"
                raise self._lost_error(reason) from None
            raise
        except BaseException:  # The call was cancelled or interrupted.
            run_shielded(self.give_up)
            raise
        # If this call repeats another one, do not check: the lease was held until the first call.
        if lost or not was_released:
            self._check_reply(reply, lost)

    def _check_process(self) -> None:
        if self._pid != process_id():
            self._released = True
            raise self._lost_error("it belongs to the process that this one was forked from")

    def abandon(self) -> None:
        """Release the permit in the background, after an exception interrupted the holder."""
        if not self._released:
            self._drop()
            run_in_background(self.give_up)

    def give_up(self) -> None:
        """Release the permit after an exception. If that fails, the lease expires by itself."""
        self._drop()
        with suppress(HoldfastError):
            self._permits.end(self.holder, in_flight=True, durable=False)

    def _drop(self) -> None:
        """Stop the renewal, mark the lease as released, and wake `wait_lost`."""
        self._permits.drop(self._renewed)
        self._released = True
        if self._events:
            for event in list(self._events):
                event.set()

    def _check_reply(self, reply: Any, lost: bool) -> None:
        """Raise LeaseLost if *reply*, or *lost* (by the local clock), reports a loss."""
        if reply[0] == b"lost":
            successor = reply[3].decode(errors="backslashreplace").removeprefix("?") or None
            ended_ms = stored_score(reply[2], f"the ledger of {self._permits.unit}")
            at = from_epoch_ms(max(0, min(ended_ms, MAX_MS)))
            raise LeaseLost(str(self._permits.unit), self.fence, at, successor)
        if lost or (reply[0] == b"gone" and not self._is_released_elsewhere()):
            raise self._lost_error()

    def _is_released_elsewhere(self) -> bool:
        """Return whether another thread or task has released the lease, or is releasing it."""
        releases = list(self._release_replies)
        return b"released" in releases or 2 * releases.count(b"") > len(releases)

    def __enter__(self) -> Self:
        if self._released:
            raise self._lost_error("it was released")
        self._cancel_scope = CancelScope()
        self._lost_signal.add_listener(self._cancel_scope.cancel)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        cancelled = body_raised = False
        try:
            scope, self._cancel_scope = self._cancel_scope, None
            cancelled = scope is not None and scope.end(error)
            # If the body raised an error by itself, raise that error, not LeaseLost.
            body_raised = error is not None and not cancelled
            self.release()
        except LeaseLost:
            if not body_raised:
                raise
        except HoldfastError as problem:
            logger.warning("%s is free only when its lease ends: %s", self._permits.unit, problem)
        except BaseException:  # The call was interrupted.
            self.abandon()
            raise
        if cancelled:  # The lease was lost, and then the body released it.
            raise self._lost_error()

    def __del__(self) -> None:
        # `_released` is missing if `__init__` was interrupted.
        if getattr(self, "_released", True) or self.lost:
            return
        self._permits.drop(self._renewed)
        warnings.warn(f"{self!r} was never released", ResourceWarning, source=self, stacklevel=2)

    def _lost_error(
        self, reason: str = "it was not renewed in time, its client was closed, or it was forgotten"
    ) -> LeaseLost:
        if self._permits.caller.lifetime.closed:
            reason = "this client is closed"
        return LeaseLost(str(self._permits.unit), self.fence, reason=reason)
