"""The proxy is transparent by default, and each fault hits exactly its target."""

import asyncio
import contextlib
import gc
import math
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import redis
import redis.asyncio
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff

from faults.proxy import Directions, Proxy
from faults.servers import Server, no_retry
from faults.waiting import eventually, eventually_async

LOST = redis.ConnectionError
PATIENCE_S = 60.0
DATABASE = 1  # other tests share the server's first
both_protocols = pytest.mark.parametrize("client", [2, 3], indirect=True, ids=["resp2", "resp3"])


@pytest.fixture
def direct(standalone: Server) -> redis.Redis:
    """Return a client of the emptied database of this file, without the proxy."""
    client = standalone.client(db=DATABASE)
    client.flushdb()
    return client


@pytest.fixture
def client(request: pytest.FixtureRequest, proxy: Proxy) -> Iterator[redis.Redis]:
    """Yield a client through the proxy that retries nothing."""
    with _client(proxy, protocol=getattr(request, "param", 3)) as client:
        yield client


def _client(proxy: Proxy, **options: Any) -> redis.Redis:
    return redis.Redis(port=proxy.port, db=DATABASE, retry=no_retry(), **options)


@both_protocols
def test_everything_passes_unchanged(proxy: Proxy, client: redis.Redis) -> None:
    big = bytes(range(256)) * 20_000

    assert client.set("big", big)
    assert client.get("big") == big
    client.hset("hash", mapping={"a": 1, "b": ""})
    assert client.hgetall("hash") == {b"a": b"1", b"b": b""}
    assert client.eval("return {1, {2, {}, false}, 'x', redis.status_reply('fine')}", 0) == [
        1,
        [2, [], None],
        b"x",
        b"fine",
    ]
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        client.get("hash")
    assert proxy.dropped == []


@both_protocols
def test_pipelined_requests_and_replies_are_counted_one_by_one(
    proxy: Proxy, client: redis.Redis
) -> None:
    client.ping()
    requests, replies = proxy.requests, proxy.replies

    with client.pipeline(transaction=False) as pipeline:
        for number in range(100):
            pipeline.set(f"key:{number}", number)
        pipeline.execute()

    assert proxy.requests - requests == 100
    assert proxy.replies - replies == 100
    assert proxy.commands["SET"] == 100
    assert proxy.connections == 1


@both_protocols
def test_a_lost_reply_was_applied(proxy: Proxy, client: redis.Redis, direct: redis.Redis) -> None:
    fault = proxy.drop_reply()
    with pytest.raises(LOST):
        client.incr("counter")
    assert direct.get("counter") == b"1"
    assert fault.fired == 1
    assert [(lost.kind, lost.command) for lost in proxy.dropped] == [("reply", "INCRBY")]
    assert client.incr("counter") == 2


def test_the_reply_lost_is_to_a_matching_request(
    proxy: Proxy, client: redis.Redis, direct: redis.Redis
) -> None:
    script = client.register_script("return redis.call('INCR', KEYS[1])")
    assert script(["scripted"]) == 1
    proxy.drop_reply(match=script.sha.encode())
    assert client.incr("plain") == 1
    with pytest.raises(LOST):
        script(["scripted"])
    assert direct.get("scripted") == b"2"


def test_a_request_dropped_is_not_applied_and_those_before_it_are(
    proxy: Proxy, client: redis.Redis, direct: redis.Redis
) -> None:
    proxy.drop_request(3)
    with client.pipeline(transaction=False) as pipeline:
        for number in range(5):
            pipeline.set(f"key:{number}", number)
        with pytest.raises(LOST):
            pipeline.execute()
    assert sorted(direct.keys()) == [b"key:0", b"key:1"]
    assert [(lost.kind, lost.command) for lost in proxy.dropped] == [("request", "SET")]


@pytest.mark.parametrize(
    ("inject", "received"),
    [
        (lambda proxy: proxy.drop_reply(3), b"+PONG\r\n" * 2),
        (lambda proxy: proxy.drop_request(3), b"+PONG\r\n" * 2),
        (lambda proxy: proxy.cut_reply_at(3), b"+PO"),
    ],
    ids=["drop_reply", "drop_request", "cut_reply_at"],
)
def test_what_comes_before_a_fault_arrives(
    proxy: Proxy, inject: Callable[[Proxy], object], received: bytes
) -> None:
    """Read with a bare socket, since redis-py gives no part of a broken pipeline."""
    inject(proxy)
    proxy.delay(0.05, "replies")
    with socket.create_connection(proxy.address) as raw:
        raw.sendall(b"PING\r\n" * 5)
        assert _until_reset(raw) == received


