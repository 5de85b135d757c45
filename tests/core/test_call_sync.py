# Generated from test_call_async.py by tools/unasync.py: edit that, then run `make sync`.
"""Calls: each ends in exactly one of three ways, whatever happens on the way."""

import time
from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from conftest import Site
from faults.proxy import Proxy
from faults.servers import Server
from faults.waiting import eventually
from holdfast import (
    ClientClosed,
    DamagedData,
    DecodeError,
    HoldfastError,
    OutcomeUnknown,
    ServerRefused,
    ServerUnavailable,
)
from holdfast.core._sync.caller import Caller
from holdfast.core._sync.prepared_call import PreparedCall
from holdfast.core.concurrency._sync.background_task import BackgroundTask
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
def caller(site: Site) -> Iterator[Caller]:
    caller = Caller(Settings.from_url(site.url))
    yield caller
    caller.close()


@pytest.fixture
def fragile(proxy: Proxy) -> Iterator[Caller]:
    caller = Caller(Settings.from_url(f"{proxy.url}?socket_timeout=30"))
    yield caller
    caller.close()


@pytest.fixture
def lone(standalone: Server, request: pytest.FixtureRequest) -> Unit:
    """Return a unit on the server behind the proxy that only this test uses."""
    return Namespace.of(f"{request.node.name}-{time.monotonic_ns()}").unit("counter", "hits")


def increment(caller: Caller, unit: Unit, by: int = 1) -> int:
    answer: int = caller.call(INCREMENT, unit, [unit.key("n")], [by])
    return answer


def test_a_call_returns_what_the_script_returns(caller: Caller, unit: Unit) -> None:
    assert increment(caller, unit) == 1
    assert increment(caller, unit, 41) == 42
    assert caller.call(READ, unit, [unit.key("n")], []) == b"42"
    assert caller.read(unit, "GET", unit.key("n")) == b"42"


def test_scripts_are_sent_again_when_the_server_forgot_them(
    site: Site, caller: Caller, unit: Unit
) -> None:
    """SCRIPT FLUSH costs one more round trip, nothing else."""
    assert increment(caller, unit) == 1
    site.client.script_flush()
    assert increment(caller, unit) == 2


def prepared(caller: Caller, unit: Unit) -> PreparedCall:
    return PreparedCall(caller, INCREMENT, unit, [unit.key("n")])


def test_a_prepared_call_needs_a_connection_that_is_open(caller: Caller, unit: Unit) -> None:
    call = prepared(caller, unit)
    assert call.attempt("1") is None
    assert increment(caller, unit) == 1
    assert call.attempt("1") == 2


def test_a_prepared_call_that_did_not_run_is_left_to_an_ordinary_call(
    site: Site, caller: Caller, unit: Unit
) -> None:
    assert increment(caller, unit) == 1
    site.client.script_flush()
    assert prepared(caller, unit).attempt("1") is None
    assert increment(caller, unit) == 2
    assert caller.read(unit, "GET", unit.key("n")) == b"2"


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
def test_a_first_outcome_is_an_error_unless_another_call_may_succeed(
    caller: Caller, unit: Unit, outcome: Outcome, expected: type[HoldfastError] | None
) -> None:
    router = caller.fast_path
    assert router is not None
    with nullcontext() if expected is None else pytest.raises(expected):
        caller.check_first(router, outcome, INCREMENT, unit)


def test_a_first_call_of_a_harmless_step_is_lost_and_may_be_sent_again(
    caller: Caller, unit: Unit
) -> None:
    router = caller.fast_path
    assert router is not None
    caller.check_first(router, Lost("the line broke"), INCREMENT, unit, harmless=True)


def test_a_prepared_call_ends_with_its_client(caller: Caller, unit: Unit) -> None:
    assert increment(caller, unit) == 1
    call, router = prepared(caller, unit), caller.fast_path
    assert router is not None
    caller.close()
    assert call.attempt("1") is None
    with pytest.raises(ClientClosed):
        caller.check_first(router, Unsent("it was closed"), INCREMENT, unit)


