# Generated from test_seam_async.py by tools/unasync.py: edit that, then run `make sync`.
"""The seam: what both halves wait and clean up with."""

import threading
from typing import Any

import pytest

from faults.waiting import eventually
from holdfast.core.concurrency._sync.background_task import BackgroundTask
from holdfast.core.concurrency._sync.cancellation import CancelScope, shielded
from holdfast.core.concurrency._sync.primitives import AutoResetEvent, Event
from holdfast.core.concurrency._sync.user_calls import CallbackRunner, call_with_timeout, can_call


def test_a_nudge_is_lowered_by_the_wait_that_it_ends() -> None:
    nudge = AutoResetEvent()
    assert not nudge.wait(0.01)
    nudge.set()
    nudge.set()
    assert nudge.wait(None)
    assert not nudge.wait(0)
    nudge.set()
    assert nudge.wait(0)


def test_a_callback_runs_aside() -> None:
    """Soon, and not within the call that asks for it."""
    ran = Event()
    CallbackRunner().run(ran.set)
    assert ran.wait(5)


def test_a_body_that_is_not_revoked_is_left_alone() -> None:
    revocation = CancelScope()
    assert not revocation.end(None)
    revocation.cancel()
    assert not AutoResetEvent().wait(0.01)  # the task is not cancelled here
    assert not revocation.end(None)


def test_what_a_revoked_body_raises_is_its_own() -> None:
    assert not CancelScope().end(KeyError())


def answer(value: int) -> int:
    return value


def test_work_is_seen_through() -> None:
    assert shielded(answer(5)) == 5


def double(value: int) -> int:
    return 2 * value * (value // value)


def test_a_function_that_ends_in_time() -> None:
    assert call_with_timeout(20, double, 4, left=set()) == 8
    with pytest.raises(ZeroDivisionError):
        call_with_timeout(20, double, 0, left=set())
    assert call_with_timeout(20, answer, 5, left=set()) == 5
    assert can_call(answer)
    assert can_call(double)
    assert not can_call(5)


def test_a_function_that_takes_too_long() -> None:
    go, ended, left = threading.Event(), Event(), set[Any]()

    def slow() -> None:
        go.wait(60)
        ended.set()

    with pytest.raises(TimeoutError):
        call_with_timeout(0.05, slow, left=left)
    assert len(left) == 1
    go.set()
    assert ended.wait(20)
    eventually(lambda: not left)


def test_work_goes_on_while_another_caller_comes_later() -> None:
    begun, go_on = Event(), Event()

    def work(outcome: int) -> int:
        begun.set()
        go_on.wait(30)
        return 10 // outcome

    beside = BackgroundTask(work, 5)
    assert begun.wait(30)
    go_on.set()
    assert beside.outcome() == 2
    failing = BackgroundTask(work, 0)
    with pytest.raises(ZeroDivisionError):
        failing.outcome()
    unasked = BackgroundTask(work, 0)
    unasked.end()