@pytest.mark.parametrize(("directions", "applied"), [("both", None), ("replies", b"1")])
def test_a_black_hole_answers_nothing_until_healed(
    proxy: Proxy,
    client: redis.Redis,
    direct: redis.Redis,
    directions: Directions,
    applied: bytes | None,
) -> None:
    client.ping()
    proxy.black_hole(directions)
    with ThreadPoolExecutor(1) as thread:
        unheard = thread.submit(client.incr, "hole")
        eventually(lambda: _lost_bytes(proxy) and direct.get("hole") == applied)
        assert not unheard.done()
        proxy.heal()
        with pytest.raises(LOST):
            unheard.result(PATIENCE_S)
    assert client.set("hole", "2")


def test_several_replies_in_a_row_are_lost(
    proxy: Proxy, client: redis.Redis, direct: redis.Redis
) -> None:
    fault = proxy.drop_replies(3, match=b"counter")
    for _ in range(3):
        with pytest.raises(LOST):
            client.incr("counter")
    assert client.incr("counter") == 4
    assert fault.fired == 3


def test_retries_of_the_client_library_show_up(proxy: Proxy, direct: redis.Redis) -> None:
    """The reason for the bench: with redis-py's defaults one INCR is applied four times."""
    proxy.drop_replies(3)
    with redis.Redis(port=proxy.port, db=DATABASE) as careless:
        assert careless.incr("counter") == 4


def test_a_cut_resets_all_present_connections_only(proxy: Proxy, client: redis.Redis) -> None:
    with socket.create_connection(proxy.address) as raw:
        client.ping()
        eventually(lambda: proxy.open_connections == 2)
        proxy.cut()
        assert _until_reset(raw) == b""
        assert proxy.open_connections == 0
    assert client.ping()
    assert proxy.connections == 3


def _quickest_s(client: redis.Redis, *, within_s: float) -> float:
    """Return the shortest time of some calls; stop at one that is short enough."""
    quickest_s = math.inf
    for _ in range(100):
        quickest_s = min(quickest_s, _seconds(client.ping))
        if quickest_s < within_s:
            break
    return quickest_s


def test_delay_is_added_per_direction(proxy: Proxy, client: redis.Redis) -> None:
    """The quickest of some calls counts: the machine may be busy."""
    client.ping()
    cases: list[tuple[Directions, float]] = [("both", 0.4), ("requests", 0.2), ("replies", 0.2)]
    for directions, least_s in cases:
        proxy.delay(0.2, directions)
        assert least_s <= _quickest_s(client, within_s=least_s + 0.2) < least_s + 0.2
        proxy.heal()
    assert _quickest_s(client, within_s=0.2) < 0.2


def test_a_delayed_request_arrives_although_its_client_gave_up(
    proxy: Proxy, direct: redis.Redis
) -> None:
    with socket.create_connection(proxy.address) as raw:
        raw.sendall(b"SELECT %d\r\n" % DATABASE)
        assert raw.recv(100) == b"+OK\r\n"
        proxy.delay(0.5, "requests")
        raw.sendall(b"SET late 1\r\n")
        eventually(lambda: proxy.requests == 2)
    eventually(lambda: direct.get("late") == b"1")


@both_protocols
def test_slices_of_one_byte_change_nothing(proxy: Proxy, client: redis.Redis) -> None:
    proxy.slice(1)
    assert client.set("sliced", "x" * 1_000)
    assert client.get("sliced") == b"x" * 1_000


def test_slices_arrive_one_by_one_until_healed(proxy: Proxy) -> None:
    """Slices may meet on a busy machine, so one answer in pieces out of some is enough."""
    request, size = b"ECHO " + b"x" * 1_000 + b"\r\n", 1_009
    with socket.create_connection(proxy.address) as raw:
        proxy.slice(1)
        eventually(lambda: _pieces(raw, request, size) > 1, reason="an answer in pieces")
        proxy.heal()
        assert _pieces(raw, request, size) == 1


def test_healing_resets_the_connections_that_lost_bytes(proxy: Proxy) -> None:
    with socket.create_connection(proxy.address) as raw:
        raw.sendall(b"PING\r\n")
        assert raw.recv(100) == b"+PONG\r\n"
        proxy.black_hole()
        raw.sendall(b"PING\r\n")
        eventually(lambda: _lost_bytes(proxy))
        proxy.heal()
        assert _until_reset(raw) == b""


