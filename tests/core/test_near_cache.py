"""Near caches on real servers: what is stored, what is reported, and when nothing is served."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from redis.connection import Connection

from conftest import Site
from faults.clusters import Cluster
from faults.proxy import Proxy
from faults.servers import Server
from faults.waiting import eventually
from holdfast import acl_rule
from holdfast.core._sync.caller import Caller
from holdfast.core.names import Namespace
from holdfast.core.near.cache import KeyLocation, NearCache
from holdfast.core.near.guard import NO_GUARD, VALID_S, Guard, clock
from holdfast.core.near.options import Near, NearStats
from holdfast.core.near.tracker import Tracker
from holdfast.core.transport.settings import Settings


class Memory:
    """A near cache, and the plain keys on the server that it keeps."""

    def __init__(self, url: str, namespace: str, client: Any, **settings: Any) -> None:
        self.settings = replace(Settings.from_url(url), **settings)
        self.namespace = Namespace.of(namespace)
        self.tracker = Tracker(self.settings, self.namespace)
        self.caller = Caller(self.settings)
        self.cache = NearCache(self.tracker, Near())
        self.client = client
        self.unit = self.namespace.unit("thing", "a/0")
        self.place = KeyLocation(self.unit, self.unit.key("v:"))

    def set(self, key: str, value: str) -> None:
        self.client.set(self.place.prefix + key, value)

    def read(self, key: str, meanwhile: Callable[[], object] = lambda: None) -> bytes:
        """Read from the server, and put it into memory; *meanwhile* happens in between."""
        with self.cache.reading({key: self.place}, self.caller) as reading:
            value: bytes = self.caller.read(self.unit, "GET", self.place.prefix + key)
            meanwhile()
            reading.put(key, value, len(value or b""), 60.0)
        return value

    def find(self, key: str) -> Any:
        return self.cache.find(key, clock())

    def keep(self, key: str) -> None:
        """Read a value until it is in memory, and may be served."""

        def kept() -> bool:
            self.read(key)
            return self.find(key) is not None

        eventually(kept, reason=str(self.cache.stats()))

    @property
    def stats(self) -> NearStats:
        return self.cache.stats()

    def close(self) -> None:
        self.tracker.close()
        self.caller.close()


@pytest.fixture(params=[2, 3], ids=["resp2", "resp3"])
def memory(site: Site, request: pytest.FixtureRequest) -> Iterator[Memory]:
    if f"{site.namespace}:" in site.url:
        rule = acl_rule(site.namespace, near=True)
        site.client.execute_command(
            "ACL", "SETUSER", site.namespace, *rule.split(), "on", ">secret"
        )
    memory = Memory(site.url, site.namespace, site.client, protocol=request.param)
    yield memory
    memory.close()


@pytest.fixture
def proxied(standalone: Server, proxy: Proxy) -> Iterator[Memory]:
    memory = Memory(proxy.url, "near", standalone.shared_client, timeout_s=2.0)
    yield memory
    memory.close()


def test_a_change_removes_the_value(memory: Memory) -> None:
    memory.set("k", "1")
    memory.keep("k")
    assert memory.find("k") == b"1"
    memory.set("k", "2")
    eventually(lambda: memory.find("k") is None)
    memory.keep("k")
    assert memory.find("k") == b"2"
    memory.client.delete(memory.place.prefix + "k")
    eventually(lambda: memory.find("k") is None)


def test_an_expiry_removes_the_value(memory: Memory) -> None:
    memory.client.set(memory.place.prefix + "k", "1", px=2000)
    memory.keep("k")
    eventually(lambda: memory.find("k") is None)
    assert memory.read("k") is None
    assert memory.stats.invalidated == 1


def test_only_changes_of_its_prefix_matter(memory: Memory) -> None:
    memory.set("k", "1")
    memory.keep("k")
    other = memory.unit.key("w:k"), memory.namespace.unit("thing", "b/0").key("v:k")
    for key in other:
        memory.client.set(key, "2")
    time.sleep(0.2)
    assert memory.find("k") == b"1"
    assert memory.stats.invalidated == 0


def test_a_prefix_may_be_added_later(memory: Memory) -> None:
    memory.set("k", "1")
    memory.keep("k")
    for kind in ("second", "third"):
        unit = memory.namespace.unit(kind, "b/0")
        later = Memory.__new__(Memory)
        later.__dict__ = {
            **memory.__dict__,
            "unit": unit,
            "place": KeyLocation(unit, unit.key("v:")),
        }
        later.cache = NearCache(memory.tracker, Near())
        later.set("k", "2")
        later.keep("k")
        later.set("k", "3")
        eventually(lambda later=later: later.find("k") is None)
    memory.keep("k")
    assert memory.find("k") == b"1"


def test_a_name_of_any_letters(memory: Memory) -> None:
    for key in ("a}:b", "}:", "ü:ö", '["eu",7]', "{x}:y:", "*"):
        memory.set(key, "1")
        memory.keep(key)
        memory.set(key, "2")
        eventually(lambda key=key: memory.find(key) is None)


def flush(memory: Memory) -> None:
    memory.client.flushall()


CHANGES: dict[str, Callable[[Memory], object]] = {
    "set": lambda memory: memory.set("k", "2"),
    "delete": lambda memory: memory.client.delete(memory.place.prefix + "k"),
    "own write": lambda memory: memory.cache.drop(["k"]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_changed_while_it_was_read_is_not_kept(memory: Memory, change: str) -> None:
    memory.set("k", "1")
    memory.keep("k")
    refused = memory.stats.refused

    def meanwhile() -> None:
        CHANGES[change](memory)
        eventually(lambda: memory.find("k") is None, reason="it was reported")

    memory.read("k", meanwhile)
    assert memory.find("k") is None
    assert memory.stats.refused == refused + 1
    assert memory.cache._readings == {}


def test_what_was_read_before_a_flush_is_not_kept(fresh_server: Server) -> None:
    memory = Memory(fresh_server.url, "near", fresh_server.shared_client)
    memory.set("k", "1")
    memory.keep("k")

    def meanwhile() -> None:
        fresh_server.execute("FLUSHALL")
        eventually(lambda: memory.stats.entries == 0)

    memory.read("k", meanwhile)
    assert memory.find("k") is None
    assert memory.stats.refused == 1
    memory.keep("k") if memory.read("k") else memory.set("k", "2")
    memory.keep("k")
    memory.close()


def test_what_was_read_over_a_lost_connection_is_not_kept(proxied: Memory, proxy: Proxy) -> None:
    proxied.set("k", "1")
    proxied.keep("k")
    guard = proxied.tracker.guard(0)

    def meanwhile() -> None:
        proxy.cut()
        eventually(lambda: guard.ended and proxied.stats.confirmed)

    with suppress(Exception):
        proxied.read("k", meanwhile)
    assert proxied.find("k") is None
    assert proxied.stats.refused == 1
    proxied.keep("k")


def test_a_lost_connection_is_noticed_at_once(proxied: Memory, proxy: Proxy) -> None:
    proxied.set("k", "1")
    proxied.keep("k")
    with proxy.refuse():
        eventually(lambda: not proxied.stats.confirmed)
        assert proxied.find("k") is None
        assert proxied.stats.entries == 0
        eventually(lambda: proxied.stats.problem)
    proxied.keep("k")


def test_nothing_is_served_over_a_half_open_connection(proxied: Memory, proxy: Proxy) -> None:
    proxied.set("k", "1")
    proxied.keep("k")
    began = clock()
    proxy.black_hole("replies")
    eventually(lambda: proxied.find("k") is None, timeout=10)
    assert proxied.stats.staleness is None
    found = proxied.stats.unconfirmed
    assert found or clock() - began > VALID_S
    proxied.set("k", "2")
    proxy.heal()
    proxied.keep("k")
    assert proxied.find("k") == b"2"


def test_a_server_that_stops_for_a_while_keeps_its_values(fresh_server: Server) -> None:
    memory = Memory(fresh_server.url, "near", fresh_server.shared_client, timeout_s=30.0)
    memory.set("k", "1")
    memory.keep("k")
    fresh_server.pause()
    eventually(lambda: memory.find("k") is None)
    fresh_server.resume()
    eventually(lambda: memory.find("k") == b"1")
    memory.close()


def test_a_full_output_buffer_ends_the_connection(fresh_server: Server) -> None:
    """The server closes it; what it could not report is not served."""
    memory = Memory(fresh_server.url, "near", fresh_server.shared_client)
    memory.set("k", "1")
    memory.keep("k")
    guard = memory.tracker.guard(0)
    fresh_server.execute("CONFIG", "SET", "client-output-buffer-limit", "normal 100kb 0 0")
    stalled = threading.Event()
    tracking = next(iter(memory.tracker._running.values()))
    tracking.call_soon(stalled.wait)
    with fresh_server.client() as client:
        for n in range(3000):
            client.set(memory.place.prefix + f"{n:05}" + "x" * 5000, "1", px=1)
    assert memory.find("k") is None or clock() < guard.until
    stalled.set()
    eventually(lambda: guard.ended)
    memory.keep("k")
    memory.close()


def test_a_read_from_another_server_is_not_kept(memory: Memory) -> None:
    class Elsewhere:
        def address_of(self, unit: Any) -> Any:
            del unit
            return "another server", 1

    memory.set("k", "1")
    memory.keep("k")
    memory.cache.drop(["k"])
    with memory.cache.reading({"k": memory.place}, Elsewhere()) as reading:
        reading.put("k", b"1", 1, 60.0)
    assert memory.find("k") is None
    assert memory.cache._readings == {}


@pytest.mark.parametrize("way", ["half-way", "at once"])
def test_a_slot_that_moves(cluster: Cluster, way: str) -> None:
    """While it moves, nothing of it is served; then the new owner confirms it."""
    memory = Memory(cluster.url, f"near-{way[0]}", cluster.shared_client)
    memory.set("k", "1")
    memory.keep("k")
    slot, before = memory.unit.slot, memory.tracker.guard(memory.unit.slot)
    assert before.address == cluster.owner(slot).address
    target = cluster.other_primary(slot)
    if way == "half-way":
        with cluster.moving_slot(slot, target):
            eventually(lambda: before.ended and memory.tracker.guard(slot) is NO_GUARD)
            assert memory.find("k") is None
            with suppress(Exception):  # the old owner sends the caller to the new one
                memory.read("k")
            assert memory.find("k") is None
    else:
        cluster.migrate_slot(slot, target)
    eventually(lambda: memory.tracker.guard(slot).address == target.address)
    memory.keep("k")
    memory.set("k", "2")
    eventually(lambda: memory.find("k") is None)
    memory.close()


def test_a_connection_class_of_the_user(standalone: Server) -> None:
    from redis.asyncio.connection import Connection as AsyncConnection

    class Own(AsyncConnection):
        pass

    memory = Memory(standalone.url, "near", standalone.shared_client, foreign=Own)
    assert Connection is not Own
    memory.set("k", "1")
    memory.keep("k")
    memory.set("k", "2")
    eventually(lambda: memory.find("k") is None)
    memory.close()


def test_a_unix_socket(standalone: Server) -> None:
    url = f"unix://{standalone.socket_path}"
    memory = Memory(url, "near", standalone.shared_client)
    memory.set("k", "1")
    memory.keep("k")
    memory.close()


def test_nothing_is_served_after_the_end(memory: Memory) -> None:
    memory.set("k", "1")
    memory.keep("k")
    memory.tracker.close()
    assert memory.find("k") is None
    assert memory.stats.entries == 0
    assert memory.tracker.guard(0) is NO_GUARD


def test_a_closed_client_opens_no_connection(standalone: Server) -> None:
    memory = Memory(standalone.url, "near", standalone.shared_client)
    memory.tracker.lifetime.end()
    with memory.cache.reading({"k": memory.place}, memory.caller) as reading:
        reading.put("k", b"1", 1, 60.0)
    assert memory.tracker.guards == []
    memory.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_begins_with_no_values(standalone: Server) -> None:
    memory = Memory(standalone.url, "near", standalone.shared_client)
    memory.set("k", "1")
    memory.keep("k")
    child = os.fork()
    if not child:
        code = 1
        try:
            if memory.find("k") is None and memory.stats.entries == 0:
                memory.keep("k")
                memory.caller.read(memory.unit, "GET", "any")
                code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    memory.set("k", "2")
    eventually(lambda: memory.find("k") is None)
    memory.close()


@pytest.mark.parametrize("rounds", [12, pytest.param(60, marks=pytest.mark.long)])
def test_many_threads_read_and_write(memory: Memory, rounds: int) -> None:
    """A value in memory is never older than what its reader has seen before."""
    problems: list[str] = []
    over = threading.Event()

    def read(number: int) -> None:
        latest = 0
        while not over.is_set():
            key = f"k{number % 3}"
            found = memory.find(key)
            value = int(found if found is not None else memory.read(key) or 0)
            if found is None:
                if value < latest:
                    problems.append(f"{value} after {latest}, from the server")
                latest = max(latest, value)

    threads = [threading.Thread(target=read, args=[n]) for n in range(4)]
    for thread in threads:
        thread.start()
    for n in range(1, rounds + 1):
        for key in range(3):
            memory.set(f"k{key}", str(n))
        time.sleep(0.002)
    over.set()
    for thread in threads:
        thread.join()
    assert problems == []

    def all_read() -> bool:
        return all(
            int(memory.find(f"k{key}") or memory.read(f"k{key}")) == rounds for key in range(3)
        )

    eventually(all_read)
    assert memory.cache._readings == {}


def test_a_guard() -> None:
    guard = Guard(("localhost", 1))
    assert clock() > guard.until
    assert guard.staleness_s() is None
    since = clock()
    guard.confirm(since)
    assert guard.until == since + VALID_S
    assert guard.staleness_s() is not None
    guard.confirm(since - 10)
    assert guard.staleness_s() is None
    guard.end()
    guard.confirm(clock())
    assert guard.ended
    assert guard.staleness_s() is None
