"""Durable calls share their waits, and do not delay other calls."""

import asyncio
import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from faults.clusters import Cluster
from faults.replicas import ReplicatedServer, can_sync
from faults.servers import Server
from faults.waiting import eventually, eventually_async
from holdfast import (
    AsyncHoldfast,
    Fsynced,
    Holdfast,
    OutcomeUnknown,
    Replicated,
    TaskRegistry,
    Unsupported,
)
from holdfast.core._sync.caller import Caller
from holdfast.core.names import Namespace
from holdfast.core.script import Script
from holdfast.core.transport.outcome import ErrorReply, Lost, Replied, outcome_of_all
from holdfast.core.transport.settings import Settings

PATIENT = Replicated(1, timeout=60.0)
INCREMENT = Script.of("test/incr", "#!lua\nreturn redis.call('INCR', KEYS[1])")


@pytest.fixture(scope="module")
def replicated() -> Iterator[ReplicatedServer]:
    with ReplicatedServer(1) as replicated:
        yield replicated


@pytest.fixture
def namespace() -> str:
    return f"test-{secrets.token_hex(4)}"


def waits(server: Server) -> int:
    return int(server.execute("INFO", "commandstats").get("cmdstat_wait", {}).get("calls", 0))


def is_waited_for(server: Server) -> bool:
    return int(server.execute("INFO", "clients")["blocked_clients"]) > 0


async def test_calls_of_one_turn_share_their_seal(
    replicated: ReplicatedServer, namespace: str
) -> None:
    async with AsyncHoldfast.from_url(
        replicated.url, namespace=namespace, durability=PATIENT
    ) as hf:
        hits = hf.counter("hits")
        await hits.add()
        before = waits(replicated.primary)
        await asyncio.gather(*(hits.add() for _ in range(100)))
        assert waits(replicated.primary) - before == 1
        replicated.replicas[0].pause()
        try:
            first = asyncio.create_task(hits.add())
            await eventually_async(lambda: is_waited_for(replicated.primary))
            others = [asyncio.create_task(hits.add()) for _ in range(100)]
            await asyncio.sleep(0)  # they are made now
        finally:
            replicated.replicas[0].resume()
        await asyncio.gather(first, *others)
        assert waits(replicated.primary) - before == 3
        assert await hits.total(60) == 202


def test_calls_that_travel_together_share_their_seal(
    replicated: ReplicatedServer, namespace: str
) -> None:
    with Holdfast.from_url(replicated.url, namespace=namespace, durability=PATIENT) as hf:
        hf.counter("hits").add()
        before = waits(replicated.primary)
        with hf.counter_buffer(flush_every=3600) as buffer:
            for n in range(50):
                buffer.add(f"n{n}")
        assert waits(replicated.primary) - before == 1


async def test_others_do_not_wait(replicated: ReplicatedServer, namespace: str) -> None:
    async with AsyncHoldfast.from_url(
        replicated.url, namespace=namespace, durability=PATIENT
    ) as hf:
        lease = await hf.lock("l", auto_renew=False).acquire()
        await hf.counter("hits").add(100)  # so that the server knows the script
        replicated.replicas[0].pause()
        try:
            slow = asyncio.create_task(hf.counter("hits").add(1))
            given_up = asyncio.create_task(hf.counter("hits").add(10))
            await eventually_async(lambda: is_waited_for(replicated.primary))
            assert await hf.counter("hits").total(60) == 111
            await lease.renew()
            given_up.cancel()
            with pytest.raises(asyncio.CancelledError):
                await given_up
            assert not slow.done()
        finally:
            replicated.replicas[0].resume()
        await slow
        await lease.release()


def test_threads_wait_beside_each_other(replicated: ReplicatedServer, namespace: str) -> None:
    with (
        Holdfast.from_url(replicated.url, namespace=namespace, durability=PATIENT) as hf,
        ThreadPoolExecutor(4) as pool,
    ):
        hf.counter("hits").add()
        replicated.replicas[0].pause()
        try:
            adding = [pool.submit(hf.counter("hits").add) for _ in range(4)]
            clients = replicated.primary.client()
            eventually(lambda: int(clients.info("clients")["blocked_clients"]) == 4)
            assert hf.counter("hits").total(60) == 5
        finally:
            replicated.replicas[0].resume()
        for each in adding:
            each.result(30)


