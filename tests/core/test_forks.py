"""Processes that fork: what parent and child share, and what the child starts again."""

import asyncio
import gc
import os
import weakref
from collections.abc import Callable

import pytest

from faults.servers import Server
from holdfast import Holdfast, TaskRegistry
from holdfast.core.concurrency._async.local_resource import LocalResource as AsyncLocal
from holdfast.core.concurrency._sync.local_resource import LocalResource
from holdfast.core.concurrency.fork_hooks import process_id, register_after_fork

# A fork starts afresh: the child opens its own connections, the parent's stay untouched

tasks = TaskRegistry()


@tasks.task(queue="forked")
def nothing(n: int) -> None:
    del n


def in_child(work: Callable[[], None]) -> int:
    """Run *work* in a forked child, and return its exit code."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 (the child must never return)
            os.write(2, repr(error).encode())
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_parent_and_child_use_one_client_without_mixing_replies(standalone: Server) -> None:
    with Holdfast.from_url(standalone.url, namespace="fork") as hf:
        hf.enqueue(nothing.call(0))

        def enqueue() -> None:
            for n in range(200):
                hf.enqueue(nothing.call(n))

        pids = []
        for _ in range(3):
            pid = os.fork()
            if pid == 0:
                try:
                    enqueue()
                finally:
                    os._exit(0)
            pids.append(pid)
        enqueue()
        codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]

        assert codes == [0, 0, 0]
        assert hf.queue("forked").stats().ready == 1 + 4 * 200
        standalone.execute("FLUSHALL")


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_child_that_ends_leaves_the_parents_connection_open(standalone: Server) -> None:
    """Closing the client in the child must not hang up on the parent."""
    with Holdfast.from_url(standalone.url, namespace="fork") as hf:
        hf.enqueue(nothing.call(0))
        connections = len(standalone.client().client_list())
        assert in_child(hf.close) == 0
        hf.enqueue(nothing.call(1))
        assert hf.queue("forked").stats().ready == 2
        assert len(standalone.client().client_list()) <= connections + 1
        standalone.execute("FLUSHALL")


# What is reset in a forked child


class Holder:
    """Holds something of its process."""

    def __init__(self) -> None:
        self.held = "something"

    def after_fork(self) -> None:
        self.held = ""


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_registered_objects_are_reset_in_a_child() -> None:
    holder, gone = Holder(), Holder()
    register_after_fork(holder)
    register_after_fork(gone)
    del gone
    gc.collect()
    child = os.fork()
    if child == 0:
        os._exit(0 if holder.held == "" else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert holder.held == "something"


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_what_is_of_a_process_is_another_in_its_child() -> None:
    loop = asyncio.new_event_loop()
    plain, of_loops = LocalResource(object), AsyncLocal(object)

    async def of_loop() -> object:
        return of_loops.get()

    def here() -> tuple[object, object]:
        return plain.get(), loop.run_until_complete(of_loop())

    before = here()
    child = os.fork()
    if child == 0:
        try:
            os._exit(sum(one is other for one, other in zip(before, here(), strict=True)))
        finally:
            os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert all(one is other for one, other in zip(before, here(), strict=True))
    loop.close()


def test_what_is_of_a_loop_goes_with_it() -> None:
    of_loops = AsyncLocal(Holder)

    async def here() -> weakref.ref[Holder]:
        return weakref.ref(of_loops.get())

    first = asyncio.run(here())
    assert first() is not None
    second = asyncio.run(here())
    gc.collect()
    assert first() is None
    assert second() is not None


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_child_knows_which_process_it_is() -> None:
    assert process_id() == os.getpid()
    child = os.fork()
    if child == 0:
        os._exit(0 if process_id() == os.getpid() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert process_id() == os.getpid()
