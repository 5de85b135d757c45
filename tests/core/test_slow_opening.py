"""Connections that take longer to open than a call may take, as TLS does on a slow machine."""

import asyncio
import contextlib
import gc
import socket
import ssl
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import trustme

from faults.clusters import Cluster
from faults.ports import LOOPBACK
from faults.servers import Server
from faults.tls import Tls
from faults.waiting import eventually_async
from holdfast.core._async.router import AsyncRouter
from holdfast.core.concurrency.event_loop import new_loop
from holdfast.core.concurrency.loop_thread import LoopThread
from holdfast.core.maxmemory import MaxmemoryCheck
from holdfast.core.names import Namespace
from holdfast.core.renewer import _RenewalLoop
from holdfast.core.transport._async.connection import AsyncConnection
from holdfast.core.transport._async.stream import open_stream
from holdfast.core.transport.outcome import Replied, Unsent
from holdfast.core.transport.request import Request
from holdfast.core.transport.settings import Settings

PING = Request.of("PING")
CALL_S = 0.05


class Gate:
    """Takes connections at once, and lets nothing through before it is open.

    Attributes:
        port: where.
        opened: whether it is.
        visitors: how many came.
    """

    def __init__(self, port: int) -> None:
        self.port = 0
        self.opened = asyncio.Event()
        self.visitors = 0
        self._target = port
        self._visits: set[asyncio.Task[None]] = set()

    def welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.visitors += 1
        self._visits.add(asyncio.create_task(self._visit(reader, writer)))

    async def close(self) -> None:
        for visit in self._visits:
            visit.cancel()
        await asyncio.gather(*self._visits, return_exceptions=True)

    async def _visit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer):
            await self.opened.wait()
            from_server, to_server = await asyncio.open_connection(LOOPBACK, self._target)
            with contextlib.closing(to_server):
                ways = [(reader, to_server), (from_server, writer)]
                async with asyncio.TaskGroup() as forwarding:
                    for way in ways:
                        forwarding.create_task(_forward(*way))


async def _forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(2**16):
            writer.write(data)
    writer.close()


@asynccontextmanager
async def gate_to(port: int) -> AsyncIterator[Gate]:
    """Yield a gate in front of a port of this machine."""
    gate = Gate(port)
    async with await asyncio.start_server(gate.welcome, LOOPBACK, 0) as server:
        gate.port = server.sockets[0].getsockname()[1]
        try:
            yield gate
        finally:
            await gate.close()
            await asyncio.sleep(0)  # the loop removes closed connections in its next iteration


def hasty(url: str) -> Settings:
    """Return settings with a short timeout for calls and a long one for connections."""
    return replace(Settings.from_url(url), timeout_s=CALL_S, opening_s=60.0)


def patient(*connections: AsyncConnection) -> None:
    """Set a long timeout: a call that times out after it was sent closes the connection."""
    for connection in connections:
        connection._settings = replace(connection._settings, timeout_s=60.0)


async def test_a_handshake_goes_on_behind_the_calls_that_gave_up(standalone: Server) -> None:
    """They share it: each learns in time that it was not sent, and the last finds it done."""
    with Tls(standalone.address) as tls:
        async with gate_to(tls.port) as gate:
            settings = hasty(tls.url.replace(str(tls.port), str(gate.port)))
            connection = AsyncConnection(settings, settings.addresses[0])
            together = [connection.submit(PING), connection.submit(PING)]
            for outcome in [*await asyncio.gather(*together), await connection.submit(PING)]:
                assert isinstance(outcome, Unsent)
                assert f"no answer within {CALL_S:g} s" in outcome.reason
                assert connection.opening
            assert gate.visitors == 1
            patient(connection)
            gate.opened.set()
            await eventually_async(lambda: not connection.opening)

            async def answered() -> bool:
                return await connection.submit(PING) == Replied(b"PONG")

            await eventually_async(answered)
            assert gate.visitors == 1
            await connection.close()


async def test_a_connection_without_a_waiter_is_closed_at_once(standalone: Server) -> None:
    async with gate_to(standalone.port) as gate:
        settings = hasty(f"redis://{LOOPBACK}:{gate.port}")
        connection = AsyncConnection(settings, settings.addresses[0])
        assert isinstance(await connection.submit(PING), Unsent)
        assert connection.opening
        async with asyncio.timeout(30):
            await connection.close()
        assert not connection.opening


@pytest.mark.parametrize("daemon", [False, True])
def test_a_loop_may_end_in_the_midst_of_an_opening(daemon: bool, tmp_path: Path) -> None:
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(LOOPBACK).configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    with socket.create_server((LOOPBACK, 0)) as door, contextlib.ExitStack() as visits:
        door.settimeout(30)
        url = f"rediss://{LOOPBACK}:{door.getsockname()[1]}?ssl_ca_certs={tmp_path}/ca.pem"

        def welcome() -> None:
            came = door.accept()[0]
            came.settimeout(30)
            visitor = visits.enter_context(context.wrap_socket(came, server_side=True))
            assert visitor.recv(1)

        async def given_up() -> None:
            settings = hasty(url)
            opening = asyncio.ensure_future(open_stream(settings, settings.addresses[0], list, str))
            await asyncio.to_thread(welcome)
            opening.cancel()
            await asyncio.wait([opening])

        gc.collect()  # connections that other tests left open do not count here
        # Recorded, not raised as errors: a uvloop loop that fails to warn runs forever.
        with warnings.catch_warnings(record=True) as complaints:
            warnings.simplefilter("always", ResourceWarning)
            with asyncio.Runner(loop_factory=partial(new_loop, daemon=daemon)) as runner:
                runner.run(given_up())
            gc.collect()
        assert not [str(complaint.message) for complaint in complaints]


async def test_a_map_is_asked_for_on_the_connection_that_was_begun(cluster: Cluster) -> None:
    unit = Namespace.of("slow").unit("echo", "x")
    async with gate_to(cluster.nodes[0].port) as gate:
        routes = AsyncRouter(hasty(f"redis+cluster://{LOOPBACK}:{gate.port}"))
        assert await routes.address(unit) is None
        assert await routes.address(unit) is None
        assert gate.visitors == 1
        patient(*routes._discovering.values())
        gate.opened.set()

        async def known() -> bool:
            return await routes.address(unit) is not None

        await eventually_async(known)
        assert gate.visitors == 1
        await routes.close()


async def test_renewals_are_hasty_and_their_connections_are_not() -> None:
    """A lease of 6 s is asked for again after a second, on the connection that was begun."""
    settings = replace(Settings.from_url("redis://localhost"), timeout_s=5.0)
    thread = LoopThread.enter()
    rounds = _RenewalLoop(settings, None, MaxmemoryCheck(), thread)
    renewing = rounds._caller(6000).settings
    thread.leave()
    assert (renewing.timeout_s, renewing.patience_s) == (1.0, 5.0)
