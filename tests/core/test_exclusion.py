"""Mutexes that signal handlers may interrupt and enter again."""

import gc
import secrets
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial

import pytest

from core.interpreter_lock import needs_gil
from faults.clusters import Cluster
from faults.interrupts import SOURCE, interrupted_at
from faults.proxy import Proxy
from faults.waiting import eventually
from holdfast.core._sync.caller import Caller
from holdfast.core.concurrency import semaphore as semaphore_module
from holdfast.core.concurrency.finalized_exit import FinalizedExit
from holdfast.core.concurrency.semaphore import LocalSemaphore, Mutex
from holdfast.core.names import Namespace
from holdfast.core.script import Script
from holdfast.core.transport.settings import Settings

# Semaphores and mutexes that an exception cannot leave acquired

PATIENCE_S = 20.0
ALL = SOURCE.removesuffix("src/holdfast")


def enter(mutex: LocalSemaphore, inside: list[int]) -> None:
    with mutex:
        inside.append(1)
        inside.append(2)


def in_thread(function: Callable[[], object]) -> bool:
    """Return whether *function* ends in a thread of its own."""
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    return not thread.is_alive()


def all_are_inside(semaphore: LocalSemaphore, count: int) -> bool:
    """Return whether *count* threads can be inside at the same time."""
    meeting = threading.Barrier(count)

    def meet() -> None:
        with semaphore:
            meeting.wait(PATIENCE_S)

    with ThreadPoolExecutor(count) as pool:
        met = [pool.submit(meet) for _ in range(count)]
    return not any(each.exception() for each in met)


class WithFinalizer(LocalSemaphore):
    """As on free-threaded Python. It needs no stack, even while a traceback keeps all frames."""

    __exit__ = FinalizedExit(LocalSemaphore._leave)  # type: ignore[assignment]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("kind", [LocalSemaphore, WithFinalizer])