def test_refusing_ends_with_the_block(proxy: Proxy, client: redis.Redis) -> None:
    client.ping()
    with proxy.refuse():
        with pytest.raises(LOST):
            client.ping()
        with pytest.raises(ConnectionRefusedError), socket.create_connection(proxy.address):
            pass
    assert client.ping()


def test_refusing_ends_after_its_time(proxy: Proxy, client: redis.Redis) -> None:
    client.ping()
    proxy.refuse(0.5)
    eventually(lambda: _answers(client))
    assert proxy.connections == 2


def test_a_dead_target_resets(fresh_server: Server) -> None:
    with Proxy(fresh_server.address) as proxy, _client(proxy) as client:
        fresh_server.kill()
        with pytest.raises(LOST):
            client.ping()
        fresh_server.start()
        assert client.ping()


def test_a_unix_socket_may_be_the_target(standalone: Server) -> None:
    with Proxy(standalone.socket_path) as proxy, _client(proxy) as client:
        assert client.ping()


@pytest.mark.parametrize("protocol", [2, 3])
def test_pushes_are_lost_without_a_reset_and_are_no_replies(
    proxy: Proxy, direct: redis.Redis, protocol: int
) -> None:
    with _client(proxy, protocol=protocol) as client, client.pubsub() as pubsub:
        pubsub.subscribe("channel", "other")
        assert [_next(pubsub)["type"] for _ in range(2)] == ["subscribe", "subscribe"]
        fault = proxy.drop_pushes(1, match=b"channel")
        for text in ("one", "two"):
            direct.publish("channel", text)
        assert _next(pubsub)["data"] == b"two"
    assert fault.fired == 1
    assert proxy.dropped[0].kind == "push"


@pytest.mark.parametrize("protocol", [2, 3])
def test_the_confirmation_of_a_subscription_can_be_lost(proxy: Proxy, protocol: int) -> None:
    fault = proxy.drop_reply(match=b"SUBSCRIBE")
    with _client(proxy, protocol=protocol) as client, client.pubsub() as pubsub:
        pubsub.subscribe("channel")
        with pytest.raises(LOST):
            pubsub.parse_response()
    assert fault.fired == 1


async def test_controls_work_from_a_running_event_loop(proxy: Proxy, direct: redis.Redis) -> None:
    async with redis.asyncio.Redis(
        port=proxy.port, db=DATABASE, retry=AsyncRetry(NoBackoff(), 0)
    ) as client:
        fault = proxy.drop_reply(match=b"INCRBY")
        with pytest.raises(LOST):
            await client.incr("counter")
        await eventually_async(lambda: fault.fired == 1)
        await asyncio.gather(*(client.incr("counter") for _ in range(20)))
    assert direct.get("counter") == b"21"


def test_a_connection_that_comes_in_while_it_refuses_is_ended(proxy: Proxy) -> None:
    async def refuse_at_once() -> socket.socket:
        client = socket.create_connection(proxy.address)  # the loop does not run meanwhile
        await asyncio.sleep(0)
        await asyncio.sleep(0)  # it has noticed the client, no more
        await proxy._refuse(None)
        return client

    with proxy._do(refuse_at_once()) as client:
        client.settimeout(PATIENCE_S)
        with contextlib.suppress(ConnectionResetError):
            assert client.recv(1) == b""
    gc.collect()  # says what was never closed


def _lost_bytes(proxy: Proxy) -> bool:
    """Return whether a connection has lost bytes in a black hole."""
    return any(link.lost_bytes for link in list(proxy._links.values()))


def _until_reset(raw: socket.socket) -> bytes:
    raw.settimeout(PATIENCE_S)
    received = b""
    try:
        while chunk := raw.recv(100):
            received += chunk
    except ConnectionResetError:
        return received
    raise AssertionError(f"closed, not reset, after {received!r}")


def _pieces(raw: socket.socket, request: bytes, size: int) -> int:
    """Send a request; return in how many pieces its reply of `size` bytes came."""
    raw.settimeout(PATIENCE_S)
    raw.sendall(request)
    pieces = 0
    while size > 0:
        size -= len(raw.recv(size))
        pieces += 1
    return pieces


def _seconds(call: Callable[[], object]) -> float:
    began_s = time.monotonic()
    call()
    return time.monotonic() - began_s


def _answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except LOST:
        return False


def _next(pubsub: redis.client.PubSub) -> dict[str, object]:
    return eventually(lambda: pubsub.get_message(timeout=0.1))
