# Generated from _async/lease.py by tools/unasync.py: edit that, then run `make sync`.
"""The lease of one place."""

from __future__ import annotations

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
from ...errors.records import logger_of
from ..lost_signal import Loss
from .permits import Places

logger: Final = logger_of("holdfast.locks")


class Lease:
    """A place that is held, and a context that gives it back.

    It belongs to whoever has this object, whatever task or thread that is, and is renewed from a
    thread of its own until it is released. A forked child has no part in it.

    Made by `acquire`, `try_acquire` and `hold`.

    Attributes:
        fence: a number higher than that of every earlier lease of the same lock, and unique.
        holder: `host:process id:number`, as others see it.
    """

    __slots__ = (
        "__weakref__",
        "_given_back",
        "_kept",
        "_loss",
        "_pid",
        "_places",
        "_released",
        "_releases",
        "_revocation",
        "_uncertain",
        "_watchers",
        "fence",
        "holder",
    )

    def __init__(
        self, places: Places, holder: str, fence: int, taken_at: float, *, uncertain: bool
    ) -> None:
        self.fence = fence
        self.holder = holder
        self._places = places
        self._uncertain = uncertain
        self._pid = process_id()
        self._released = True  # by its holder; until it is whole there is nothing to release
        self._given_back = False  # as the server knows
        self._revocation: CancelScope | None = None
        self._watchers: set[Event] = set()
        self._loss = Loss()
        self._releases: list[bytes] = []  # b"" when one begins; what the server said of it
        self._kept = places.kept(holder, fence, taken_at, self._loss)
        places.keep(self._kept)  # after all else: an exception may interrupt this anywhere
        self._released = False

    def __repr__(self) -> str:
        state = "released" if self._released else "lost" if self.lost else "held"
        return f"<{state} lease of {self._places.unit}, fence {self.fence}>"

    @property
    def lost(self) -> bool:
        """Whether the place may be someone else's by now. Asks nobody: the local clock tells.

        Once lost, a lease never comes back. One that was released is not lost.
        """
        if self._pid != process_id():
            return True
        if not self._released and not self._loss.told and self._kept.ended:
            self._places.drop(self._kept)
            self._loss.tell()
        return self._loss.told

    @property
    def remaining(self) -> float:
        """Seconds until it is lost unless it is renewed; 0 when it is lost or released."""
        if self._released or self.lost:
            return 0.0
        return max(0.0, self._kept.ends_at - since_boot())

    def wait_lost(self, timeout: Duration | None = None) -> bool:
        """Wait until it is lost or released, at most *timeout* seconds (None: for ever).

        Returns:
            Whether it is lost: False at the end of the time, and when it was released.
        """
        timeout_s = to_timeout_s(timeout)
        told = Event()
        self._watchers.add(told)  # first this, then the look: `release` does it the other way round
        self._loss.heard_by(told.set)
        try:
            if not self._released and not self.lost:
                told.wait(timeout_s)
        finally:
            self._watchers.discard(told)
            self._loss.unheard_by(told.set)
        return self.lost

    def on_lost(self, callback: Callable[[], object]) -> None:
        """Call *callback* when it is lost, at once if it is.

        In asyncio it is called by the event loop; in the blocking half in a thread of its own.
        """
        aside = CallbackRunner()
        self._loss.heard_by(lambda: aside.run(callback))

    def renew(self) -> None:
        """Let it live for a whole lease from now on, also beyond its `max_hold`.

        Only needed with `auto_renew=False`, or to go on after `max_hold`.

        Raises:
            LeaseLost: it is lost, or was released.
            ServerUnavailable: the server cannot be asked; what is left of the lease stays.
        """
        if self._released or self.lost:
            raise self._lost("it was released" if self._released else "it was not renewed in time")
        asked_at = since_boot()
        if not self._places.renew(self.holder, self.fence):
            self._places.drop(self._kept)
            self._loss.tell()
            raise self._lost("the server does not know of it any more")
        self._kept.taken_at = asked_at
        longest_s = self._places.terms.longest_hold_s
        if longest_s is not None:
            self._kept.until = asked_at + longest_s
        if self._loss.told:  # and who was told of a loss may have stopped
            raise self._lost("it ended while it was renewed")

    def release(self) -> None:
        """Give the place back; whoever waits longest has it then. Again it does nothing.

        Raises:
            LeaseLost: it was lost before; says when, and who has the place, as far as is known.
            ServerUnavailable: the server cannot be asked, or what it did is not durable yet;
                the place is free when the lease ends, or once it is released again.
        """
        try:
            lost = False
            if self._given_back:
                return
            lost, again = self.lost, self._released
            if lost:
                self._check_process()
            self._drop()
            self._releases.append(b"")
            if self._uncertain:
                reply = self._places.give_back(self.holder, over=True)
            else:
                reply = self._places.release(self.holder)
            self._releases.append(reply[0])
            self._given_back = True
        except LeaseLost:  # in a forked child
            raise
        except HoldfastError:
            if lost:
                raise self._lost("it was not renewed in time; who has it cannot be asked") from None
            raise
        except BaseException:  # cancelled or interrupted
            run_shielded(self.give_up)
            raise
        if lost or not again:  # otherwise it was held until the first try
            self._judge(reply, lost)

    def _check_process(self) -> None:
        if self._pid != process_id():
            self._released = True
            raise self._lost("it belongs to the process that this one was forked from")

    def abandon(self) -> None:
        """Release it in the background: an exception has interrupted what was done with it."""
        if not self._released:
            self._drop()
            run_in_background(self.give_up)

    def give_up(self) -> None:
        """Leave no place behind, after an exception; it ends by itself if that fails."""
        self._drop()
        with suppress(HoldfastError):
            self._places.give_back(self.holder, over=True, durable=False)

    def _drop(self) -> None:
        """Have it renewed no more, and then say that it is released."""
        self._places.drop(self._kept)
        self._released = True
        if self._watchers:
            for watcher in list(self._watchers):
                watcher.set()

    def _judge(self, reply: Any, lost: bool) -> None:
        """Raise what the *reply* to its release, or the local clock, says of it."""
        if reply[0] == b"lost":
            successor = reply[3].decode(errors="backslashreplace").removeprefix("?") or None
            ended_ms = stored_score(reply[2], f"the ledger of {self._places.unit}")
            at = from_epoch_ms(max(0, min(ended_ms, MAX_MS)))
            raise LeaseLost(str(self._places.unit), self.fence, at, successor)
        if lost or (reply[0] == b"gone" and not self._is_released_elsewhere()):
            raise self._lost()

    def _is_released_elsewhere(self) -> bool:
        """Return whether another thread or task has released it, or is releasing it."""
        releases = list(self._releases)
        return b"released" in releases or 2 * releases.count(b"") > len(releases)

    def __enter__(self) -> Self:
        if self._released:
            raise self._lost("it was released")
        self._revocation = CancelScope()
        self._loss.heard_by(self._revocation.cancel)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        revoked = body_raised = False
        try:
            revocation, self._revocation = self._revocation, None
            revoked = revocation is not None and revocation.end(error)
            # What the body raised says more than the loss, unless it was cancelled for the loss.
            body_raised = error is not None and not revoked
            self.release()
        except LeaseLost:
            if not body_raised:
                raise
        except HoldfastError as problem:
            logger.warning("%s is free only when its lease ends: %s", self._places.unit, problem)
        except BaseException:  # interrupted
            self.abandon()
            raise
        if revoked:  # the body had released it by itself
            raise self._lost()

    def __del__(self) -> None:
        if getattr(self, "_released", True) or self.lost:  # also where it was never whole
            return
        self._places.drop(self._kept)
        warnings.warn(f"{self!r} was never released", ResourceWarning, source=self, stacklevel=2)

    def _lost(
        self, reason: str = "it was not renewed in time, its client was closed, or it was forgotten"
    ) -> LeaseLost:
        if self._places.caller.lifetime.closed:
            reason = "this client is closed"
        return LeaseLost(str(self._places.unit), self.fence, reason=reason)
