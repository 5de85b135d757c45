"""The check of the layout under concurrency, in outages, and without the right to it."""

import asyncio
import threading
from collections.abc import Iterator
from math import inf
from time import monotonic

import pytest

from faults.clusters import Cluster
from faults.servers import Server
from faults.waiting import eventually_async
from holdfast import (
    AsyncHoldfast,
    Holdfast,
    ServerUnavailable,
    UnsupportedLayout,
    acl_rule,
)
from holdfast.core import layout
from holdfast.core._async.layout_check import AsyncLayoutCheck
from holdfast.core.names import Namespace, Unit
from holdfast.core.script import Script

INCREMENT = Script.of("test/incr", "#!lua\nreturn redis.call('INCR', KEYS[1])")
TIMEOUT_S, HOUR_S = 0.5, 3_600.0


def version_key(namespace: str) -> str:
    return layout.version(layout.unit_of(Namespace.of(namespace)))


async def increment(hf: AsyncHoldfast, unit: Unit) -> int:
    value: int = await hf._resources.caller.call(INCREMENT, unit, [unit.key("n")], [])
    return value


def check_of(hf: AsyncHoldfast) -> AsyncLayoutCheck:
    return hf._resources.caller.sessions.get().layout


def make_due(hf: AsyncHoldfast) -> AsyncLayoutCheck:
    check = check_of(hf)
    assert check.due_at > -inf
    check.due_at = check.reads_due_at = 0.0
    return check


@pytest.fixture(scope="module")
def own_cluster() -> Iterator[Cluster]:
    with Cluster(3, "--cluster-node-timeout", "60000") as cluster:  # a silent node stays primary
        yield cluster


def unit_apart(cluster: Cluster, namespace: str) -> tuple[Unit, Server]:
    """Return a unit, and the node that has the version but not this unit."""
    space = Namespace.of(namespace)
    node = cluster.owner(layout.unit_of(space).slot)
    units = (space.unit("counter", str(n)) for n in range(100))
    return next(unit for unit in units if cluster.owner(unit.slot) is not node), node


def test_two_first_clients_agree_about_the_version(standalone: Server) -> None:
    """The client that stores its version first wins; the other client writes nothing."""
    redis = standalone.client()
    for n in range(40):
        namespace = f"first {n}"
        start = threading.Barrier(2)

        def newer(namespace: str = namespace, start: threading.Barrier = start) -> None:
            start.wait()
            redis.set(version_key(namespace), 2, nx=True)

        thread = threading.Thread(target=newer)
        with Holdfast.from_url(standalone.url, namespace=namespace) as hf:
            hf.servers()  # connects
            thread.start()
            start.wait()
            try:
                hf.counter("visits").add(1)
            except UnsupportedLayout:
                assert not redis.exists(f"{namespace}:{{counter:visits}}:value")
                assert redis.get(version_key(namespace)) == b"2"
            else:
                assert redis.get(version_key(namespace)) == b"1"
            thread.join()


async def test_a_version_between_the_read_and_the_write_is_noticed(standalone: Server) -> None:
    """Another client may store its version after this one has found none."""
    async with AsyncHoldfast.from_url(standalone.url, namespace="between") as hf:
        check, store = check_of(hf), AsyncLayoutCheck._store

        async def late(*args: object) -> object:
            standalone.execute("SET", version_key("between"), "2")
            return await store(check, *args)  # type: ignore[arg-type]

        check._store = late  # type: ignore[assignment, method-assign]
        with pytest.raises(UnsupportedLayout):
            await hf.counter("visits").add(1)
        assert standalone.execute("GET", version_key("between")) in (b"2", "2")


async def test_calls_at_once_share_the_first_check(standalone: Server) -> None:
    async with AsyncHoldfast.from_url(standalone.url, namespace="at once") as hf:
        counters = [hf.counter(f"visits {n}") for n in range(50)]
        await asyncio.gather(*(counter.add(1) for counter in counters))
        assert check_of(hf)._first_checks == 1


