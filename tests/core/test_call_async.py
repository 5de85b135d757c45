"""Calls: each ends in exactly one of three ways, whatever happens on the way."""

import time
from collections.abc import AsyncIterator
from contextlib import nullcontext

import pytest

from conftest import Site
from faults.proxy import Proxy
from faults.servers import Server
from faults.waiting import eventually_async
from holdfast import (
    ClientClosed,
    DamagedData,
    DecodeError,
    HoldfastError,
    OutcomeUnknown,
    ServerRefused,
    ServerUnavailable,
)
from holdfast.core._async.caller import AsyncCaller
from holdfast.core._async.prepared_call import AsyncPreparedCall
from holdfast.core.concurrency._async.background_task import BackgroundTask
from holdfast.core.names import Namespace, Unit
from holdfast.core.script import Script
from holdfast.core.transport.outcome import (
    Busy,
    Damaged,
    Lost,
    NoScript,
    Outcome,
    Refused,
    Unsent,
)
from holdfast.core.transport.settings import Settings


def script(source: str) -> Script:
    """Return a script that only these tests use."""
    return Script.of("test/script", source)


INCREMENT = script(
    "#!lua\nlocal n = (redis.call('GET', KEYS[1]) or 0) + ARGV[1]\n"
    "redis.call('SET', KEYS[1], n)\nreturn n"
)
READ = script("#!lua flags=no-writes\nreturn redis.call('GET', KEYS[1])")


@pytest.fixture
def unit(site: Site) -> Unit:
    return Namespace.of(site.namespace).unit("counter", "hits")


@pytest.fixture
async def caller(site: Site) -> AsyncIterator[AsyncCaller]:
    caller = AsyncCaller(Settings.from_url(site.url))
    yield caller
    await caller.close()


@pytest.fixture
async def fragile(proxy: Proxy) -> AsyncIterator[AsyncCaller]:
    caller = AsyncCaller(Settings.from_url(f"{proxy.url}?socket_timeout=30"))
    yield caller
    await caller.close()


@pytest.fixture
def lone(standalone: Server, request: pytest.FixtureRequest) -> Unit:
    """Return a unit on the server behind the proxy that only this test uses."""
    return Namespace.of(f"{request.node.name}-{time.monotonic_ns()}").unit("counter", "hits")


async def increment(caller: AsyncCaller, unit: Unit, by: int = 1) -> int:
    answer: int = await caller.call(INCREMENT, unit, [unit.key("n")], [by])
    return answer


async def test_a_call_returns_what_the_script_returns(caller: AsyncCaller, unit: Unit) -> None:
    assert await increment(caller, unit) == 1
    assert await increment(caller, unit, 41) == 42
    assert await caller.call(READ, unit, [unit.key("n")], []) == b"42"
    assert await caller.read(unit, "GET", unit.key("n")) == b"42"


async def test_scripts_are_sent_again_when_the_server_forgot_them(
    site: Site, caller: AsyncCaller, unit: Unit
) -> None:
    """SCRIPT FLUSH costs one more round trip, nothing else."""
    assert await increment(caller, unit) == 1
    site.client.script_flush()
    assert await increment(caller, unit) == 2


def prepared(caller: AsyncCaller, unit: Unit) -> AsyncPreparedCall:
    return AsyncPreparedCall(caller, INCREMENT, unit, [unit.key("n")])


async def test_a_prepared_call_needs_a_connection_that_is_open(
    caller: AsyncCaller, unit: Unit
) -> None:
    call = prepared(caller, unit)
    assert await call.attempt("1") is None
    assert await increment(caller, unit) == 1
    assert await call.attempt("1") == 2


async def test_a_prepared_call_that_did_not_run_is_left_to_an_ordinary_call(
    site: Site, caller: AsyncCaller, unit: Unit
) -> None:
    assert await increment(caller, unit) == 1
    site.client.script_flush()
    assert await prepared(caller, unit).attempt("1") is None
    assert await increment(caller, unit) == 2
    assert await caller.read(unit, "GET", unit.key("n")) == b"2"


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (Lost("the line broke"), OutcomeUnknown),
        (Refused("ERR no", applied=True), OutcomeUnknown),
        (Refused("ERR no", applied=False), ServerRefused),
        (Damaged("ERR no", applied=False), DamagedData),
        (Busy("LOADING"), None),
        (NoScript(), None),
    ],
    ids=["lost", "failed_midway", "refused", "damaged", "busy", "no_script"],
)
async def test_a_first_outcome_is_an_error_unless_another_call_may_succeed(
    caller: AsyncCaller, unit: Unit, outcome: Outcome, expected: type[HoldfastError] | None
) -> None:
    router = caller.fast_path
    assert router is not None
    with nullcontext() if expected is None else pytest.raises(expected):
        caller.check_first(router, outcome, INCREMENT, unit)


