"""Holders that are interrupted by a signal, or release a lease several times at once."""

import asyncio
import gc
import secrets
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from conftest import Site
from faults.interrupts import interrupted_at, steps_of
from faults.servers import Server
from faults.waiting import eventually
from holdfast import AsyncHoldfast, Holdfast, Lease

pytestmark = pytest.mark.usefixtures("collects_clients")

FREE_S = 10.0
PATIENCE_S = 30.0


@pytest.fixture
def hf(standalone: Server) -> Iterator[Holdfast]:
    """Return a client with its own namespace."""
    with Holdfast.from_url(standalone.url, namespace=f"held-{secrets.token_hex(4)}") as client:
        yield client


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestWarning")
def test_an_interrupted_exit_releases_the_lock_while_a_variable_has_the_lease(
    hf: Holdfast,
) -> None:
    lock, variables, lines = hf.lock("l", lease=60.0), list[Lease](), set[str]()
    held = lock.hold(timeout=FREE_S)
    variables.append(held.__enter__())
    for step in range(1, steps_of(partial(held.__exit__, None, None, None)), 3):
        held = lock.hold(timeout=FREE_S)
        variables.append(held.__enter__())
        line = interrupted_at(step, partial(held.__exit__, None, None, None)) or ""
        lines.add(line)
        del held  # as the `with` statement does
        eventually(lambda: not hf.locks(), FREE_S, reason=f"it is free after {line}")
    assert len(lines) > 10


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestWarning")
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("stride", [4, pytest.param(1, marks=pytest.mark.long)])
def test_an_interrupted_block_releases_its_locks_while_the_traceback_is_kept(
    hf: Holdfast, stride: int, *, several: bool
) -> None:
    """Any line may be interrupted. Jupyter keeps the last traceback, and with it all frames."""
    kept: list[BaseException] = []

    def block() -> None:
        if several:
            with hf.lock_all(["l", "m"], lease=60.0).hold(timeout=FREE_S):
                pass
        else:
            with hf.lock("l", lease=60.0).hold(timeout=FREE_S):
                pass

    block()
    lines = set[str]()
    for step in range(1, steps_of(block) + 1, stride):
        line = interrupted_at(step, block, kept=kept) or ""
        lines.add(line)
        eventually(lambda: not hf.locks(), FREE_S, reason=f"it is free after {line}")
    assert len(lines) > 40 // stride


def test_an_interrupted_release_does_not_renew_the_lease(hf: Holdfast) -> None:
    """The lease ends although a variable has it, if the first line of `release` was reached."""
    lock = hf.lock("l", lease=1.0)
    lease = lock.acquire()
    count = steps_of(lease.release)
    for step in range(3, count, 5):
        lease = lock.acquire(timeout=FREE_S)
        line = interrupted_at(step, lease.release)
        eventually(lambda: lock.inspect().holder is None, FREE_S, reason=f"free after {line}")
    del lease


def test_an_incomplete_lease_is_collected_without_a_warning() -> None:
    """An exception may interrupt any line of its construction."""
    Lease.__new__(Lease)
    gc.collect()


def test_threads_release_a_lease_together(hf: Holdfast) -> None:
    with ThreadPoolExecutor(4) as threads:
        for _ in range(20):
            lease = hf.lock("l").acquire()
            list(threads.map(lambda release: release(), [lease.release] * 4))
            assert not hf.locks()


async def test_tasks_release_a_lease_together(site: Site) -> None:
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        for _ in range(20):
            lease = await hf.lock("l").acquire()
            await asyncio.gather(*(lease.release() for _ in range(4)))
            assert (await hf.lock("l").inspect()).holder is None


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestWarning")
def test_a_renewer_starts_again_after_an_interrupted_start(standalone: Server) -> None:
    clients = []

    def new() -> Holdfast:
        client = Holdfast.from_url(standalone.url, namespace=f"n-{secrets.token_hex(4)}")
        clients.append(client)
        return client

    def hold(client: Holdfast) -> None:
        with client.lock("first", lease=1.0).hold(timeout=FREE_S):
            pass

    count = steps_of(partial(hold, new()))
    leases = []
    for step in range(count // 3, count, 40):
        client = new()
        interrupted_at(step, partial(hold, client))
        leases.append(client.lock("second", lease=1.0).acquire())
    began = time.monotonic()
    eventually(lambda: time.monotonic() - began > 1.5, PATIENCE_S, reason="a lease has ended")
    assert [lease.lost for lease in leases] == [False] * len(leases)
    for lease in leases:
        lease.release()
    for client in clients:
        client.close()
