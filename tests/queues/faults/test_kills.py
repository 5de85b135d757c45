"""Workers are killed and paused, the server restarted, replies lost: no task is lost or doubled."""

import contextlib
import os
import random
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
import redis

from faults.nemesis import Nemesis, kill, pause, restart
from faults.proxy import Proxy
from faults.servers import Server
from faults.waiting import eventually
from queues.faults import chores
from queues.faults.worker_fleet import WorkerFleet, is_at_work
from soundness import assert_sound

LEASE_S = 1.0
TROUBLE_S = 1.8  # of a round: how long tasks are enqueued and victims struck
LOST = 0.15  # of the replies to an enqueue, or as many of others
DRAINED_S = 60.0  # some leases and retries; the rest is for slow machines


def flush_scripts(server: Server, _: float) -> None:
    """Let the server forget every script."""
    _run(server, "SCRIPT", "FLUSH")


def drop_clients(server: Server, _: float) -> None:
    """Close the connections of all clients."""
    _run(server, "CLIENT", "KILL", "TYPE", "normal")


def drop_subscribers(server: Server, _: float) -> None:
    """Close the connections over which workers are notified."""
    _run(server, "CLIENT", "KILL", "TYPE", "pubsub")


def _run(server: Server, *command: str) -> None:
    with contextlib.suppress(redis.ConnectionError):  # its own connection may be among the closed
        server.execute(*command)


SERVER_TROUBLE = (flush_scripts, drop_clients, drop_subscribers, restart, kill)


@pytest.mark.parametrize("rounds", [1, pytest.param(3, marks=pytest.mark.long)])
def test_no_task_is_lost_in_rounds_of_kills(
    fresh_server: Server, tmp_path: Path, seed: int, rounds: int
) -> None:
    for n in range(rounds):
        one_round(fresh_server, tmp_path, seed + n)


@pytest.mark.long
@pytest.mark.parametrize("part", range(10))
def test_no_task_is_lost_in_two_hundred_rounds_of_kills(
    fresh_server: Server, tmp_path: Path, seed: int, part: int
) -> None:
    for n in range(20):
        one_round(fresh_server, tmp_path, seed + part * 20 + n)


def one_round(server: Server, folder: Path, seed: int) -> None:
    """Make some seconds of faults, let the workers finish, and check everything."""
    choices = random.Random(seed)
    with (
        Proxy(server.address) as proxy,
        WorkerFleet(server, folder, workers=2 + seed % 2, lease=LEASE_S, url=proxy.url) as fleet,
    ):
        with ExitStack() as trouble:
            trouble.callback(proxy.heal)
            for n, worker in enumerate(fleet.workers):
                nemesis = Nemesis(
                    seed + n,
                    [worker],
                    actions=(kill, pause),
                    every=(0.1, 0.9),
                    lasting=(0.02, 1.5 * LEASE_S),
                )
                trouble.enter_context(nemesis)
            nemesis = Nemesis(
                seed, [server], actions=SERVER_TROUBLE, every=(0.1, 0.5), lasting=(0, 0.2)
            )
            trouble.enter_context(nemesis)
            produce(fleet, proxy, choices)
        fleet.drained(DRAINED_S)
        fleet.retire()
        assert_sound(server.url, fleet.namespace)
        print(f"round with seed {seed}: {fleet.settled()}, {len(fleet.dead())} dead")


def produce(fleet: WorkerFleet, proxy: Proxy, choices: random.Random) -> None:
    """Enqueue tasks of all kinds for a time, and look now and then where they all are.

    Some replies are lost: the producer's, or those to steps and renewals of the workers.
    """
    ends_at_s = time.monotonic() + TROUBLE_S
    n = 0
    while time.monotonic() < ends_at_s:
        n += 1
        if choices.random() < LOST:
            proxy.drop_reply(match=b"EVALSHA")
        match choices.randrange(12):
            case 0:
                fleet.enqueue(chores.hopeless.call(f"hopeless-{n}"))
            case 1 | 2:
                fleet.enqueue(chores.fails_at_first.call(f"fails-{n}", choices.randint(1, 2)))
            case 3:
                fleet.enqueue(chores.plain.call(f"many-{n}"), many=choices.randint(2, 20))
            case 4:
                fleet.enqueue(chores.plain.call(f"delayed-{n}").options(delay=choices.random()))
            case 5:
                fleet.enqueue(chores.on_the_loop.call(f"long-{n}", choices.uniform(0, 0.5)))
            case 6 | 7 | 8:
                fleet.enqueue(chores.on_the_loop.call(f"loop-{n}", choices.uniform(0, 0.02)))
            case _:
                fleet.enqueue(chores.plain.call(f"plain-{n}", choices.uniform(0, 0.02)))
        if n % 10 == 0:
            with contextlib.suppress(redis.ConnectionError, redis.TimeoutError):
                fleet.places().check()
        time.sleep(choices.uniform(0, 0.02))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("task", "meanwhile"),
    [
        ("waits", "runs"),
        pytest.param("waits", "has ended", marks=pytest.mark.long),
        pytest.param("waits_on_the_loop", "runs", marks=pytest.mark.long),
        ("waits_on_the_loop", "has ended"),
    ],
)
def test_a_worker_that_was_believed_dead_cannot_settle(
    standalone: Server, tmp_path: Path, task: str, meanwhile: str
) -> None:
    """It was stopped for longer than its lease; the task runs elsewhere, or is done."""
    gate = tmp_path / "gate"
    with WorkerFleet(standalone, tmp_path, workers=2, lease=3.0) as fleet:
        late, other = fleet.workers
        other.stop()
        fleet.enqueue(getattr(chores, task).call("sold", str(gate)))
        eventually(lambda: fleet.runs("sold"))
        late.pause()
        other.start()
        eventually(lambda: len(fleet.runs("sold")) == 2)
        if meanwhile == "has ended":
            gate.touch()
            fleet.drained(60)
        before = fleet.places()
        late.resume()
        # Where the gate is open, its task may end before anybody can stop it.
        words = (
            ("it is stopped", "does not count") if meanwhile == "has ended" else ("it is stopped",)
        )
        eventually(lambda: any(word in late.output for word in words))
        assert fleet.places() == before
        gate.touch()
        fleet.drained(60)
        eventually(lambda: is_at_work(other))
        fleet.retire()
        assert "does not count" not in other.output
        assert len(fleet.runs("sold")) == 2
        fleet.settled()


@pytest.mark.parametrize("concurrency", [2, pytest.param(8, marks=pytest.mark.long)])
def test_a_worker_that_has_to_stop_finishes_what_runs(
    standalone: Server, tmp_path: Path, concurrency: int
) -> None:
    """Whether or not it has places left; then it ends, and has spent no time on waiting."""
    before = os.times()
    with WorkerFleet(standalone, tmp_path, workers=1, lease=60.0, concurrency=concurrency) as fleet:
        fleet.enqueue(chores.on_the_loop.call("on the loop", 3.0))
        fleet.enqueue(chores.plain.call("in a thread", 3.0))
        eventually(lambda: fleet.runs("on the loop") and fleet.runs("in a thread"))
        time.sleep(2.0)
        fleet.retire()
        fleet.settled()
        assert fleet.completed() == {"on the loop", "in a thread"}
        assert len(fleet.history()) == 4
    after = os.times()
    spent_s = after.children_user + after.children_system
    spent_s -= before.children_user + before.children_system
    assert spent_s < 2.0  # most of it to start; a worker that never sleeps spends 3 s more
