"""Holders and waiters that crash or freeze: what they had is free in time, and no later."""

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
"""What a busy machine may add."""


@pytest.mark.parametrize("half", ["sync", "async"])
def test_a_killed_holders_place_is_free_within_its_lease_and_a_second(
    standalone: Server, tmp_path: Path, half: str
) -> None:
    lease_s = 2.0
    with Contest(
        standalone.url, tmp_path, 2, holders=1, hold_s=60, lease=lease_s, once=True, timeout=60
    ) as contest:
        eventually(lambda: len(contest.grants()) == 1)
        [first] = contest.grants()
        time.sleep(lease_s)  # it lives by its renewals
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


def strike(victims: list[Process], how: str) -> None:
    for victim in victims:
        getattr(victim, how)()


@pytest.mark.parametrize("how", ["kill", pytest.param("pause", marks=pytest.mark.long)])
def test_dead_waiters_cost_the_others_two_seconds_together(
    standalone: Server, tmp_path: Path, how: str
) -> None:
    """Sixteen of the line are killed, or frozen while their connections stay open."""
    contest = Contest(
        standalone.url, tmp_path, 8, holders=4, hold_s=0, once=True, timeout=60, lease=10.0
    )
    with Holdfast.from_url(standalone.url, namespace=contest.namespace) as hf:
        lease = hf.lock(KEY).acquire()
        with contest:
            eventually(lambda: len(hf.lock(KEY).inspect().waiters) == 32)
            strike(contest.processes[::2], how)
            released_at = time.monotonic()
            lease.release()
            alive = {process.name for process in contest.processes[1::2]}
            eventually(lambda: served(contest, alive) == 16)
            took_s = time.monotonic() - released_at
            strike(contest.processes[::2], "kill")
    assert_sound(standalone.url, contest.namespace)
    assert took_s <= 2 + SLACK_S


CROWD = """
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
def test_a_crowd_of_dead_waiters_costs_no_more(
    standalone: Server, kind: str, taken: int, many: int
) -> None:
    """One process that waits very often is killed; one place is given back, others may be taken."""
    namespace = f"crowd-{kind}-{os.getpid()}"
    crowd = Process.python("-c", CROWD, standalone.url, namespace, kind, str(many))
    line = f"{namespace}:{{{kind}:l}}:line"
    with Holdfast.from_url(standalone.url, namespace=namespace) as hf:
        held = hf.lock("l") if kind == "lock" else hf.semaphore("l", limit=taken)
        leases = [held.acquire() for _ in range(taken)]
        with crowd, ThreadPoolExecutor() as threads:
            eventually(lambda: standalone.execute("ZCARD", line) == many, 60)
            alive = threads.submit(held.acquire, timeout=60)
            eventually(lambda: standalone.execute("ZCARD", line) == many + 1)
            crowd.kill()
            released_at = time.monotonic()
            leases.pop().release()
            leases.append(alive.result())
            took_s = time.monotonic() - released_at
        for lease in leases:
            lease.release()
    assert_sound(standalone.url, namespace)
    assert took_s <= 2 + SLACK_S


def served(contest: Contest, names: set[str]) -> int:
    """How many holders of these processes had their turn."""
    return sum(op.process.split(":")[0] in names for op in contest.grants())


def test_a_frozen_holder_is_told_before_it_writes(standalone: Server, tmp_path: Path) -> None:
    """It wakes up after its lease: it knows at once, and what it writes all the same is refused."""
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
    """Whether a write was refused."""
    return any(op.kind == "write" and op.outcome == "fail" for op in contest.history())
