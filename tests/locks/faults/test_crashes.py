"""Holders and waiters that crash or freeze: their permits are free again in time."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from faults.processes import Process
from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast
from locks.faults.contest import Contest, granted
from locks.faults.holder import KEY
from soundness import assert_sound

SLACK_S = 10.0
"""Extra time for a busy machine."""


@pytest.mark.parametrize("half", ["sync", "async"])
def test_the_permit_of_a_killed_holder_is_free_after_its_lease_and_a_second(
    standalone: Server, tmp_path: Path, half: str
) -> None:
    lease_s = 2.0
    with Contest(
        standalone.url, tmp_path, 2, holders=1, hold_s=60, lease=lease_s, once=True, timeout=60
    ) as contest:
        eventually(lambda: len(contest.grants()) == 1)
        [first] = contest.grants()
        time.sleep(lease_s)  # the lease is renewed
        holder = next(p for p in contest.processes if first.process.startswith(p.name))
        killed_ns = time.monotonic_ns()
        holder.kill()
        eventually(lambda: len(contest.grants()) == 2)
        [_, second] = contest.grants()
        assert (second.return_ns - killed_ns) / 1e9 <= lease_s + 1 + SLACK_S


def test_all_holders_of_a_semaphore_killed_at_once(standalone: Server, tmp_path: Path) -> None:
    lease_s = 2.0
    with (
        Contest(
            standalone.url,
            tmp_path,
            3,
            kind="semaphore",
            limit=3,
            holders=1,
            hold_s=60,
            lease=lease_s,
            once=True,
        ) as contest,
        Holdfast.from_url(standalone.url, namespace=contest.namespace) as hf,
    ):
        eventually(lambda: len(contest.grants()) == 3)
        killed_at = time.monotonic()
        for process in contest.processes:
            process.kill()
        leases = [hf.semaphore(KEY).acquire(timeout=60) for _ in range(3)]
        assert time.monotonic() - killed_at <= lease_s + 1 + SLACK_S
        for lease in leases:
            lease.release()
    assert_sound(standalone.url, contest.namespace)


def hit(processes: list[Process], how: str) -> None:
    for process in processes:
        getattr(process, how)()


@pytest.mark.parametrize("how", ["kill", pytest.param("pause", marks=pytest.mark.long)])
def test_all_dead_waiters_together_cost_two_seconds(
    standalone: Server, tmp_path: Path, how: str
) -> None:
    """Sixteen of 32 waiters are killed, or frozen with open connections."""
    contest = Contest(
        standalone.url, tmp_path, 8, holders=4, hold_s=0, once=True, timeout=60, lease=10.0
    )
    with Holdfast.from_url(standalone.url, namespace=contest.namespace) as hf:
        lease = hf.lock(KEY).acquire()
        with contest:
            eventually(lambda: len(hf.lock(KEY).inspect().waiters) == 32)
            hit(contest.processes[::2], how)
            released_at = time.monotonic()
            lease.release()
            alive = {process.name for process in contest.processes[1::2]}
            eventually(lambda: served(contest, alive) == 16)
            took_s = time.monotonic() - released_at
            hit(contest.processes[::2], "kill")
    assert_sound(standalone.url, contest.namespace)
    assert took_s <= 2 + SLACK_S


MANY_WAITERS = """
import asyncio, sys
from holdfast import AsyncHoldfast

async def main(url, namespace, kind, many):
    async with AsyncHoldfast.from_url(url, namespace=namespace) as hf:
        await asyncio.gather(*(getattr(hf, kind)("l").acquire() for _ in range(int(many))))

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("kind", "taken", "many"),
    [pytest.param("lock", 1, 2_500, marks=pytest.mark.long), ("semaphore", 2, 150)],
)
def test_many_dead_waiters_of_one_process_cost_two_seconds(
    standalone: Server, kind: str, taken: int, many: int
) -> None:
    """A process with many waiters is killed, then one permit is released."""
    namespace = f"waiters-{kind}-{os.getpid()}"
    waiters = Process.python("-c", MANY_WAITERS, standalone.url, namespace, kind, str(many))
    queue = f"{namespace}:{{{kind}:l}}:wait_queue"
    with Holdfast.from_url(standalone.url, namespace=namespace) as hf:
        held = hf.lock("l") if kind == "lock" else hf.semaphore("l", limit=taken)
        leases = [held.acquire() for _ in range(taken)]
        with waiters, ThreadPoolExecutor() as threads:
            eventually(lambda: standalone.execute("ZCARD", queue) == many, 60)
            alive = threads.submit(held.acquire, timeout=60)
            eventually(lambda: standalone.execute("ZCARD", queue) == many + 1)
            waiters.kill()
            released_at = time.monotonic()
            leases.pop().release()
            leases.append(alive.result())
            took_s = time.monotonic() - released_at
        for lease in leases:
            lease.release()
    assert_sound(standalone.url, namespace)
    assert took_s <= 2 + SLACK_S


def served(contest: Contest, names: set[str]) -> int:
    """Return how many permits the holders of these processes got."""
    return sum(op.process.split(":")[0] in names for op in contest.grants())


def test_a_frozen_holder_notices_the_loss_before_it_writes(
    standalone: Server, tmp_path: Path
) -> None:
    """It resumes after its lease has ended: it sees that at once, and its writes are refused."""
    with (
        Contest(standalone.url, tmp_path, 1, holders=1, hold_s=60, lease=2.0, once=True) as contest,
        Holdfast.from_url(standalone.url, namespace=contest.namespace) as hf,
    ):
        [holder] = contest.processes
        eventually(lambda: len(contest.grants()) == 1)
        holder.pause()
        with hf.lock(KEY, lease=60.0).hold(timeout=60) as lease:
            hf.fenced(KEY).set("successor", lease.fence)
            holder.resume()
            eventually(lambda: any(op.kind == "lost" for op in contest.history()) or stale(contest))
            assert holder.wait(60) == 0
            assert f"{lease.holder} holds it now" in holder.output or "StaleFence" in holder.output
            assert hf.fenced(KEY).get() == "successor"
    assert len(granted(contest.history())) == 1


def stale(contest: Contest) -> bool:
    """Return whether a write was refused."""
    return any(op.kind == "write" and op.outcome == "fail" for op in contest.history())
