"""A signal handler that calls in the middle of a call of the same thread."""

import secrets
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from faults.clusters import Cluster
from faults.proxy import Proxy
from faults.waiting import eventually
from holdfast.core.call._sync import Caller
from holdfast.core.connections.settings import Settings
from holdfast.core.names import Namespace
from holdfast.core.script import Script

ECHO = Script.of("test/echo", "#!lua flags=no-writes\nreturn ARGV[1]")


INCREMENT = Script.of("test/increment", "#!lua\nreturn redis.call('INCR', KEYS[1])")


@contextmanager
def interrupted(when: Callable[[], object], handler: Callable[[], object]) -> Iterator[None]:
    """Once *when* is true, a signal comes to this thread, and its *handler* runs."""

    main = threading.get_ident()

    def interrupt() -> None:
        eventually(when)
        signal.pthread_kill(main, signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, lambda *_: handler())
    try:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(interrupt)
            yield
    finally:
        signal.signal(signal.SIGUSR1, before)


@pytest.fixture
def caller(proxy: Proxy) -> Iterator[Caller]:
    caller = Caller(Settings.from_url(f"{proxy.url}?socket_timeout=60"))
    yield caller
    caller.close()


def test_each_hears_its_own_reply(proxy: Proxy, caller: Caller) -> None:
    unit = Namespace.of(secrets.token_hex(4)).unit("echo", "x")
    heard: list[bytes] = []

    def echo(word: str) -> None:
        heard.append(caller.call(ECHO, unit, [unit.key("k")], [word]))

    echo("first")
    proxy.delay(0.5)
    asked = proxy.requests
    with interrupted(lambda: proxy.requests > asked, lambda: echo("handler")):
        echo("program")
    assert heard == [b"first", b"handler", b"program"]
    proxy.heal()
    connections = proxy.connections
    echo("after")
    assert heard[-1] == b"after"
    assert proxy.connections == connections


@pytest.mark.timeout(60)
def test_a_handler_may_look_for_the_servers_that_the_program_looks_for(cluster: Cluster) -> None:
    unit = Namespace.of(secrets.token_hex(4)).unit("counter", "x")
    counted: list[int] = []
    with Proxy(cluster.nodes[0].address) as proxy:
        caller = Caller(Settings.from_url(f"redis+cluster://127.0.0.1:{proxy.port}"))

        def count() -> None:
            counted.append(caller.call(INCREMENT, unit, [unit.key("k")], []))

        proxy.delay(0.2)
        with interrupted(lambda: proxy.commands["CLUSTER"], count):
            count()
        caller.close()
    assert sorted(counted) == [1, 2]
