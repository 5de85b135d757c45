# Generated from _async/layout_check.py by tools/unasync.py: edit that, then run `make sync`.
"""Check that a client can read the layout in which its namespace is stored."""

from __future__ import annotations

from contextlib import suppress
from math import inf
from time import monotonic
from typing import Final

from ...errors import HoldfastError
from .. import layout
from ..attempt import Attempt, reason_of
from ..concurrency._sync.background_task import BackgroundTask
from ..concurrency._sync.primitives import Mutex
from ..names import Namespace
from ..transport.outcome import Outcome, Refused, Replied, Unsent
from ..transport.request import CallKind, Request
from .delivery import Delivery
from .router import Router

RECHECK_S: Final = 60.0
"""Seconds between two checks of a client. Meanwhile another client may have changed the layout, or
the server may have restarted from an older state."""

RETRY_S: Final = 5.0
"""Seconds until the next check if the server did not answer, or refused the command."""


class LayoutCheck:
    """Checks the layout version of a namespace: before the first call, then once a minute.

    The first call waits for its check. A client that only reads stores nothing; the first call that
    writes stores the version, if there is none. Later checks run in the background, so they neither
    delay a call nor make it fail. If one finds another layout, the next calls check again and fail.

    Args:
        namespace: the namespace; None: nothing is checked.
        delivery: sends the requests.

    Attributes:
        due_at: local monotonic time of the next check; -inf: before the next call.
        reads_due_at: the same for calls that only read.
    """

    def __init__(self, namespace: Namespace | None, delivery: Delivery) -> None:
        self.due_at: float = inf if namespace is None else -inf
        self.reads_due_at: float = self.due_at
        self._namespace = namespace or Namespace.of("")
        self._unit = layout.unit_of(self._namespace)
        self._key = layout.version(self._unit)
        self._delivery = delivery
        self._first = Mutex()
        self._first_checks = 0
        self._unanswered: Unsent | None = None  # the outcome of the last first check
        self._later: BackgroundTask[None] | None = None

    def check(self, router: Router, attempt: Attempt) -> Outcome | None:
        """Check the layout before a call if no other call has done so, or start a later check.

        Args:
            router: finds the server.
            attempt: the call.

        Returns:
            Why the server of the call does not answer; None: the call may be sent.

        Raises:
            UnsupportedLayout: this program cannot read the layout.
            DamagedData: another program has changed the version.
        """
        if not self._is_due(attempt):
            return None
        if self._checked_before(attempt):
            self._check_later(router, attempt)
            return None
        seen = self._first_checks
        with self._first:
            if not self._is_due(attempt):
                return None
            here = router.address(attempt.unit)
            is_same_server = here == router.known(self._unit)
            if seen == self._first_checks or self._unanswered is None:
                until = attempt.until if is_same_server else -inf  # another server: one attempt
                self._unanswered = self._check_first(router, attempt, until)
                self._first_checks += 1
            if self._unanswered is not None and not is_same_server:
                self._passed(RETRY_S)
                return None
            return self._unanswered

    def close(self) -> None:
        """End the check in the background, if there is one. Its connections are closed already."""
        later, self._later = self._later, None
        if later is not None:
            later.end()

    def _is_due(self, attempt: Attempt) -> bool:
        return monotonic() >= (self.reads_due_at if attempt.reading else self.due_at)

    def _checked_before(self, attempt: Attempt) -> bool:
        return (self.reads_due_at if attempt.reading else self.due_at) > -inf

    def _passed(self, valid_s: float, *, reads_only: bool = False) -> None:
        """Let calls, or only calls that read, pass for *valid_s* seconds without a check."""
        self.reads_due_at = monotonic() + valid_s
        if not reads_only:
            self.due_at = self.reads_due_at

    def _check_first(self, router: Router, attempt: Attempt, until: float) -> Unsent | None:
        """Read the version, and store it before the first write.

        Returns:
            Why the server of the version does not answer; None: it did.

        Raises:
            HoldfastError: as in `check`.
        """
        asking = self._asking(attempt.kind, until)
        outcome = self._delivery.deliver(router, asking, Request.of("GET", self._key))
        if isinstance(outcome, Replied):
            stored = self._readable(outcome, attempt)
            if stored is None and attempt.reading:
                self._passed(RECHECK_S, reads_only=True)
                return None
            if stored is None:
                outcome = self._store(router, asking)
            if isinstance(outcome, Replied):
                # Check again: another client may have stored its version since.
                self._readable(outcome, attempt)
                self._passed(RECHECK_S)
                return None
        if not isinstance(outcome, Refused):
            return outcome if isinstance(outcome, Unsent) else Unsent(reason_of(outcome))
        self._passed(RETRY_S)  # A server that refuses this may still accept the call.
        return None

    def _check_later(self, router: Router, attempt: Attempt) -> None:
        """Start a check in the background."""
        writes = self.due_at > -inf
        self._passed(RECHECK_S, reads_only=not writes)
        with suppress(RuntimeError):  # The interpreter is ending, and starts no more threads.
            self._later = BackgroundTask(self._recheck, router, attempt, writes)

    def _recheck(self, router: Router, attempt: Attempt, writes: bool) -> None:
        """Read the version again. If it is missing and this client *writes*, store it."""
        asking = self._asking(CallKind.ORDINARY, -inf)
        try:
            outcome = self._delivery.deliver(router, asking, Request.of("GET", self._key))
            if outcome == Replied(None) and writes:
                outcome = self._store(router, asking)
            if isinstance(outcome, Replied):
                self._readable(outcome, attempt)
                return
        except HoldfastError:
            self.due_at = self.reads_due_at = -inf  # The next call checks again, and raises.
            return
        except Exception:  # noqa: BLE001, S110 (the user's credential provider may raise anything)
            pass
        self._passed(RETRY_S, reads_only=not writes)

    def _store(self, router: Router, asking: Attempt) -> Outcome:
        """Store the version of this program, if none is stored. Return what was stored before."""
        command = Request.of("SET", self._key, layout.VERSION, "NX", "GET")
        return self._delivery.deliver(router, asking, command)

    def _asking(self, kind: CallKind, until: float) -> Attempt:
        return Attempt("GET", self._unit, kind, until, reading=True, harmless=True)

    def _readable(self, outcome: Replied, attempt: Attempt) -> int | None:
        stored = layout.parsed(outcome.value, self._namespace, attempt.action)
        layout.check(stored, self._namespace, attempt.action, reading=attempt.reading)
        return stored