async def test_a_first_call_of_a_harmless_step_is_lost_and_may_be_sent_again(
    caller: AsyncCaller, unit: Unit
) -> None:
    router = caller.fast_path
    assert router is not None
    caller.check_first(router, Lost("the line broke"), INCREMENT, unit, harmless=True)


async def test_a_prepared_call_ends_with_its_client(caller: AsyncCaller, unit: Unit) -> None:
    assert await increment(caller, unit) == 1
    call, router = prepared(caller, unit), caller.fast_path
    assert router is not None
    await caller.close()
    assert await call.attempt("1") is None
    with pytest.raises(ClientClosed):
        caller.check_first(router, Unsent("it was closed"), INCREMENT, unit)


async def test_a_connection_that_the_server_closed_is_replaced(
    site: Site, caller: AsyncCaller, unit: Unit
) -> None:
    """CLIENT KILL between two calls is not even noticed."""
    assert await increment(caller, unit) == 1
    for node in [site.server] if isinstance(site.server, Server) else site.server.nodes:
        node.execute("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    time.sleep(0.05)  # noqa: ASYNC251 (the news arrives, and the loop has not seen it yet)
    assert await increment(caller, unit) == 2


async def test_an_address_without_a_server_is_unavailable_at_once(unit: Unit) -> None:
    """A producer does not wait for a server that is away."""
    caller = AsyncCaller(Settings.from_url("redis://127.0.0.1:1"))
    with pytest.raises(
        ServerUnavailable, match=r"test/script on counter 'hits' was not applied.*1"
    ):
        await increment(caller, unit)
    with pytest.raises(ServerUnavailable, match=r"^reading counter 'hits' \(GET\) failed: .*1"):
        await caller.read(unit, "GET", unit.key("n"))
    with pytest.raises(ServerUnavailable, match=r"^reading counter 'hits' \(test/script\) failed"):
        await caller.call(READ, unit, [unit.key("n")], [])
    await caller.close()


async def test_a_lost_reply_is_an_unknown_outcome(
    proxy: Proxy, fragile: AsyncCaller, lone: Unit
) -> None:
    await increment(fragile, lone)
    proxy.drop_reply(match=INCREMENT.sha1.encode())
    with pytest.raises(OutcomeUnknown, match=r"test/script on counter 'hits' may or may not"):
        await increment(fragile, lone)
    assert proxy.dropped
    assert await increment(fragile, lone) == 3


async def test_a_lost_request_is_an_unknown_outcome(
    proxy: Proxy, fragile: AsyncCaller, lone: Unit
) -> None:
    await increment(fragile, lone)
    proxy.drop_request(match=INCREMENT.sha1.encode())
    with pytest.raises(OutcomeUnknown):
        await increment(fragile, lone)
    assert await increment(fragile, lone) == 2


async def test_a_read_is_asked_again_until_it_is_answered(
    proxy: Proxy, fragile: AsyncCaller, lone: Unit
) -> None:
    await increment(fragile, lone)
    proxy.drop_replies(2, match=b"GET")
    assert await fragile.read(lone, "GET", lone.key("n")) == b"1"
    await fragile.call(READ, lone, [lone.key("n")], [])
    proxy.drop_reply(match=READ.sha1.encode())
    assert await fragile.call(READ, lone, [lone.key("n")], []) == b"1"
    assert len(proxy.dropped) == 3


async def test_a_server_that_hangs_is_noticed_within_the_timeout(proxy: Proxy, lone: Unit) -> None:
    hasty = AsyncCaller(Settings.from_url(f"{proxy.url}?socket_timeout=2"))
    await increment(hasty, lone)
    proxy.black_hole()
    began = time.monotonic()
    with pytest.raises(OutcomeUnknown):
        await increment(hasty, lone)
    with pytest.raises(ServerUnavailable):
        await hasty.read(lone, "GET", lone.key("n"))
    assert time.monotonic() - began < 60
    proxy.heal()
    assert await increment(hasty, lone) >= 2
    await hasty.close()


async def test_a_call_that_bides_its_time_ends_with_its_client(
    fresh_server: Server, lone: Unit
) -> None:
    with Proxy(fresh_server.address) as proxy:
        caller = AsyncCaller(Settings.from_url(f"{proxy.url}?socket_timeout=60"))
        await increment(caller, lone)
        fresh_server.execute("REPLICAOF", "127.0.0.1", "1")
        call = BackgroundTask(increment, caller, lone)
        await eventually_async(lambda: proxy.commands["EVALSHA"] > 3)
        opened = proxy.connections
        await caller.close()
        with pytest.raises((ClientClosed, OutcomeUnknown)):
            await call.outcome()
        await eventually_async(lambda: not proxy.open_connections)
        assert proxy.connections == opened


async def test_one_byte_at_a_time_is_just_slow(
    proxy: Proxy, fragile: AsyncCaller, lone: Unit
) -> None:
    proxy.slice(1)
    for n in range(1, 6):
        assert await increment(fragile, lone) == n


async def test_a_refusal_has_a_reason(standalone: Server, lone: Unit) -> None:
    caller = AsyncCaller(Settings.from_url(standalone.url))
    try:
        standalone.execute("CONFIG", "SET", "maxmemory", "1")
        with pytest.raises(ServerRefused, match="OOM"):
            await increment(caller, lone)
    finally:
        standalone.execute("CONFIG", "SET", "maxmemory", "0")
    standalone.execute("RPUSH", lone.key("list"), "x")
    with pytest.raises(ServerRefused, match="WRONGTYPE"):
        await caller.read(lone, "GET", lone.key("list"))
    await caller.close()


async def test_an_error_inside_a_script_is_an_unknown_outcome(
    standalone: Server, lone: Unit
) -> None:
    halfway = script("#!lua\nredis.call('SET', KEYS[1], 'x')\nreturn error('no more')")
    caller = AsyncCaller(Settings.from_url(standalone.url))
    with pytest.raises(OutcomeUnknown, match="no more"):
        await caller.call(halfway, lone, [lone.key("n")], [])
    assert await caller.read(lone, "GET", lone.key("n")) == b"x"
    await caller.close()


async def test_an_error_of_damage_inside_a_script_does_not_claim_that_nothing_was_applied(
    standalone: Server, lone: Unit
) -> None:
    """Repeating it cannot help either, so it is no unknown outcome."""
    halfway = script("#!lua\nredis.call('SET', KEYS[1], 'x')\nreturn redis.call('INCR', KEYS[1])")
    caller = AsyncCaller(Settings.from_url(standalone.url))
    with pytest.raises(DecodeError, match=r"not an integer.* may have been applied") as caught:
        await caller.call(halfway, lone, [lone.key("n")], [])
    assert not isinstance(caught.value, ServerUnavailable | OutcomeUnknown)
    await caller.close()


async def test_many_units_are_called_in_few_writes(site: Site, caller: AsyncCaller) -> None:
    namespace = Namespace.of(site.namespace)
    units = [namespace.unit("counter", f"hits-{n}") for n in range(50)]
    site.client.script_flush()
    for _ in range(2):
        steps = [(unit, [unit.key("n")], [n]) for n, unit in enumerate(units)]
        answers = await caller.call_many(INCREMENT, steps)
    assert answers == [2 * n for n in range(50)]
    steps = [(unit, [unit.key("n")], []) for unit in units]
    assert await caller.call_many(READ, steps) == [b"%d" % (2 * n) for n in range(50)]
    assert await caller.call_many(READ, []) == []


async def test_of_many_calls_each_has_its_own_outcome(site: Site, caller: AsyncCaller) -> None:
    namespace = Namespace.of(site.namespace)
    units = [namespace.unit("counter", f"hits-{n}") for n in range(20)]
    site.client.set(units[7].key("n"), "no number")
    answers = await caller.call_many(INCREMENT, [(unit, [unit.key("n")], [1]) for unit in units])
    assert isinstance(answers.pop(7), DecodeError)
    assert answers == [1] * 19


async def test_many_reads_outlive_a_lost_reply(
    fragile: AsyncCaller, proxy: Proxy, lone: Unit
) -> None:
    steps = [(lone, [lone.key(str(n))], [1]) for n in range(10)]
    await fragile.call_many(INCREMENT, steps)
    proxy.drop_reply(4, match=READ.sha1.encode())
    reads = [(lone, names, []) for _, names, _ in steps]
    await fragile.call_many(READ, reads[:1])
    assert await fragile.call_many(READ, reads) == [b"1"] * 10
    proxy.drop_reply(3, match=INCREMENT.sha1.encode())
    answers = await fragile.call_many(INCREMENT, steps)
    assert isinstance(answers[2], OutcomeUnknown)
    assert all(each == 2 or isinstance(each, OutcomeUnknown) for each in answers)
    proxy.drop_reply(3, match=INCREMENT.sha1.encode())
    answers = await fragile.call_many(INCREMENT, steps, harmless=True)
    assert all(isinstance(each, int) for each in answers)
