"""Semaphores and mutexes that an exception cannot leave acquired."""

import gc
import threading
import time
from collections.abc import Callable
from functools import partial

import pytest

from faults.interrupts import SOURCE, interrupted_at
from holdfast.core.runtime.exclusion import Mutex, Semaphore

PATIENCE_S = 20.0
ALL = SOURCE.removesuffix("src/holdfast")


def enter(mutex: Semaphore, inside: list[int]) -> None:
    with mutex:
        inside.append(1)
        inside.append(2)


def in_thread(function: Callable[[], object]) -> bool:
    """Return whether *function* ends in a thread of its own."""
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    return not thread.is_alive()


@pytest.mark.parametrize("limit", [1, 2])
def test_an_interrupted_thread_does_not_keep_others_out(limit: int) -> None:
    for step in range(1, 100):
        semaphore = Semaphore(limit)
        use = partial(enter, semaphore, [])
        for _ in range(limit):
            place = interrupted_at(step, use, files=ALL)
        assert in_thread(use), place
        use()
        assert not semaphore._entries
        if place is None:
            break
    assert step > 20


def test_an_interrupted_waiter_is_skipped() -> None:
    """It waits in a thread that raises in its wait, and lives on."""
    mutex, free, waits, over = Mutex(), threading.Event(), threading.Event(), threading.Event()

    def hold() -> None:
        with mutex:
            waits.set()
            free.wait(PATIENCE_S)

    def wait() -> None:
        waits.wait(PATIENCE_S)
        assert "_wait" in str(interrupted_at(17, lambda: enter(mutex, [])))
        waits.clear()
        over.wait(PATIENCE_S)

    threads = [threading.Thread(target=each, daemon=True) for each in (hold, wait)]
    for thread in threads:
        thread.start()
    until = time.monotonic() + PATIENCE_S
    while waits.is_set() and time.monotonic() < until:
        time.sleep(0.01)
    free.set()
    assert in_thread(lambda: enter(mutex, []))
    over.set()
    for thread in threads:
        thread.join(PATIENCE_S)


@pytest.mark.parametrize("limit", [1, 3])
def test_no_more_than_the_limit_are_inside(limit: int) -> None:
    """Eight threads, thousands of entries, some of them slow."""
    semaphore = Semaphore(limit)
    inside: list[int] = []
    most: list[int] = []

    def work(n: int) -> None:
        for i in range(200):
            with semaphore:
                inside.append(n)
                most.append(len(inside))
                if i % 50 == 0:
                    time.sleep(0.002)
                inside.remove(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert not inside
    assert max(most) <= limit
    assert len(most) == 1600


def test_a_handler_comes_in_where_its_own_thread_is() -> None:
    mutex = Mutex()

    def handler() -> None:
        with mutex:
            reached.append(1)

    reached: list[int] = []
    with mutex:
        handler()
        assert not in_thread_for(0.2, lambda: enter(mutex, []))
    assert reached
    assert in_thread(lambda: enter(mutex, []))


def in_thread_for(seconds: float, function: Callable[[], object]) -> bool:
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    thread.join(seconds)
    return not thread.is_alive()


def test_what_was_left_behind_keeps_nothing_alive() -> None:
    """An entry does not hold the variables of its function."""
    mutex = Mutex()

    class Thing:
        gone = False

        def __del__(self) -> None:
            Thing.gone = True

    def work() -> None:
        thing = Thing()
        with mutex:
            assert thing

    interrupted_at(5, work, files=__file__)
    assert mutex._entries
    gc.collect()
    assert Thing.gone