def test_a_connection_that_the_server_closed_is_replaced(
    site: Site, caller: Caller, unit: Unit
) -> None:
    """CLIENT KILL between two calls is not even noticed."""
    assert increment(caller, unit) == 1
    for node in [site.server] if isinstance(site.server, Server) else site.server.nodes:
        node.execute("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    time.sleep(0.05)
    assert increment(caller, unit) == 2


def test_an_address_without_a_server_is_unavailable_at_once(unit: Unit) -> None:
    """A producer does not wait for a server that is away."""
    caller = Caller(Settings.from_url("redis://127.0.0.1:1"))
    with pytest.raises(
        ServerUnavailable, match=r"test/script on counter 'hits' was not applied.*1"
    ):
        increment(caller, unit)
    with pytest.raises(ServerUnavailable, match=r"^reading counter 'hits' \(GET\) failed: .*1"):
        caller.read(unit, "GET", unit.key("n"))
    with pytest.raises(ServerUnavailable, match=r"^reading counter 'hits' \(test/script\) failed"):
        caller.call(READ, unit, [unit.key("n")], [])
    caller.close()


def test_a_lost_reply_is_an_unknown_outcome(proxy: Proxy, fragile: Caller, lone: Unit) -> None:
    increment(fragile, lone)
    proxy.drop_reply(match=INCREMENT.sha1.encode())
    with pytest.raises(OutcomeUnknown, match=r"test/script on counter 'hits' may or may not"):
        increment(fragile, lone)
    assert proxy.dropped
    assert increment(fragile, lone) == 3


def test_a_lost_request_is_an_unknown_outcome(proxy: Proxy, fragile: Caller, lone: Unit) -> None:
    increment(fragile, lone)
    proxy.drop_request(match=INCREMENT.sha1.encode())
    with pytest.raises(OutcomeUnknown):
        increment(fragile, lone)
    assert increment(fragile, lone) == 2


def test_a_read_is_asked_again_until_it_is_answered(
    proxy: Proxy, fragile: Caller, lone: Unit
) -> None:
    increment(fragile, lone)
    proxy.drop_replies(2, match=b"GET")
    assert fragile.read(lone, "GET", lone.key("n")) == b"1"
    fragile.call(READ, lone, [lone.key("n")], [])
    proxy.drop_reply(match=READ.sha1.encode())
    assert fragile.call(READ, lone, [lone.key("n")], []) == b"1"
    assert len(proxy.dropped) == 3


def test_a_server_that_hangs_is_noticed_within_the_timeout(proxy: Proxy, lone: Unit) -> None:
    hasty = Caller(Settings.from_url(f"{proxy.url}?socket_timeout=2"))
    increment(hasty, lone)
    proxy.black_hole()
    began = time.monotonic()
    with pytest.raises(OutcomeUnknown):
        increment(hasty, lone)
    with pytest.raises(ServerUnavailable):
        hasty.read(lone, "GET", lone.key("n"))
    assert time.monotonic() - began < 60
    proxy.heal()
    assert increment(hasty, lone) >= 2
    hasty.close()


def test_a_call_that_bides_its_time_ends_with_its_client(fresh_server: Server, lone: Unit) -> None:
    with Proxy(fresh_server.address) as proxy:
        caller = Caller(Settings.from_url(f"{proxy.url}?socket_timeout=60"))
        increment(caller, lone)
        fresh_server.execute("REPLICAOF", "127.0.0.1", "1")
        call = BackgroundTask(increment, caller, lone)
        eventually(lambda: proxy.commands["EVALSHA"] > 3)
        opened = proxy.connections
        caller.close()
        with pytest.raises((ClientClosed, OutcomeUnknown)):
            call.outcome()
        eventually(lambda: not proxy.open_connections)
        assert proxy.connections == opened


def test_one_byte_at_a_time_is_just_slow(proxy: Proxy, fragile: Caller, lone: Unit) -> None:
    proxy.slice(1)
    for n in range(1, 6):
        assert increment(fragile, lone) == n


def test_a_refusal_has_a_reason(standalone: Server, lone: Unit) -> None:
    caller = Caller(Settings.from_url(standalone.url))
    try:
        standalone.execute("CONFIG", "SET", "maxmemory", "1")
        with pytest.raises(ServerRefused, match="OOM"):
            increment(caller, lone)
    finally:
        standalone.execute("CONFIG", "SET", "maxmemory", "0")
    standalone.execute("RPUSH", lone.key("list"), "x")
    with pytest.raises(ServerRefused, match="WRONGTYPE"):
        caller.read(lone, "GET", lone.key("list"))
    caller.close()


def test_an_error_inside_a_script_is_an_unknown_outcome(standalone: Server, lone: Unit) -> None:
    halfway = script("#!lua\nredis.call('SET', KEYS[1], 'x')\nreturn error('no more')")
    caller = Caller(Settings.from_url(standalone.url))
    with pytest.raises(OutcomeUnknown, match="no more"):
        caller.call(halfway, lone, [lone.key("n")], [])
    assert caller.read(lone, "GET", lone.key("n")) == b"x"
    caller.close()


def test_an_error_of_damage_inside_a_script_does_not_claim_that_nothing_was_applied(
    standalone: Server, lone: Unit
) -> None:
    """Repeating it cannot help either, so it is no unknown outcome."""
    halfway = script("#!lua\nredis.call('SET', KEYS[1], 'x')\nreturn redis.call('INCR', KEYS[1])")
    caller = Caller(Settings.from_url(standalone.url))
    with pytest.raises(DecodeError, match=r"not an integer.* may have been applied") as caught:
        caller.call(halfway, lone, [lone.key("n")], [])
    assert not isinstance(caught.value, ServerUnavailable | OutcomeUnknown)
    caller.close()


def test_many_units_are_called_in_few_writes(site: Site, caller: Caller) -> None:
    namespace = Namespace.of(site.namespace)
    units = [namespace.unit("counter", f"hits-{n}") for n in range(50)]
    site.client.script_flush()
    for _ in range(2):
        steps = [(unit, [unit.key("n")], [n]) for n, unit in enumerate(units)]
        answers = caller.call_many(INCREMENT, steps)
    assert answers == [2 * n for n in range(50)]
    steps = [(unit, [unit.key("n")], []) for unit in units]
    assert caller.call_many(READ, steps) == [b"%d" % (2 * n) for n in range(50)]
    assert caller.call_many(READ, []) == []


def test_of_many_calls_each_has_its_own_outcome(site: Site, caller: Caller) -> None:
    namespace = Namespace.of(site.namespace)
    units = [namespace.unit("counter", f"hits-{n}") for n in range(20)]
    site.client.set(units[7].key("n"), "no number")
    answers = caller.call_many(INCREMENT, [(unit, [unit.key("n")], [1]) for unit in units])
    assert isinstance(answers.pop(7), DecodeError)
    assert answers == [1] * 19


def test_many_reads_outlive_a_lost_reply(fragile: Caller, proxy: Proxy, lone: Unit) -> None:
    steps = [(lone, [lone.key(str(n))], [1]) for n in range(10)]
    fragile.call_many(INCREMENT, steps)
    proxy.drop_reply(4, match=READ.sha1.encode())
    reads = [(lone, names, []) for _, names, _ in steps]
    fragile.call_many(READ, reads[:1])
    assert fragile.call_many(READ, reads) == [b"1"] * 10
    proxy.drop_reply(3, match=INCREMENT.sha1.encode())
    answers = fragile.call_many(INCREMENT, steps)
    assert isinstance(answers[2], OutcomeUnknown)
    assert all(each == 2 or isinstance(each, OutcomeUnknown) for each in answers)
    proxy.drop_reply(3, match=INCREMENT.sha1.encode())
    answers = fragile.call_many(INCREMENT, steps, harmless=True)
    assert all(isinstance(each, int) for each in answers)