@pytest.mark.parametrize("how", ["demoted", "killed", "cut"])
def test_what_ends_the_waiting_leaves_it_unknown(how: str, namespace: str) -> None:
    """A failover above all: the next primary may not have it."""
    with (
        ReplicatedServer(1) as replicated,
        Holdfast.from_url(replicated.url, namespace=namespace, durability=PATIENT) as hf,
        ThreadPoolExecutor(1) as pool,
    ):
        hf.counter("misses").add()
        replicated.replicas[0].pause()
        try:
            adding = pool.submit(hf.counter("misses").add)
            eventually(lambda: is_waited_for(replicated.primary))
            if how == "demoted":
                replicated.primary.execute("REPLICAOF", *replicated.replicas[0].address)
            elif how == "killed":
                replicated.primary.kill()
            else:
                replicated.primary.execute("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
            with pytest.raises(OutcomeUnknown) as unknown:
                adding.result(30)
            assert unknown.value.op_id
        finally:
            replicated.replicas[0].resume()


async def test_asyncio_notices_a_failover_as_well(namespace: str) -> None:
    with ReplicatedServer(1) as replicated:
        async with AsyncHoldfast.from_url(
            replicated.url, namespace=namespace, durability=PATIENT
        ) as hf:
            hits = hf.counter("hits")
            await hits.add()
            replicated.replicas[0].pause()
            try:
                adding = [asyncio.create_task(hits.add()) for _ in range(10)]
                await eventually_async(lambda: is_waited_for(replicated.primary))
                replicated.primary.execute("REPLICAOF", *replicated.replicas[0].address)
                ends = await asyncio.gather(*adding, return_exceptions=True)
            finally:
                replicated.replicas[0].resume()
            assert {type(end) for end in ends} == {OutcomeUnknown}


async def test_a_worker_that_could_not_settle_does_not_begin(
    standalone: Server, namespace: str
) -> None:
    hf = AsyncHoldfast.from_url(standalone.url, namespace=namespace, durability=Fsynced())
    with pytest.raises(Unsupported, match=r"appendonly is disabled|unknown command"):
        await hf.worker(TaskRegistry(), queues={"work": 1}).run(until_idle=True)
    await hf.close()


@pytest.mark.long
async def test_each_node_of_a_cluster_has_its_own_replicas(namespace: str) -> None:
    with Cluster(replicated=True) as replicated:
        durability = Replicated(1, timeout=1.0)
        async with AsyncHoldfast.from_url(
            replicated.url, namespace=namespace, durability=durability
        ) as hf:
            names = {}
            for n in range(30):
                slot = Namespace.of(namespace).unit("counter", f"n{n}").slot
                names.setdefault(replicated.owner(slot), f"n{n}")
            assert len(names) == 3
            for name in names.values():
                await hf.counter(name).add()
            silent = next(iter(names))
            replicated.followers[silent].pause()
            try:
                for primary, name in names.items():
                    if primary is silent:
                        with pytest.raises(OutcomeUnknown, match="0 of 1 replicas") as unknown:
                            await hf.counter(name).add()
                    else:
                        await hf.counter(name).add()
                    assert await hf.counter(name).total(60) == 2
            finally:
                replicated.followers[silent].resume()
            eventually(lambda: _confirms(silent))
            await unknown.value.repeat()
            assert await hf.counter(names[silent]).total(60) == 2


def _confirms(primary: Server) -> bool:
    """Return whether the replica has all data of its primary."""
    replication = primary.execute("INFO", "replication")
    offset = replication["master_repl_offset"]
    return bool(replication["slave0"]["offset"] >= offset)


def test_a_slot_that_moves_is_followed(standalone: Server) -> None:
    """A durable call is made where its slot is, or is arriving."""
    if not can_sync(standalone):
        pytest.skip("this server has no WAITAOF")
    with Cluster(3, "--appendonly", "yes") as cluster:
        settings = Settings.from_url(cluster.url)
        caller = Caller(replace(settings, durability=Fsynced(timeout=30.0)))
        unit = Namespace.of("moved").unit("counter", "a")
        assert caller.call(INCREMENT, unit, [unit.key("n")], []) == 1
        target = cluster.other_primary(unit.slot)
        with cluster.moving_slot(unit.slot, target):
            assert caller.call(INCREMENT, unit, [unit.key("new")], []) == 1
        assert caller.call(INCREMENT, unit, [unit.key("n")], []) == 2
        assert target.execute("GET", unit.key("new")) == b"1"
        caller.close()


def test_an_answer_counts_though_its_mark_was_refused() -> None:
    """The call was made: to make it again because the mark was redirected would double it."""
    asked = ("asked", 7000)
    moved = ErrorReply("MOVED 12 b:7001")
    assert outcome_of_all([1, b"OK"], asked, 1) == Replied(1)
    assert outcome_of_all([1, moved], asked, 1) == Lost(
        f"asked:7000: it was answered, then {moved}"
    )
    assert outcome_of_all([b"OK", 1, b"OK", moved], asked, 2).reason.endswith("b:7001")  # type: ignore[union-attr]
