"""A signal handler that calls in the middle of a call of the same thread."""

from __future__ import annotations

import secrets
import signal
import threading
from collections.abc import Iterator

import pytest

from faults.proxy import Proxy
from holdfast.core.call._sync import Caller
from holdfast.core.connections.settings import Settings
from holdfast.core.names import Namespace
from holdfast.core.script import Script

ECHO = Script.of("test/echo", "#!lua flags=no-writes\nreturn ARGV[1]")


@pytest.fixture
def caller(proxy: Proxy) -> Iterator[Caller]:
    caller = Caller(Settings.from_url(f"{proxy.url}?socket_timeout=60"))
    yield caller
    caller.close()


def test_each_hears_its_own_reply(proxy: Proxy, caller: Caller) -> None:
    """As when SIGTERM gives up a lock while the program waits for a reply."""
    unit = Namespace.of(secrets.token_hex(4)).unit("echo", "x")
    heard: list[bytes] = []

    def echo(word: str) -> None:
        heard.append(caller.call(ECHO, unit, [unit.key("k")], [word]))

    echo("first")
    proxy.delay(0.5)
    before = signal.signal(signal.SIGUSR1, lambda *_: echo("handler"))
    try:
        main = threading.main_thread().ident
        assert main is not None
        threading.Timer(0.3, signal.pthread_kill, (main, signal.SIGUSR1)).start()
        echo("program")
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert heard == [b"first", b"handler", b"program"]
    proxy.heal()
    connections = proxy.connections
    echo("after")
    assert heard[-1] == b"after"
    assert proxy.connections == connections
