"""A worker in the main thread, and a signal handler of the program that raises."""

import secrets
import signal
import sys
import threading
import time
from functools import partial
from itertools import count
from types import FrameType
from typing import NoReturn

import pytest

from faults.interrupts import Interrupt, handler, interrupted_at
from faults.servers import Server
from holdfast import Holdfast, TaskRegistry, Worker
from holdfast.core.concurrency.uninterrupted import ENDING_S

pytestmark = pytest.mark.usefixtures("collects_clients")

tasks = TaskRegistry()


@tasks.task(queue="q")
async def harmless() -> str:
    return "done"


class Alarm(BaseException):
    """What the handler raises."""


@pytest.mark.parametrize("error", [Alarm, TimeoutError, ValueError, KeyboardInterrupt, SystemExit])
def test_what_a_signal_handler_raises_ends_the_worker(
    standalone: Server, error: type[BaseException]
) -> None:
    def raises(_: int, __: FrameType | None) -> NoReturn:
        raise error("of the handler")

    before = signal.signal(signal.SIGALRM, raises)
    try:
        with Holdfast.from_url(standalone.url, namespace=f"n-{secrets.token_hex(4)}") as hf:
            worker = hf.worker(tasks)
            for delay_s in (0.001, 0.05, 0.3):
                with pytest.raises(error, match="of the handler"):
                    run_until_alarm(worker, delay_s)
            assert_serves(worker, hf)
    finally:
        signal.signal(signal.SIGALRM, before)


def run_until_alarm(worker: Worker, delay_s: float) -> None:
    """Run *worker*; no alarm comes after it has ended, such as while the client closes."""
    try:
        signal.setitimer(signal.ITIMER_REAL, delay_s)
        worker.run()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def assert_serves(worker: Worker, hf: Holdfast) -> None:
    handle = hf.enqueue(harmless.call())
    worker.run(until_idle=True)
    assert handle.result(timeout=0) == "done"


def test_an_exception_at_any_step_ends_the_worker_soon(standalone: Server) -> None:
    """Also before the worker has begun, and after it has ended; the next run serves."""
    with Holdfast.from_url(standalone.url, namespace=f"n-{secrets.token_hex(4)}") as hf:
        worker = hf.worker(tasks)
        for step in count(1):
            begun = time.monotonic()
            if not interrupted_at(step, partial(worker.run, until_idle=True)):
                break
            assert time.monotonic() - begun < ENDING_S / 2
            assert_serves(worker, hf)
        assert step > 50


class Timeout(Exception):
    """An error that `Thread.start` catches, and raises again."""


def test_an_exception_while_a_thread_starts_ends_the_worker(
    standalone: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At any step of `threading`; the thread that starts must not break either."""
    broken: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda each: broken.append(each.exc_value))
    with Holdfast.from_url(standalone.url, namespace=f"n-{secrets.token_hex(4)}") as hf:
        worker = hf.worker(tasks)
        run = partial(worker.run, until_idle=True)
        for step in count(1):
            if not interrupted_at(step, run, files=threading.__file__, raised=Timeout):
                break
        assert step > 5
        assert_serves(worker, hf)
    assert broken == []


def test_a_signal_that_does_not_wake_the_main_thread_ends_the_worker(standalone: Server) -> None:
    """One that comes just before the thread waits, or to another thread."""
    with (
        Holdfast.from_url(standalone.url, namespace=f"n-{secrets.token_hex(4)}") as hf,
        handler(Interrupt),
    ):
        worker = hf.worker(tasks)

        def disturb() -> None:
            ended.wait(0.3)
            signal.pthread_kill(threading.get_ident(), signal.SIGALRM)
            if not ended.wait(20):
                worker.stop(grace=0)  # the test fails, and does not hang

        ended = threading.Event()
        disturbing = threading.Thread(target=disturb)
        disturbing.start()
        begun = time.monotonic()
        with pytest.raises(Interrupt):
            worker.run()
        assert time.monotonic() - begun < 15
        ended.set()
        disturbing.join()
        assert_serves(worker, hf)
