"""Keep subscriptions open after their last waiter has left.

A process that has waited for a unit often waits again, and opening a subscription takes a call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from .concurrency._sync.primitives import Mutex
from .names import Unit


class Subscription(Protocol):
    """A subscription to one unit. It is opened after its first waiter has joined."""

    @property
    def empty(self) -> bool:
        """Return whether the subscription has no waiter."""

    def open(self) -> None:
        """Open the subscription."""

    def close(self) -> None:
        """Close the subscription. It is not opened again."""


S = TypeVar("S", bound=Subscription)


class SubscriptionCache(Generic[S]):
    """The subscriptions of one process, by unit. All threads may use it.

    Args:
        made: returns a new subscription to a unit, not yet open.
        idle: number of subscriptions without waiters that stay open.
    """

    def __init__(self, made: Callable[[Unit], S], idle: int) -> None:
        self._made = made
        self._most_idle = idle
        self._subscriptions: dict[str, S] = {}  # by the prefix of the unit
        self._idle: dict[str, None] = {}  # the one that has been idle longest is first
        self._guard = Mutex()

    def find(self, unit: Unit) -> S | None:
        """Return the subscription to *unit*; None if none is open."""
        return self._subscriptions.get(unit.prefix) if self._subscriptions else None

    def enter(self, unit: Unit, join: Callable[[S], None]) -> S:
        """Call *join* with the subscription to *unit*, and return it. Open it if it is not open."""
        with self._guard:
            subscription = self._subscriptions.get(unit.prefix)
            if subscription is None:
                subscription = self._opened(unit, join)
            else:
                self._idle.pop(unit.prefix, None)
                join(subscription)
            return subscription

    def _opened(self, unit: Unit, join: Callable[[S], None]) -> S:
        """Open and store a new subscription. Close it if an exception interrupts this."""
        subscription = self._made(unit)
        try:
            join(subscription)
            subscription.open()
            self._subscriptions[unit.prefix] = subscription
        except BaseException:
            self._subscriptions.pop(unit.prefix, None)
            subscription.close()
            raise
        return subscription

    def leave(self, unit: Unit, depart: Callable[[S], None]) -> None:
        """Call *depart* with the subscription to *unit*.

        If the subscription has no waiter then, it becomes idle. If too many are idle, close the one
        that has been idle longest.
        """
        with self._guard:
            subscription = self._subscriptions.get(unit.prefix)
            if subscription is None:
                return
            depart(subscription)
            if not subscription.empty:
                return
            self._idle[unit.prefix] = None
            if len(self._idle) > self._most_idle:
                oldest = next(iter(self._idle))
                del self._idle[oldest]
                self._subscriptions.pop(oldest).close()

    def close(self) -> None:
        """Close all subscriptions, even those with waiters."""
        with self._guard:
            subscriptions, self._subscriptions, self._idle = self._subscriptions, {}, {}
            for subscription in subscriptions.values():
                subscription.close()
