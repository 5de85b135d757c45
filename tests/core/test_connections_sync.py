# Generated from test_connections_async.py by tools/unasync.py: edit that, then run `make sync`.
"""Connections: many calls on one connection, whatever it is made of and wherever it breaks."""

import random
import time
from typing import Any

import pytest
from redis import Redis
from redis import connection as flavour

from faults.proxy import Proxy
from faults.servers import Server
from faults.tls import Tls
from holdfast import Holdfast, OutcomeUnknown, ServerRefused, ServerUnavailable
from holdfast.core._sync.caller import Caller
from holdfast.core.names import Namespace, Unit
from holdfast.core.script import Script
from holdfast.core.transport.redispy import native
from holdfast.core.transport.settings import Settings

ECHO = Script.of("test/echo", "#!lua\nreturn {ARGV[1], {1, ARGV[1]}, redis.call('INCR', KEYS[1])}")
FAIL = Script.of("test/fail", "#!lua\nredis.call('INCR', KEYS[1])\nreturn redis.call('NONSENSE')")

SIZES = (0, 1, 2, 15, 4095, 4096, 65536, 300_000)


@pytest.fixture
def unit(request: pytest.FixtureRequest) -> Unit:
    return Namespace.of(f"{request.node.name}-{time.monotonic_ns()}").unit("counter", "hits")


def echo(caller: Caller, unit: Unit, text: str) -> None:
    """Ask for *text*, and see that it comes back whole."""
    answer = caller.call(ECHO, unit, [unit.key("n")], [text])
    assert answer[:2] == [text.encode(), [1, text.encode()]]


def test_replies_come_whole_in_whatever_slices(proxy: Proxy, unit: Unit, seed: int) -> None:
    dice = random.Random(seed)
    caller = Caller(Settings.from_url(f"{proxy.url}?socket_timeout=60"))
    for slice_bytes in (7, 100, 1448, 70_000):
        proxy.slice(slice_bytes)
        for size in dice.sample(SIZES, len(SIZES)):
            if size < 1000 * slice_bytes:
                echo(caller, unit, "x" * size)
    caller.close()


def test_it_is_the_same_by_a_unix_socket(standalone: Server, unit: Unit) -> None:
    caller = Caller(Settings.from_url(f"unix://{standalone.socket_path}"))
    for size in SIZES:
        echo(caller, unit, "x" * size)
    caller.close()


def test_a_server_that_comes_back_is_called_again(fresh_server: Server, unit: Unit) -> None:
    caller = Caller(Settings.from_url(fresh_server.url))
    echo(caller, unit, "before")
    fresh_server.kill()
    with pytest.raises((ServerUnavailable, OutcomeUnknown)):
        echo(caller, unit, "away")
    with pytest.raises(ServerUnavailable):
        echo(caller, unit, "away")
    fresh_server.start()
    assert (caller.call(ECHO, unit, [unit.key("n")], ["after"]))[2] == 2
    caller.close()


def test_a_reply_that_breaks_off_anywhere_is_an_unknown_outcome(proxy: Proxy, unit: Unit) -> None:
    caller = Caller(Settings.from_url(proxy.url))
    echo(caller, unit, "warm")
    for byte in range(30):
        proxy.cut_reply_at(byte, match=ECHO.sha1.encode())
        with pytest.raises(OutcomeUnknown):
            echo(caller, unit, f"lost{byte}")
        proxy.heal()
        echo(caller, unit, f"found{byte}")
    caller.close()


@pytest.mark.parametrize("protocol", [2, 3])
def test_a_client_may_speak_either_protocol(standalone: Server, unit: Unit, protocol: int) -> None:
    """Its replies are its own affair: connections of Holdfast read the same either way."""
    with Redis.from_url(  # type: ignore[no-untyped-call]
        standalone.url, protocol=protocol
    ) as client:
        caller = Caller(Settings.of(client))
        for size in SIZES:
            echo(caller, unit, "x" * size)
        caller.close()


class TheirConnection(flavour.Connection):
    """A class of the user's own."""


def test_a_connection_class_of_the_user_is_read_as_it_wants(standalone: Server, unit: Unit) -> None:
    client = Redis.from_url(standalone.url, connection_class=TheirConnection)  # type: ignore[no-untyped-call]
    assert not native(client.connection_pool.make_connection())
    caller = Caller(Settings.of(client))
    assert caller.settings.foreign is TheirConnection
    for size in SIZES:
        echo(caller, unit, "x" * size)
    with pytest.raises(OutcomeUnknown, match="may or may not"):
        caller.call(FAIL, unit, [unit.key("n")], [])
    with pytest.raises(ServerRefused, match="WRONGTYPE"):
        caller.read(unit, "LLEN", unit.key("n"))
    standalone.execute("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    time.sleep(0.05)
    reply = outcome(caller, unit)
    assert reply is None or isinstance(reply, OutcomeUnknown)
    echo(caller, unit, "again")
    caller.close()
    with client, Holdfast(client, namespace=unit.name) as hf:
        box = hf.mailbox("jill")
        box.send("hello", sender="jack")
        box.ack(box.fetch(timeout=20))
        assert not (box.fetch(timeout=0.05)).messages


def outcome(caller: Caller, unit: Unit) -> Any:
    """Return the `OutcomeUnknown` of a call, or None if it succeeds."""
    try:
        echo(caller, unit, "y")
    except OutcomeUnknown as error:
        return error
    return None


def test_it_is_the_same_by_tls(standalone: Server, unit: Unit) -> None:
    with Tls(standalone.address) as tls:
        caller = Caller(Settings.from_url(tls.url))
        for size in SIZES:
            echo(caller, unit, "x" * size)
        time.sleep(0.05)
        echo(caller, unit, "after a while")
        caller.close()
        with Holdfast.from_url(tls.url, namespace=unit.name) as hf:
            box = hf.mailbox("jill")
            box.send("hello", sender="jack")
            batch = box.fetch(timeout=20)
            assert [message.body for message in batch.messages] == ["hello"]
            box.ack(batch)
            assert not (box.fetch(timeout=0.05)).messages


def test_idle_connections_are_kept(standalone: Server, proxy: Proxy, unit: Unit) -> None:
    """Looking whether one still lives does not end it, TLS or not."""
    with Tls(proxy.address) as tls:
        for url in (proxy.url, tls.url):
            before = proxy.connections
            caller = Caller(Settings.from_url(url))
            for _ in range(10):
                echo(caller, unit, "x")
                time.sleep(0.003)
            caller.close()
            assert proxy.connections - before == 1
