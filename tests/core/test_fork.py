"""A fork starts afresh: the child opens its own connections, the parent's stay untouched."""

import os
from collections.abc import Callable

import pytest

from faults.servers import Server
from holdfast import Holdfast, TaskRegistry

tasks = TaskRegistry()


@tasks.task(queue="forked")
def nothing(n: int) -> None:
    del n


def in_child(work: Callable[[], None]) -> int:
    """The exit code of a forked child that does *work* and nothing else."""
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