@pytest.mark.parametrize("limit", [1, 2])
def test_an_interrupted_thread_does_not_keep_others_out(
    limit: int, kind: type[LocalSemaphore], monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind is WithFinalizer:
        monkeypatch.setattr(semaphore_module, "frame_of", lambda _thread: None)
    kept: list[BaseException] | None = [] if kind is WithFinalizer else None
    for step in range(1, 100):
        semaphore = kind(limit)
        use = partial(enter, semaphore, [])
        for _ in range(limit):
            place = interrupted_at(step, use, files=ALL, kept=kept)
        assert in_thread(use), place
        use()
        # One entry of two may be left, and delays no thread. It is removed when a thread waits.
        assert all_are_inside(semaphore, limit), place
        assert not semaphore._entries
        if place is None:
            break
    assert step > 20


@needs_gil  # The steps have other numbers.
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
    semaphore = LocalSemaphore(limit)
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


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let waiters look for ended functions all the time, and threads take turns often."""
    monkeypatch.setattr(semaphore_module, "_CHECK_S", 0.001)
    interval_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval_s)


class LeavingTogether(LocalSemaphore):
    """A semaphore of two places. The first two threads wake others only when both have left."""

    def __init__(self) -> None:
        super().__init__(2)
        self.both_left = threading.Barrier(2)

    def _call_next(self) -> None:
        if len(self._entries) > 1:
            with suppress(threading.BrokenBarrierError):
                self.both_left.wait(PATIENCE_S)
        super()._call_next()


def test_two_that_leave_together_wake_two_waiters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(semaphore_module, "_CHECK_S", 2 * PATIENCE_S)  # no waiter helps itself
    semaphore, leave, inside = LeavingTogether(), threading.Event(), list[int]()

    def hold(n: int) -> None:
        with semaphore:
            inside.append(n)
            leave.wait(PATIENCE_S)

    with ThreadPoolExecutor(4) as pool:
        held = [pool.submit(hold, n) for n in range(2)]
        eventually(lambda: len(inside) == 2, PATIENCE_S)
        held += [pool.submit(hold, n) for n in range(2, 4)]
        eventually(lambda: len(semaphore._entries) == 4, PATIENCE_S)
        leave.set()
        assert [each.result(PATIENCE_S / 2) for each in held] == [None] * 4


@pytest.mark.usefixtures("impatient")
def test_no_living_waiter_is_taken_for_an_ended_one() -> None:
    """Its stack is read while it runs: it leaves generators, which then have no caller."""
    mutex, inside, most = Mutex(), [], []

    def work() -> None:
        for _ in range(20):
            with mutex:
                inside.append(1)
                most.append(len(inside))
                time.sleep(0.0005)
                any(number < 0 for number in range(50))
                inside.pop()

    threads = [threading.Thread(target=work, daemon=True) for _ in range(16)]
    for thread in threads:
        thread.start()
    until = time.monotonic() + PATIENCE_S
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    assert not [thread for thread in threads if thread.is_alive()]
    assert max(most) == 1


def test_a_stack_that_ends_in_a_generator_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = semaphore_module._SemaphoreEntry(sys._getframe())
    suspended = (number for number in range(2))
    next(suspended)
    for frame, has_ended in ((suspended.gi_frame, False), (sys._getframe(), False), (None, True)):
        frames = {threading.get_ident(): frame} if frame else {}
        monkeypatch.setattr(sys, "_current_frames", lambda frames=frames: frames)
        assert entry.has_ended() == has_ended


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


@needs_gil  # Nothing is left behind.
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


# A signal handler that calls in the middle of a call of the same thread

ECHO = Script.of("test/echo", "#!lua flags=no-writes\nreturn ARGV[1]")


INCREMENT = Script.of("test/increment", "#!lua\nreturn redis.call('INCR', KEYS[1])")


@contextmanager
def interrupted(when: Callable[[], object], handler: Callable[[], object]) -> Iterator[None]:
    """Once *when* is true, a signal comes to this thread, and its *handler* runs."""

    main = threading.get_ident()

    def interrupt() -> None:
        eventually(when)
        signal.pthread_kill(main, signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, lambda *_: handler())
    try:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(interrupt)
            yield
    finally:
        signal.signal(signal.SIGUSR1, before)


@pytest.fixture
def caller(proxy: Proxy) -> Iterator[Caller]:
    caller = Caller(Settings.from_url(f"{proxy.url}?socket_timeout=60"))
    yield caller
    caller.close()


def test_each_call_gets_its_own_reply(proxy: Proxy, caller: Caller) -> None:
    unit = Namespace.of(secrets.token_hex(4)).unit("echo", "x")
    received: list[bytes] = []

    def echo(word: str) -> None:
        received.append(caller.call(ECHO, unit, [unit.key("k")], [word]))

    echo("first")
    proxy.delay(0.5)
    asked = proxy.requests
    with interrupted(lambda: proxy.requests > asked, lambda: echo("handler")):
        echo("program")
    assert received == [b"first", b"handler", b"program"]
    proxy.heal()
    connections = proxy.connections
    echo("after")
    assert received[-1] == b"after"
    assert proxy.connections == connections


@pytest.mark.timeout(60)
def test_a_handler_may_look_for_the_servers_that_the_program_looks_for(cluster: Cluster) -> None:
    unit = Namespace.of(secrets.token_hex(4)).unit("counter", "x")
    counted: list[int] = []
    with Proxy(cluster.nodes[0].address) as proxy:
        caller = Caller(Settings.from_url(f"redis+cluster://127.0.0.1:{proxy.port}"))

        def count() -> None:
            counted.append(caller.call(INCREMENT, unit, [unit.key("k")], []))

        proxy.delay(0.2)
        with interrupted(lambda: proxy.commands["CLUSTER"], count):
            count()
        caller.close()
    assert sorted(counted) == [1, 2]
