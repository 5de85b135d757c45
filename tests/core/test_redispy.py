"""What lies under the connections of redis-py: this fails when a new version has moved it."""

import asyncio
import socket

import pytest
from redis import connection as blocking
from redis.asyncio import connection as flavour

from faults.servers import Server
from faults.waiting import eventually_async
from holdfast.core.transport.redispy import forget_writer, native, socket_of, writer_of
from holdfast.core.transport.settings import Settings


async def test_the_transport_of_an_asyncio_connection(standalone: Server) -> None:
    """It can be taken over, and is forgotten by redis-py."""
    settings = Settings.from_url(standalone.url)
    connection = settings.connection(flavour, settings.addresses[0])
    assert native(connection)
    await connection.connect()
    writer = await writer_of(connection)
    forget_writer(connection)
    assert isinstance(writer, asyncio.StreamWriter)
    assert not connection.is_connected
    await connection.disconnect()
    assert not writer.transport.is_closing()
    writer.close()
    await writer.wait_closed()


async def test_unread_data_is_not_lost(standalone: Server) -> None:
    """A connection on which something has come already is not taken over."""
    settings = Settings.from_url(standalone.url)
    connection = settings.connection(flavour, settings.addresses[0])
    await connection.connect()
    await connection.send_command("PING")
    await eventually_async(lambda: connection._reader._buffer)
    with pytest.raises(ConnectionError, match="unexpected reply"):
        await writer_of(connection)
    await connection.disconnect()


async def test_what_has_ended_is_not_writer_of(standalone: Server) -> None:
    settings = Settings.from_url(standalone.url)
    connection = settings.connection(flavour, settings.addresses[0])
    await connection.connect()
    connection._writer.transport.abort()
    with pytest.raises(ConnectionError, match="closed the connection"):
        await writer_of(connection)
    await connection.disconnect(nowait=True)


def test_the_socket_of_a_blocking_connection(standalone: Server) -> None:
    settings = Settings.from_url(standalone.url)
    connection = settings.connection(blocking, settings.addresses[0])
    assert native(connection)
    connection.connect()
    found = socket_of(connection)
    assert isinstance(found, socket.socket)
    assert found.gettimeout() == settings.timeout_s
    connection.disconnect()
    assert found.fileno() == -1
