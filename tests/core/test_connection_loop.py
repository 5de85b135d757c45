"""Connections of asyncio: what only a loop, and those who cancel in it, can do to them."""

import asyncio
import contextlib
import gc
import secrets
import time
from typing import Any

import pytest
from redis.asyncio import Redis
from redis.asyncio import connection as flavour
from redis.credentials import CredentialProvider

from faults.proxy import Proxy
from faults.servers import Server
from faults.tls import Tls
from faults.waiting import eventually, eventually_async
from holdfast import ClientClosed, OutcomeUnknown
from holdfast.core._async.caller import AsyncCaller
from holdfast.core.names import Namespace, Unit
from holdfast.core.script import Script
from holdfast.core.transport._async.connection import AsyncConnection
from holdfast.core.transport._async.stream import AsyncStream
from holdfast.core.transport.outcome import Replied, Unsent
from holdfast.core.transport.request import Request
from holdfast.core.transport.settings import Settings

ECHO = Script.of("test/echo", "#!lua\nredis.call('INCR', KEYS[1])\nreturn ARGV[1]")
PING = Request.of("PING")

PATIENCE_S = 20


@pytest.fixture
def unit() -> Unit:
    return Namespace.of(secrets.token_hex(4)).unit("echo", "x")


async def echo(caller: AsyncCaller, unit: Unit, word: str) -> None:
    assert await caller.call(ECHO, unit, [unit.key("k")], [word]) == word.encode()


def connection_to(url: str) -> AsyncConnection:
    settings = Settings.from_url(url)
    return AsyncConnection(settings, settings.addresses[0])


