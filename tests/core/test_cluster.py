"""A cluster that rearranges itself: calls arrive, once each, whatever moves meanwhile."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from faults.clusters import Cluster, node_id
from faults.halves import HALVES, Half
from holdfast import (
    AsyncHoldfast,
    Call,
    Holdfast,
    ServerUnavailable,
    TaskRegistry,
    WorkerCannotStart,
)
from holdfast.core._async.caller import AsyncCaller
from holdfast.core._sync.caller import Caller
from holdfast.core.names import Namespace
from holdfast.core.script import Script
from holdfast.core.transport.settings import Settings

INCREMENT = Script.of("test/incr", "#!lua\nreturn redis.call('INCR', KEYS[1])")
BOTH = Script.of(
    "test/both", "#!lua\nredis.call('INCR', KEYS[1])\nreturn redis.call('INCR', KEYS[2])"
)

tasks = TaskRegistry()


@tasks.task(queue="moving")
async def nothing(n: int) -> None:
    del n


@pytest.fixture(scope="module")
def own_cluster() -> Iterator[Cluster]:
    with Cluster(3, "--cluster-node-timeout", "5000") as cluster:  # a busy machine is not dead
        yield cluster


def test_a_slot_that_moved_is_found(own_cluster: Cluster) -> None:
    caller = Caller(Settings.from_url(own_cluster.url))
    unit = Namespace.of("moved").unit("counter", "a")
    assert caller.call(INCREMENT, unit, [unit.key("n")], []) == 1
    for expected in (2, 3):
        own_cluster.move_slot(unit.slot, own_cluster.other_primary(unit.slot))
        assert caller.call(INCREMENT, unit, [unit.key("n")], []) == expected
    caller.close()


def test_a_slot_that_is_moving_is_asked_for_at_both_ends(own_cluster: Cluster) -> None:
    """ASK is followed for one request; keys on both sides (TRYAGAIN) are waited for."""
    caller = Caller(Settings.from_url(own_cluster.url))
    unit = Namespace.of("asked").unit("counter", "a")
    target = own_cluster.other_primary(unit.slot)
    assert caller.call(BOTH, unit, [unit.key("n"), unit.key("m")], []) == 1
    with own_cluster.moving_slot(unit.slot, target) as move:
        assert caller.call(BOTH, unit, [unit.key("n"), unit.key("m")], []) == 2
        assert caller.call(INCREMENT, unit, [unit.key("new")], []) == 1  # only the target has it
        move.migrate(limit=1)
        finisher = threading.Timer(0.3, move.migrate)
        finisher.start()
        assert caller.call(BOTH, unit, [unit.key("n"), unit.key("m")], []) == 3
        finisher.join()
    assert caller.call(BOTH, unit, [unit.key("n"), unit.key("m")], []) == 4
    caller.close()


async def test_a_loop_follows_a_slot_as_well(own_cluster: Cluster) -> None:
    caller = AsyncCaller(Settings.from_url(own_cluster.url))
    unit = Namespace.of("followed").unit("counter", "a")
    keys = [[unit.key(str(n))] for n in range(20)]

    async def increment() -> list[int]:
        return await asyncio.gather(*(caller.call(INCREMENT, unit, key, []) for key in keys))

    target = own_cluster.other_primary(unit.slot)
    with own_cluster.moving_slot(unit.slot, target) as move:
        assert await increment() == [1] * 20  # only the target may have new ones
        move.migrate()
        assert await increment() == [2] * 20
    assert await increment() == [3] * 20
    await caller.close()


async def test_tasks_run_once_while_their_queue_moves(own_cluster: Cluster) -> None:
    """A worker and a producer ride through a slot that wanders."""
    async with AsyncHoldfast.from_url(own_cluster.url, namespace="wander") as hf:
        slot = Namespace.of("wander").unit("queue", "moving").slot
        worker = hf.worker(tasks)
        running = asyncio.create_task(worker.run())
        for n in range(5):
            await hf.enqueue_many([nothing.call(i) for i in range(50)])
            target = own_cluster.other_primary(slot)
            await asyncio.to_thread(own_cluster.move_slot, slot, target)
            await hf.enqueue(nothing.call(n))
        worker.stop()
        await running
        await hf.worker(tasks).run(until_idle=True)
        stats = await hf.queue("moving").stats()
        assert (stats.ready, stats.delayed, stats.running, stats.dead) == (0, 0, 0, 0)


@pytest.mark.parametrize("name", HALVES)
def test_a_client_for_one_server_learns_that_it_is_a_cluster(
    own_cluster: Cluster, name: str
) -> None:
    host, port = own_cluster.nodes[0].address
    with closing(Half(name)) as half:
        hf = half.client(f"redis://{host}:{port}", "one")
        elsewhere = next(
            name
            for name in map(str, range(100))
            if own_cluster.owner(own_cluster.slot_of(f"{{counter:{name}}}")).port != port
        )
        expected = rf"{port}: it is a node of a cluster.*redis\+cluster://"
        with pytest.raises(ServerUnavailable, match=expected) as told:
            half.do(hf.counter(elsewhere).add(1))
        assert told.value.rejection == "settings"
        with pytest.raises(WorkerCannotStart, match=r"use a redis\+cluster:// URL") as ended:
            half.do(hf.worker(tasks, queues={str(n): 1 for n in range(50)}).run())
        assert "number of the database" not in str(ended.value)


@pytest.mark.parametrize("name", HALVES)
def test_calls_leave_a_node_that_does_not_answer(own_cluster: Cluster, name: str) -> None:
    """A machine that is off refuses no connection, so a call to it has no time left to ask."""
    hits = f"hits-{name}"
    slot = own_cluster.slot_of(f"{{counter:{hits}}}")
    old, new = own_cluster.owner(slot), own_cluster.other_primary(slot)
    with closing(Half(name)) as half:
        hf = half.client(f"{own_cluster.url}?socket_timeout=0.5", "s")
        half.do(hf.counter(hits).total(3600.0))
        old.pause()
        try:
            for node in own_cluster.nodes:
                if node is not old:
                    node.execute("CLUSTER", "SETSLOT", slot, "NODE", node_id(new))
            half.insist(lambda: hf.counter(hits).add(1))
        finally:
            old.resume()
            for key in old.execute("CLUSTER", "GETKEYSINSLOT", slot, 100):
                old.execute("DEL", key)  # what it was sent while it was paused
            old.execute("CLUSTER", "SETSLOT", slot, "NODE", node_id(new))
            own_cluster.wait_until_ok()


def test_units_spread_over_all_nodes(own_cluster: Cluster) -> None:
    with Holdfast.from_url(own_cluster.url, namespace="spread") as hf:
        for n in range(30):
            registry = TaskRegistry()
            task = registry.task(queue=f"q{n}")(lambda: None)
            hf.enqueue(task.call())
        assert sorted(hf.queues()) == sorted(f"q{n}" for n in range(30))
    owners = {
        own_cluster.owner(Namespace.of("spread").unit("queue", f"q{n}").slot) for n in range(30)
    }
    assert len(owners) == 3


def test_one_dead_node_does_not_stop_the_others(own_cluster: Cluster) -> None:
    """Units on the living nodes go on; those of the dead one are unavailable in time."""
    units = [Namespace.of("dead").unit("counter", str(n)) for n in range(30)]
    with Holdfast.from_url(f"{own_cluster.url}?socket_timeout=1", namespace="dead") as hf:
        caller = Caller(Settings.from_url(f"{own_cluster.url}?socket_timeout=1"))
        victim = own_cluster.owner(units[0].slot)
        by_owner = {unit: own_cluster.owner(unit.slot) for unit in units}
        for node in own_cluster.nodes:
            node.execute("CONFIG", "SET", "cluster-require-full-coverage", "no")
        victim.kill()
        try:
            for unit, owner in by_owner.items():
                if owner is not victim:
                    assert caller.call(INCREMENT, unit, [unit.key("n")], []) == 1
            with pytest.raises(ServerUnavailable):
                caller.call(INCREMENT, units[0], [units[0].key("n")], [])
        finally:
            victim.start()
            own_cluster.wait_until_ok()
        assert caller.call(INCREMENT, units[0], [units[0].key("n")], []) == 1
        caller.close()
        assert hf.namespace == "dead"


def test_a_silent_node_does_not_slow_down_enqueues_at_others(own_cluster: Cluster) -> None:
    namespace = Namespace.of("unlisted")
    silent = own_cluster.owner(namespace.unit("catalog", "queue").slot)
    calls = [
        Call(nothing.name, name, "medium", (1,))
        for name in map(str, range(30))
        if own_cluster.owner(namespace.unit("queue", name).slot) is not silent
    ]
    with own_cluster.proxied() as proxies:
        url = f"{own_cluster.url}?socket_timeout=2"
        with Holdfast.from_url(url, namespace="unlisted") as hf:
            hf.enqueue(calls[0])  # the nodes are known
            proxies[silent].black_hole()
            asked = proxies[silent].requests
            for call in calls[1:8] * 2:
                hf.enqueue(call)
            assert proxies[silent].requests - asked < 7  # half of what it takes to ask each time
            for call in calls[1:8]:
                assert hf.queue(call.queue).stats().ready == 2
