"""Threads that use the same lock, counter or worker at once, with and without the GIL."""

import secrets
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from faults.servers import Server
from holdfast import Holdfast, TaskRegistry, current_task

THREADS = 8


@pytest.fixture
def connect(standalone: Server) -> Callable[[], Holdfast]:
    """Return a function that opens a client of the namespace of this test."""
    url, namespace = f"{standalone.url}?socket_timeout=60", f"threads-{secrets.token_hex(4)}"
    return lambda: Holdfast.from_url(url, namespace=namespace)


@pytest.fixture
def hf(connect: Callable[[], Holdfast]) -> Iterator[Holdfast]:
    with connect() as hf:
        yield hf


def in_threads(work: Callable[[], object]) -> None:
    """Call *work* in all threads at once, and raise what it raises."""
    together = threading.Barrier(THREADS)

    def begin() -> None:
        together.wait()
        work()

    with ThreadPoolExecutor(THREADS) as pool:
        for each in [pool.submit(begin) for _ in range(THREADS)]:
            each.result()


def test_a_lock_lets_one_thread_in(hf: Holdfast) -> None:
    entered, inside = [], []

    def work() -> None:
        for _ in range(50):
            with hf.lock("shared").hold():
                inside.append(1)
                assert len(inside) == 1
                inside.pop()
                entered.append(1)

    in_threads(work)
    assert len(entered) == THREADS * 50


def test_a_counter_counts_each_add_while_it_is_redefined(
    hf: Holdfast, connect: Callable[[], Holdfast]
) -> None:
    counter, stopped = hf.counter("hits"), threading.Event()

    def redefine() -> None:
        with connect() as other:
            while not stopped.wait(0.002):
                for precisions in ((60, 3600), (1, 3600)):
                    other.counter("hits").redefine(precisions=precisions)

    def work() -> None:
        for _ in range(100):
            counter.add()

    thread = threading.Thread(target=redefine)
    thread.start()
    in_threads(work)
    stopped.set()
    thread.join()
    assert counter.total(86_400) == THREADS * 100


def test_a_worker_sends_the_events_of_all_its_threads(hf: Holdfast) -> None:
    """Most tasks end while the worker looks which of the others have events to send."""
    tasks = TaskRegistry()

    @tasks.task(queue="reports")
    def report(number: int) -> int:
        for part in range(3):
            current_task().emit([number, part])
        return number

    handles = hf.enqueue_many([report.call(n) for n in range(600)])
    hf.worker(tasks, concurrency=THREADS).run(until_idle=True)
    assert [handle.result(timeout=60) for handle in handles] == list(range(600))
    for n in (0, 300, 599):
        assert [event.data for event in handles[n].events()] == [[n, part] for part in range(3)]