async def is_counted(hf: AsyncHoldfast) -> bool:
    """Return whether the server has answered in time: on a busy machine, it may not."""
    try:
        await hf.counter("visits").add(1)
    except ServerUnavailable:
        return False
    return True


async def test_calls_at_once_wait_for_a_silent_server_together() -> None:
    with Server() as server:
        url = f"{server.url}?socket_timeout={TIMEOUT_S}"
        async with AsyncHoldfast.from_url(url, namespace="silent") as hf:
            server.pause()
            began = monotonic()
            outcomes = await asyncio.gather(
                *(hf.counter(f"visits {n}").add(1) for n in range(50)), return_exceptions=True
            )
            assert {type(outcome) for outcome in outcomes} == {ServerUnavailable}
            assert monotonic() - began < 20 * TIMEOUT_S  # one after the other: 50
            server.resume()
            await eventually_async(lambda: is_counted(hf))
            assert await hf.layout_version() == 1


async def test_an_empty_server_gets_the_version_again() -> None:
    with Server() as server:
        async with AsyncHoldfast.from_url(server.url, namespace="lost") as hf:
            await hf.counter("visits").add(1)
            server.restart()
            assert not server.execute("EXISTS", version_key("lost"))
            make_due(hf)
            await hf.counter("visits").add(1)
            await eventually_async(lambda: server.execute("EXISTS", version_key("lost")))


async def test_a_reader_does_not_store_a_lost_version(standalone: Server) -> None:
    async with AsyncHoldfast.from_url(standalone.url, namespace="reader") as hf:
        await hf.counter("visits").inspect()
        check = check_of(hf)
        check.reads_due_at = 0.0
        await hf.counter("visits").inspect()
        assert check._later is not None
        await check._later.outcome()
        assert not standalone.execute("EXISTS", version_key("reader"))


@pytest.mark.parametrize("how", ["silent", "dead"])
async def test_calls_pass_while_the_node_of_the_version_is_down(
    own_cluster: Cluster, how: str
) -> None:
    unit, node = unit_apart(own_cluster, how)
    for each in own_cluster.nodes:
        each.execute("CONFIG", "SET", "cluster-require-full-coverage", "no")
    url = f"{own_cluster.url}?socket_timeout={TIMEOUT_S}"
    async with (
        AsyncHoldfast.from_url(url, namespace=how) as running,
        AsyncHoldfast.from_url(url, namespace=how) as new,
    ):
        await increment(running, unit)
        await new.servers()  # discovers the nodes
        (node.pause if how == "silent" else node.kill)()
        try:
            check = make_due(running)
            for _ in range(20):  # none of them waits for the check
                await asyncio.wait_for(increment(running, unit), TIMEOUT_S)
            assert check._later is not None
            await check._later.outcome()
            assert check.due_at < monotonic() + 10.0  # it tries again soon
            await asyncio.gather(*(increment(new, unit) for _ in range(19)))
            assert await increment(new, unit) == 41
        finally:
            (node.resume if how == "silent" else node.start)()


async def test_a_user_without_the_right_to_the_version_may_call(standalone: Server) -> None:
    """It may have rights to some units of a namespace only."""
    rule = acl_rule("narrow").replace("~narrow:*", "~narrow:{counter:*")
    assert rule != acl_rule("narrow")
    standalone.execute("ACL", "SETUSER", "narrow", *rule.split(), "on", ">secret")
    url = standalone.url.replace("redis://", "redis://narrow:secret@")
    async with AsyncHoldfast.from_url(url, namespace="narrow") as hf:
        await hf.counter("visits").add(1)
        make_due(hf)
        await hf.counter("visits").add(1)
        assert await hf.counter("visits").total(HOUR_S) == 2
    assert not standalone.execute("EXISTS", version_key("narrow"))