async def test_calls_are_sent_however_long_a_turn_of_the_loop_takes(standalone: Server) -> None:
    """A program that computes in small pieces makes its calls all the same."""
    connection = connection_to(standalone.url)
    assert await connection.submit(PING) == Replied(b"PONG")

    async def compute() -> None:
        while True:
            time.sleep(0.005)  # noqa: ASYNC251 (that is the point)
            await asyncio.sleep(0)

    computing = asyncio.create_task(compute())
    await asyncio.sleep(0.05)
    assert await asyncio.wait_for(connection.submit(PING), PATIENCE_S) == Replied(b"PONG")
    computing.cancel()
    await connection.close()


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Return a list to which each write of a connection is added."""
    payloads: list[bytes] = []
    write = AsyncStream.write

    def noted(stream: AsyncStream, payload: bytes) -> None:
        payloads.append(payload)
        write(stream, payload)

    monkeypatch.setattr(AsyncStream, "write", noted)
    return payloads


async def test_what_is_submitted_together_travels_together(
    standalone: Server, written: list[bytes]
) -> None:
    connection = connection_to(standalone.url)
    for _ in range(2):  # when it opens, and when it is open
        assert await asyncio.gather(*connection.submit_all([PING] * 10)) == [Replied(b"PONG")] * 10
        assert written == [PING.payload * 10]
        written.clear()
    assert connection.submit_all([]) == []
    await connection.close()


async def test_calls_of_a_turn_are_sent_in_batches(
    standalone: Server, written: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In small ones while the server has little to do, so that it begins before the turn ends."""
    monkeypatch.setattr("holdfast.core.transport._async.connection._FRESH_S", 60.0)
    connection = connection_to(standalone.url)
    assert await connection.submit(PING) == Replied(b"PONG")
    written.clear()
    await asyncio.gather(*[connection.submit(PING) for _ in range(50)])
    sizes = [len(payload) // len(PING.payload) for payload in written]
    assert sizes == [1, 6, 6, 16, 16, 5]
    await connection.close()


async def test_one_timer_watches_all_calls_of_a_connection(
    standalone: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = connection_to(f"{standalone.url}?socket_timeout=60")
    assert await connection.submit(PING) == Replied(b"PONG")
    loop, timers = asyncio.get_running_loop(), list[float]()
    call_at = loop.call_at

    def noted(when: float, *args: Any, **options: Any) -> asyncio.TimerHandle:
        timers.append(when)
        return call_at(when, *args, **options)

    monkeypatch.setattr(loop, "call_at", noted)
    for _ in range(20):
        await asyncio.gather(*(connection.submit(PING) for _ in range(50)))
    await connection.close()
    assert len(timers) <= 1


async def test_an_unexpected_reply_costs_no_call_its_own() -> None:
    """Though both come together; then the connection is given up, and the next call has another."""
    talks: list[asyncio.Task[None] | None] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talks.append(asyncio.current_task())
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(4096):
                writer.write(b"+OK\r\n" * (data.count(b"*") + data.count(b"PING")))
            writer.close()
            await writer.wait_closed()

    async with await asyncio.start_server(talk, "127.0.0.1", 0) as server:
        connection = connection_to(f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        for connections in (1, 2, 3):
            assert await connection.submit(PING) == Replied(b"OK")
            assert len(talks) == connections
        await connection.close()
        await asyncio.gather(*filter(None, talks))


async def test_a_call_that_its_client_overtakes_opens_nothing(
    fresh_server: Server, unit: Unit
) -> None:
    """The client is closed between the two tries of a script that the server does not know."""
    with Proxy(fresh_server.address) as proxy:
        caller = AsyncCaller(Settings.from_url(proxy.url))
        await caller.read(unit, "GET", unit.key("k"))
        fresh_server.pause()
        calls = [caller.call(ECHO, unit, [unit.key("k")], ["x"])]
        calls.append(caller.call_many(ECHO, [(unit, [unit.key("k")], ["x"])] * 2))
        tasks = [asyncio.ensure_future(call) for call in calls]
        await eventually_async(lambda: proxy.commands["EVALSHA"])
        closing = asyncio.ensure_future(caller.close())
        await asyncio.sleep(0)
        fresh_server.resume()
        await closing
        with pytest.raises(ClientClosed):
            await tasks[0]
        assert [type(each) for each in await tasks[1]] == [ClientClosed] * 2
        assert proxy.connections == 1
    assert fresh_server.execute("EXISTS", unit.key("k")) == 0


async def test_an_error_of_the_credential_provider_fails_all_calls_and_is_logged_once(
    standalone: Server, unit: Unit
) -> None:
    class Sealed(CredentialProvider):
        def get_credentials(self) -> tuple[str, str]:
            raise LookupError("no password is available")

    reported: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
    async with Redis(port=standalone.port, credential_provider=Sealed()) as client:
        caller = AsyncCaller(Settings.of(client))
    with pytest.raises(LookupError, match="no password"):
        await caller.call_many(ECHO, [(unit, [unit.key("k")], ["x"])] * 3)
    await caller.close()
    await asyncio.sleep(0)  # what has woken this task is kept as long as this turn lasts
    gc.collect()
    assert not reported


async def test_closing_drains_without_spinning(proxy: Proxy) -> None:
    connection = connection_to(proxy.url)
    await connection.submit(PING)
    proxy.delay(0.5)
    future = connection.submit(PING)
    await asyncio.sleep(0.05)
    future.cancel()
    began = time.thread_time()
    await connection.close()
    assert time.thread_time() - began < 0.15


def test_a_loop_that_ends_opens_no_connection_for_callers_that_left(proxy: Proxy) -> None:
    proxy.black_hole()
    kept: list[Any] = []

    async def main() -> None:
        connection = connection_to(proxy.url)

        async def call() -> None:
            await connection.submit(PING)

        kept.append(asyncio.create_task(call()))
        await eventually_async(lambda: proxy.connections)
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.sleep(0.2)

    asyncio.run(main())
    assert proxy.connections == 1


async def test_an_aborted_opening_that_has_just_ended_is_closed(proxy: Proxy) -> None:
    connection = connection_to(proxy.url)
    future = connection.submit(PING)
    await asyncio.sleep(0)
    opening = next(task for task in asyncio.all_tasks() if task.get_name() == "holdfast calls")
    opening.remove_done_callback(connection._opened)
    opening.add_done_callback(lambda _: connection.abort())  # comes first
    opening.add_done_callback(connection._opened)
    assert isinstance(await future, Unsent)
    await asyncio.sleep(0.1)
    await eventually_async(lambda: proxy.open_connections == 0)


async def test_a_cut_of_tls_is_noticed_before_it_is_used(standalone: Server, unit: Unit) -> None:
    with Tls(standalone.address) as tls:
        caller = AsyncCaller(Settings.from_url(tls.url))
        for n in range(5):
            await echo(caller, unit, str(n))
            tls.cut()
            time.sleep(0.05)  # noqa: ASYNC251 (idle for so long it is looked at before it is used)
        await echo(caller, unit, "last")
        await caller.close()


class Fragile(flavour.Connection):
    """A class of the user's own that fails as no other does."""

    failing = ""

    async def send_packed_command(self, *args: Any, **options: Any) -> None:
        if Fragile.failing == "write":
            raise LookupError("writing failed")
        await super().send_packed_command(*args, **options)

    async def read_response(self, *args: Any, **options: Any) -> Any:
        reply = await super().read_response(*args, **options)
        if Fragile.failing == "read":
            raise LookupError("reading failed")
        return reply


@pytest.mark.parametrize(
    ("part", "expected"), [("write", "writing failed"), ("read", "reading failed")]
)
async def test_whatever_a_class_of_the_user_raises_ends_its_connection(
    standalone: Server, unit: Unit, part: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Redis.from_url(standalone.url, connection_class=Fragile)  # type: ignore[no-untyped-call]
    caller = AsyncCaller(Settings.of(client))
    await echo(caller, unit, "well")
    monkeypatch.setattr(Fragile, "failing", part)
    with pytest.raises(OutcomeUnknown, match=expected):
        await echo(caller, unit, "ill")
    monkeypatch.setattr(Fragile, "failing", "")
    await echo(caller, unit, "well again")
    await caller.close()
    await client.aclose()


@pytest.mark.parametrize("kind", [flavour.Connection, Fragile])
async def test_a_reply_that_came_while_the_loop_was_busy_is_read(
    proxy: Proxy, unit: Unit, kind: type[Any]
) -> None:
    client = Redis.from_url(proxy.url, connection_class=kind, socket_timeout=1)  # type: ignore[no-untyped-call]
    caller = AsyncCaller(Settings.of(client))
    await echo(caller, unit, "first")
    replies = proxy.replies
    proxy.delay(0.3, "requests")
    call = asyncio.create_task(echo(caller, unit, "second"))
    await asyncio.sleep(0.1)
    eventually(
        lambda: proxy.replies > replies
    )  # which keeps the loop from turning: it is the point
    time.sleep(1.5)  # noqa: ASYNC251
    await call
    await caller.close()
    await client.aclose()
