"""All a queue can do, while its workers and its server are killed: each task ends in one way.

`test_kills.py` has rounds of tasks alone, and more of them; the trouble is the same.
"""

import contextlib
import random
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
import redis

from conftest import Site
from faults.nemesis import Nemesis, kill, pause
from faults.proxy import Proxy
from faults.servers import Server
from queues.faults.round_workload import RoundWorkload
from queues.faults.test_kills import DRAINED_S, LEASE_S, LOST, SERVER_TROUBLE, TROUBLE_S
from queues.faults.worker_fleet import WorkerFleet

ROUNDS = 1


def test_each_task_ends_in_one_way(fresh_server: Server, tmp_path: Path, seed: int) -> None:
    for n in range(ROUNDS):
        one_round(fresh_server, tmp_path, seed + n)


@pytest.mark.long
@pytest.mark.parametrize("part", range(10))
def test_each_task_ends_in_one_way_in_two_hundred_rounds(
    fresh_server: Server, tmp_path: Path, seed: int, part: int
) -> None:
    for n in range(20):
        one_round(fresh_server, tmp_path, seed + part * 20 + n)


def one_round(server: Server, folder: Path, seed: int) -> None:
    """Make some seconds of faults, let the workers finish, and check everything."""
    with (
        Proxy(server.address) as proxy,
        WorkerFleet(server, folder, workers=2, lease=LEASE_S, url=proxy.url) as fleet,
    ):
        with ExitStack() as trouble:
            trouble.callback(proxy.heal)
            for nemesis in nemeses(fleet, seed):
                trouble.enter_context(nemesis)
            on_the_server = Nemesis(
                seed, [server], actions=SERVER_TROUBLE, every=(0.1, 0.5), lasting=(0, 0.2)
            )
            trouble.enter_context(on_the_server)
            workload = played(fleet, seed, proxy)
        audited(fleet, workload, seed)


@pytest.mark.parametrize(
    "site", ["cluster", pytest.param("restricted", marks=pytest.mark.long)], indirect=True
)
def test_each_task_ends_in_one_way_wherever_the_server_runs(
    site: Site, tmp_path: Path, seed: int
) -> None:
    with WorkerFleet(
        site.server, tmp_path, workers=2, lease=LEASE_S, url=site.url, namespace=site.namespace
    ) as fleet:
        with ExitStack() as trouble:
            for nemesis in nemeses(fleet, seed):
                trouble.enter_context(nemesis)
            workload = played(fleet, seed)
        audited(fleet, workload, seed)


def nemeses(fleet: WorkerFleet, seed: int) -> list[Nemesis]:
    return [
        Nemesis(
            seed + n,
            [worker],
            actions=(kill, pause),
            every=(0.1, 0.9),
            lasting=(0.02, 1.5 * LEASE_S),
        )
        for n, worker in enumerate(fleet.workers)
    ]


def played(fleet: WorkerFleet, seed: int, proxy: Proxy | None = None) -> RoundWorkload:
    """Make all kinds of calls for a time, and check now and then where the tasks are.

    Some replies are lost, where there is a proxy: of the producer, or of the workers.
    """
    choices = random.Random(seed)
    workload = RoundWorkload(fleet, seed)
    ends_at_s = time.monotonic() + TROUBLE_S
    n = 0
    while time.monotonic() < ends_at_s:
        n += 1
        if proxy is not None and choices.random() < LOST:
            proxy.drop_reply(match=b"EVALSHA")
        workload.act()
        if n % 10 == 0:
            with contextlib.suppress(redis.ConnectionError, redis.TimeoutError):
                fleet.places().check()
        time.sleep(choices.uniform(0, 0.02))
    return workload


def audited(fleet: WorkerFleet, workload: RoundWorkload, seed: int) -> None:
    """Let the workers finish and end, and check what is left."""
    fleet.drained(DRAINED_S)
    fleet.retire()
    ends = workload.settled()
    print(f"round with seed {seed}: {dict(ends)}")
    fleet.settled(cancelled=workload.cancelled)
