"""Subscriptions without waiters stay open, and one that is closed loses no waiter."""

import threading
from collections.abc import Callable

import pytest

from holdfast.core.names import Namespace, Unit
from holdfast.core.subscriptions import SubscriptionCache

NAMESPACE = Namespace.of("tests")


def nothing() -> None:
    """Do nothing."""


class Recorded:
    """A subscription that records its life.

    Attributes:
        before_check: called before the next check for waiters.
        after_check: called after the next check.
        before_close: called before it is closed.
    """

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.waiters: set[str] = set()
        self.state = "new"
        self.before_check: Callable[[], object] = nothing
        self.after_check: Callable[[], object] = nothing
        self.before_close: Callable[[], object] = nothing

    @property
    def empty(self) -> bool:
        before, self.before_check = self.before_check, nothing
        before()
        is_empty = not self.waiters
        after, self.after_check = self.after_check, nothing
        after()
        return is_empty

    def open(self) -> None:
        self.state = "open"

    def close(self) -> None:
        self.before_close()
        self.state = "closed"


def unit_named(name: str) -> Unit:
    return NAMESPACE.unit("lock", name)


def visit(cache: SubscriptionCache[Recorded], name: str) -> Recorded:
    """Enter and leave, as a waiter that waits briefly."""
    found = cache.enter(unit_named(name), lambda each: each.waiters.add("visitor"))
    cache.leave(unit_named(name), lambda each: each.waiters.discard("visitor"))
    return found


def test_the_one_that_is_idle_longest_is_closed() -> None:
    cache = SubscriptionCache(Recorded, idle=2)
    first, second = visit(cache, "first"), visit(cache, "second")
    assert visit(cache, "first") is first  # now the second one is idle longer
    third = visit(cache, "third")
    assert [each.state for each in (first, second, third)] == ["open", "closed", "open"]
    assert cache.find(unit_named("second")) is None


def test_one_with_a_waiter_stays_open() -> None:
    cache = SubscriptionCache(Recorded, idle=1)
    busy = cache.enter(unit_named("busy"), lambda each: each.waiters.add("waiter"))
    others = [visit(cache, name) for name in "abc"]
    assert busy.state == "open"
    assert [each.state for each in others] == ["closed", "closed", "open"]


@pytest.mark.parametrize("moment", ["before_check", "after_check", "before_close"])
def test_a_waiter_that_joins_while_it_is_closed_is_not_lost(moment: str) -> None:
    """It keeps the subscription open, or gets a new one."""
    cache = SubscriptionCache(Recorded, idle=1)
    first = visit(cache, "first")
    found: list[Recorded] = []
    has_joined = threading.Event()

    def join(subscription: Recorded) -> None:
        subscription.waiters.add("other")
        has_joined.set()

    thread = threading.Thread(target=lambda: found.append(cache.enter(unit_named("first"), join)))

    def start() -> None:
        thread.start()
        # Before the close it waits for the end of this, and joins then.
        has_joined.wait(0.2 if moment == "before_close" else 10)

    setattr(first, moment, start)
    second = visit(cache, "second")
    thread.join(10)
    [got] = found
    is_kept = moment == "before_check"
    assert (got is first, first.state) == ((True, "open") if is_kept else (False, "closed"))
    assert (got.state, got.waiters) == ("open", {"other"})
    assert cache.find(unit_named("first")) is got
    assert second.state == "open"


def test_one_that_is_closed_before_a_waiter_joins_is_opened_again() -> None:
    cache = SubscriptionCache(Recorded, idle=1)
    first = visit(cache, "first")

    def join(subscription: Recorded) -> None:
        if subscription is first:
            visit(cache, "second")  # which closes the first one
        subscription.waiters.add("late")

    again = cache.enter(unit_named("first"), join)
    assert first.state == "closed"
    assert (again.state, again.waiters) == ("open", {"late"})
    assert cache.find(unit_named("first")) is again


def test_subscriptions_with_waiters_cost_a_leaving_one_nothing() -> None:
    """Only idle ones are searched for the one to close."""
    cache = SubscriptionCache(Recorded, idle=1)
    busy = [
        cache.enter(unit_named(f"busy {n}"), lambda each: each.waiters.add("waiter"))
        for n in range(100)
    ]
    for each in busy:
        each.before_check = lambda: pytest.fail("a subscription with a waiter was checked")
    others = [visit(cache, name) for name in "abc"]
    assert [each.state for each in others] == ["closed", "closed", "open"]
