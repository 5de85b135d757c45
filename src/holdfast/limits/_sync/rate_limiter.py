# Generated from _async/rate_limiter.py by tools/unasync.py: edit that, then run `make sync`.
"""`RateLimiter`: limits how much passes in any window, for all processes together."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from functools import partial, wraps
from time import monotonic
from typing import Any, Final, TypeVar, cast

from ...core._sync.caller import Argument, Caller
from ...core._sync.catalog import Catalog
from ...core.clock import Duration, not_early_ms, to_timeout_s
from ...core.concurrency._sync.cancellation import run_shielded
from ...core.concurrency._sync.primitives import Event
from ...core.concurrency._sync.user_calls import check_half
from ...core.names import Namespace, encode_name
from ...core.telemetry import during
from ...errors import RateLimited
from .. import keys
from ..costs import Costs, checked_costs
from ..decision import Decision
from ..definition import subject_unit
from ..limit import Limit
from .definitions import define
from .permit import Permit
from .reservations import Reservations
from .subject import Reservation, Subject

F = TypeVar("F", bound=Callable[..., Any])

_SUBJECTS: Final = 1000
"""Largest number of subjects for which a limiter keeps an object."""


class RateLimiter:
    """A rate limiter: in any window, no more passes than its limits allow.

    All processes with the same client settings and *name* share it. Each subject is counted
    separately.

    Made by `Holdfast.rate_limit`.

    Attributes:
        name: name of the limiter.
        subject: what is counted separately, such as one user; empty: everything.
        limits: the limits.
    """

    def __init__(
        self,
        caller: Caller,
        catalog: Catalog,
        namespace: Namespace,
        name: str,
        limits: tuple[Limit, ...],
        reservations: Reservations,
        subject: str = "",
    ) -> None:
        encode_name(name)
        self.name = name
        self.subject = subject
        self.limits = limits
        self._caller = caller
        self._catalog = catalog
        self._namespace = namespace
        self._unit = namespace.unit(keys.LIMITER, name)
        unit = subject_unit(namespace, name, subject)
        self._reservations = reservations
        self._subject = Subject(caller, unit, limits, reservations)
        self._subjects: OrderedDict[str, RateLimiter] = OrderedDict()
        self._usual: tuple[int, ...] | None = None  # the costs of a call that gives none

    def __repr__(self) -> str:
        return f"RateLimiter({self.name!r}, {self.subject!r})"

    def of(self, subject: str) -> RateLimiter:
        """Return the limiter for one *subject*, such as `user:7`, which is counted separately.

        The server stores a subject only while its latest costs still count. A subject of more than
        100 bytes is stored under its digest.

        Raises:
            TypeError: *subject* is not a str.
        """
        found = self._subjects.get(subject)
        if found is None:
            parts = (self._caller, self._catalog, self._namespace)
            found = RateLimiter(*parts, self.name, self.limits, self._reservations, subject)
            while len(self._subjects) >= _SUBJECTS:
                with suppress(KeyError):  # Another thread has removed the last one.
                    self._subjects.popitem(last=False)
            self._subjects[subject] = found
        return found

    def try_acquire(self, costs: Costs = None, *, op_id: str | None = None) -> Decision:
        """Charge *costs* if they fit now and no earlier call waits. Return the decision.

        Args:
            costs: name of a limit → cost; a number is the cost of `requests`. A limit without a
                name costs 1 if it is not given.
            op_id: see `OutcomeUnknown`.

        Raises:
            ValueError: a cost is missing, or above its limit.
        """
        charged = self._checked(costs)
        repeat = partial(self.try_acquire, costs)
        reservation = self._subject.reserve(charged, 0, op_id, repeat)
        if not self._catalog.has(self._unit):
            self._note()
        return reservation.decision

    def acquire(
        self,
        costs: Costs = None,
        *,
        timeout: Duration | None = None,
        op_id: str | None = None,
    ) -> Permit:
        """Charge *costs*, and wait until they fit. Callers proceed in the order of their calls.

        One call to the server reserves an instant, and the caller sleeps until then. If it is
        cancelled, the reservation is given back.

        Args:
            costs: see `try_acquire`.
            timeout: longest wait in seconds; None: no limit.
            op_id: see `OutcomeUnknown`.

        Raises:
            RateLimited: the wait would exceed *timeout*, or 100 years. This is known at once;
                nothing is charged.
            ValueError: a cost is missing, or above its limit.
        """
        charged = self._checked(costs)
        timeout_s = to_timeout_s(timeout)
        longest: Argument = "" if timeout_s is None else not_early_ms(timeout_s)
        repeat = partial(self.acquire, costs, timeout=timeout)
        reservation = self._subject.reserve(charged, longest, op_id, repeat)
        if not reservation.is_reserved:
            with during(self._caller.settings.telemetry, "wait", self._unit) as waiting:
                waiting.ended("timeout")
            raise RateLimited(str(self._subject.unit), reservation.wait_s, timeout_s or 0.0)
        try:
            if reservation.wait_s:
                self._wait(reservation)
            if not self._catalog.has(self._unit):
                self._note()
        except BaseException:
            undo = partial(self._subject.undo, reservation.mark, reservation.at_ms, charged)
            run_shielded(undo)
            raise
        return Permit(self._subject, reservation, charged, reservation.wait_s)

    def peek(self, costs: Costs = None) -> Decision:
        """Return the state of the limits, and whether *costs* would pass now. Charge nothing.

        Args:
            costs: see `try_acquire`. None: a cost of 1 for each limit.
        """
        one = tuple(1 for _ in self.limits)
        return self._subject.peek(one if costs is None else checked_costs(costs, self.limits))

    def reset(self) -> bool:
        """Forget what passed. Return whether there was anything.

        Callers that wait keep their instants, so for one period more than the limit may pass.
        """
        return self._subject.reset()

    def limited(
        self,
        *,
        subject: Callable[..., str] | None = None,
        costs: Callable[..., Costs] | Costs = None,
        timeout: Duration | None = None,
    ) -> Callable[[F], F]:
        """Return a decorator: each call of the function waits for `acquire` first.

        Args:
            subject: returns the subject from the arguments of the function; None: all calls count
                together.
            costs: what a call costs, see `try_acquire`, or a function that returns it from the
                arguments.
            timeout: see `acquire`; a call that would wait longer raises `RateLimited`.

        Raises:
            TypeError: the function is async and the client is blocking, or the other way round.
        """

        def decorate(function: F) -> F:
            check_half(function, repr(function))

            @wraps(function)
            def limited_function(*args: Any, **kwargs: Any) -> Any:
                limiter = self if subject is None else self.of(subject(*args, **kwargs))
                cost = costs(*args, **kwargs) if callable(costs) else costs
                limiter.acquire(cost, timeout=timeout)
                return function(*args, **kwargs)

            return cast(F, limited_function)

        return decorate

    def _checked(self, costs: Costs) -> tuple[int, ...]:
        """Return the cost for each limit. Raise as `checked_costs`."""
        if costs is not None:
            return checked_costs(costs, self.limits)
        if self._usual is None:
            self._usual = checked_costs(None, self.limits)
        return self._usual

    def _wait(self, reservation: Reservation) -> None:
        """Wait until the reserved instant, by the local monotonic clock.

        Raises:
            ClientClosed: the client is closed meanwhile.
        """
        until, closing = monotonic() + reservation.wait_s, Event()
        lifetime, unit = self._caller.lifetime, self._subject.unit
        with (
            during(self._caller.settings.telemetry, "wait", self._unit) as waiting,
            lifetime.set_on_close(closing),
        ):
            left_s = reservation.wait_s
            while left_s > 0 and not lifetime.closed:
                closing.wait(left_s)
                left_s = until - monotonic()
            lifetime.check(f"waiting for {unit}")
            waiting.ended("granted")

    def _note(self) -> None:
        """Store the definition, and record the limiter, so that operators can list it."""
        define(self._caller, self._unit, self.limits)
        self._catalog.note(self._unit)
