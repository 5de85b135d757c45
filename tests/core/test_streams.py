"""The bytes of blocking connections."""

import contextlib
import secrets
import select
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from redis import Redis
from redis import connection as flavour

from faults.servers import Server
from holdfast import OutcomeUnknown
from holdfast.core.call._sync import Caller
from holdfast.core.connections.request import Request
from holdfast.core.connections.settings import Settings
from holdfast.core.connections.stream._sync import Stream
from holdfast.core.connections.stream.redispy import socket_of
from holdfast.core.names import Namespace
from holdfast.core.script import Script

ADD = Script.of("test/add", "#!lua\nreturn redis.call('INCR', KEYS[1])")


def test_what_has_come_is_never_too_late(standalone: Server) -> None:
    settings = Settings.from_url(standalone.url)
    connection = settings.connection(flavour, settings.addresses[0])
    connection.connect()
    stream = Stream(connection)
    stream.write(Request.of("PING").payload)
    select.select([socket_of(connection)], [], [], 60)
    assert stream.read(time.monotonic() - 1) == b"PONG"
    stream.close()


@contextmanager
def talker(beginning: bytes, crumb: bytes) -> Iterator[str]:
    """The URL of a server that answers with a *beginning*, and then with a *crumb* for ever."""

    def talk(peer: socket.socket) -> None:
        with peer, contextlib.suppress(OSError):
            peer.recv(4096)
            peer.sendall(beginning)
            while crumb:
                peer.sendall(crumb)
            peer.recv(1)  # until it hangs up

    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: talk(server.accept()[0]))
        yield f"redis://127.0.0.1:{server.getsockname()[1]}?socket_timeout=60"


@pytest.mark.parametrize(
    ("beginning", "crumb"),
    [(b"$5\r\nhe", b""), (b"$400000000\r\n", b"x")],
    ids=["it stops", "it has no end"],
)
def test_a_reply_in_crumbs_has_no_longer_than_any_other(beginning: bytes, crumb: bytes) -> None:
    with talker(beginning, crumb) as url:
        settings = Settings.from_url(url)
        connection = settings.connection(flavour, settings.addresses[0])
        connection.driver_info = None  # so that it says nothing by itself
        connection.connect()
        stream = Stream(connection)
        stream.write(Request.of("PING").payload)
        began = time.monotonic()
        with pytest.raises(TimeoutError):
            stream.read(began + 0.1)
        assert time.monotonic() - began < 30
        stream.close()


class Fragile(flavour.Connection):
    """A class of the user's own that fails as no other does."""

    failing = False

    def read_response(self, *args: Any, **options: Any) -> Any:
        reply = super().read_response(*args, **options)
        if Fragile.failing:
            raise LookupError("the ear is deaf")
        return reply


def test_whatever_a_class_of_the_user_raises_it_may_have_been_applied(
    standalone: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    unit = Namespace.of(secrets.token_hex(4)).unit("counter", "x")
    with Redis.from_url(standalone.url, connection_class=Fragile) as client:
        caller = Caller(Settings.of(client))
        assert caller.call(ADD, unit, [unit.key("n")], []) == 1
        monkeypatch.setattr(Fragile, "failing", True)
        with pytest.raises(OutcomeUnknown, match="the ear is deaf"):
            caller.call(ADD, unit, [unit.key("n")], [])
        monkeypatch.setattr(Fragile, "failing", False)
        assert caller.call(ADD, unit, [unit.key("n")], []) == 3
        caller.close()
