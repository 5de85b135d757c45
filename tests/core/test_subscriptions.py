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
        after_check: called after the next check that finds no waiter.
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


def test_a_waiter_that_joins_before_the_last_check_keeps_it_open() -> None:
    cache = SubscriptionCache(Recorded, idle=1)
    first = visit(cache, "first")
    found: list[Recorded] = []
    has_joined = threading.Event()

    def join(subscription: Recorded) -> None:
        subscription.waiters.add("other")
        has_joined.set()

    def enter() -> None:
        found.append(cache.enter(unit_named("first"), join))

    thread = threading.Thread(target=enter)

    def start() -> None:
        thread.start()
        assert has_joined.wait(10)

    def before_last_check() -> None:  # The first check chooses the subscription.
        first.before_check = start

    first.before_check = before_last_check
    second = visit(cache, "second")
    thread.join(10)
    assert found == [first]
    assert (first.state, second.state) == ("open", "open")
    assert first.waiters == {"other"}
    assert cache.find(unit_named("first")) is first


@pytest.mark.parametrize("moment", ["after the last check", "before it is closed"])
def test_a_waiter_that_joins_too_late_gets_a_new_one(moment: str) -> None:
    cache = SubscriptionCache(Recorded, idle=1)
    first = visit(cache, "first")
    found: list[Recorded] = []
    has_looked = threading.Event()

    def join(subscription: Recorded) -> None:
        subscription.waiters.add("other")
        has_looked.set()

    thread = threading.Thread(target=lambda: found.append(cache.enter(unit_named("first"), join)))

    def start() -> None:
        thread.start()
        has_looked.wait(0.2)  # It may wait for the end of this already.

    def before_last_check() -> None:  # The first check chooses the subscription.
        first.before_check = lambda: setattr(first, "after_check", start)

    if moment == "after the last check":
        first.before_check = before_last_check
    else:
        first.before_close = start
    visit(cache, "second")
    thread.join(10)
    [again] = found
    assert first.state == "closed"
    assert again is not first
    assert again.state == "open"
    assert again.waiters == {"other"}


def test_one_that_is_closed_before_a_waiter_joins_is_opened_anew() -> None:
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
