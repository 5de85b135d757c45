"""The bytes of blocking connections."""

from __future__ import annotations

import secrets
import time
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
from holdfast.core.names import Namespace
from holdfast.core.script import Script

ADD = Script.of("test/add", "#!lua\nreturn redis.call('INCR', KEYS[1])")


def test_what_has_come_is_never_too_late(standalone: Server) -> None:
    """A program that was stopped for a while finds the replies that came meanwhile."""
    settings = Settings.from_url(standalone.url)
    connection = settings.connection(flavour, settings.addresses[0])
    connection.connect()
    stream = Stream(connection)
    stream.write(Request.of("PING").payload)
    time.sleep(0.3)
    assert stream.read(time.monotonic() - 1) == b"PONG"
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
    """So it is told like any other loss, and the next call has another connection."""
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
