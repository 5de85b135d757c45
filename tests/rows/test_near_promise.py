"""The promise of near caches, under faults; and that the judge finds what breaks it."""

import time
from collections.abc import Callable, Iterator
from math import inf
from pathlib import Path
from typing import Any

import pytest

from faults.clusters import Cluster
from faults.proxy import Proxy
from faults.sentinels import Watched
from faults.servers import Server
from faults.waiting import eventually
from holdfast.cache.keys import TAG
from holdfast.core.concurrency.loop_thread import LoopThread
from holdfast.core.names import Namespace
from holdfast.core.near import guard, tracker
from holdfast.core.near.cache import NearCache
from holdfast.core.near.guard import Guard
from holdfast.core.near.ownership import Standalone
from holdfast.rows.keys import SHARD
from rows.near_history import Players, Results, Rows, Subject

NAMESPACE = "near"
SLOTS: dict[type[Subject], int] = {
    Rows: Namespace.of(NAMESPACE).unit(SHARD, "stock/0").slot,
    Results: Namespace.of(NAMESPACE).unit(TAG, "all").slot,
}
"""A slot on which all values depend: that of the rows, and that of a tag of all results."""

Fault = Callable[["Scene"], None]
VARIANTS: list[tuple[int, type[Subject]]] = [(2, Rows), (3, Rows), (3, Results)]


class Scene:
    """A server behind a proxy, with readers who come through the proxy."""

    def __init__(self, server: Server, proxy: Proxy, players: Players) -> None:
        self.server = server
        self.proxy = proxy
        self.players = players


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(persistence="always") as server:
        yield server


@pytest.fixture
def scene(server: Server, request: pytest.FixtureRequest) -> Iterator[Scene]:
    protocol, kind = getattr(request, "param", (3, Rows))
    query = f"?socket_timeout=3&protocol={protocol}"
    with Proxy(server.address) as proxy:
        players = Players(proxy.url + query, server.url + query, NAMESPACE, kind)
        yield Scene(server, proxy, players)


def calm(_: Scene) -> None:
    time.sleep(1.5)


def cut(scene: Scene) -> None:
    for _ in range(10):
        scene.proxy.cut()
        time.sleep(0.15)


def refused(scene: Scene) -> None:
    """Readers cannot connect, while writers go on."""
    with scene.proxy.refuse():
        time.sleep(1)


def half_open(scene: Scene) -> None:
    scene.proxy.black_hole()
    time.sleep(2.5)
    scene.proxy.heal()


def slow(scene: Scene) -> None:
    """Replies take so long that some pings are answered too late."""
    for delay_s, for_s in ((0.3, 1), (0.8, 1.5), (1.5, 5)):
        scene.proxy.delay(delay_s, "replies")
        time.sleep(for_s)
    scene.proxy.delay(0.0)


def stopped(scene: Scene) -> None:
    scene.server.pause()
    time.sleep(1.6)
    scene.server.resume()


def killed(scene: Scene) -> None:
    scene.server.kill()
    time.sleep(0.3)
    scene.server.start()


def flushed(scene: Scene) -> None:
    for _ in range(10):
        scene.server.execute("FLUSHALL")
        time.sleep(0.1)


def stalled(scene: Scene) -> None:
    """Stop the loop of the invalidation connections for a while."""
    del scene
    loop = LoopThread.enter()
    loop.call_soon(time.sleep, 2.5)
    time.sleep(2.6)
    loop.leave()


FAULTS = [calm, cut, refused, half_open, slow, stopped, killed, flushed, stalled]
SHORT = {(cut, 3, Results), (stalled, 3, Rows)}


def cases() -> list[Any]:
    """Return each fault with each protocol and kind; most are long."""
    return [
        pytest.param(
            (protocol, kind),
            fault,
            id=f"{fault.__name__}-resp{protocol}-{kind.__name__}",
            marks=[] if (fault, protocol, kind) in SHORT else [pytest.mark.long],
        )
        for fault in FAULTS
        for protocol, kind in VARIANTS
    ]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("scene", "fault"), cases(), indirect=["scene"])
def test_the_promise_holds(
    scene: Scene, fault: Fault, record_property: Callable[[str, object], None]
) -> None:
    with scene.players.playing():
        scene.players.wait_for_memory()
        fault(scene)
        scene.players.wait_for_memory()
    history = scene.players.history
    stale = history.longest_staleness()
    print(f"{history.from_memory} of {len(history.reads)} reads from memory, {stale:.3f} s stale")
    record_property("staleness", stale)
    assert history.writes
    assert history.violations() == []


@pytest.fixture
def three(tmp_path: Path) -> Iterator[Watched]:
    """Yield a primary with two replicas: after a failover, one of them is left."""
    with Watched(tmp_path, replicas=2) as watched:
        yield watched


@pytest.mark.long
@pytest.mark.parametrize("loss", ["lose_primary", "zombie"])
def test_the_promise_holds_when_a_sentinel_elects_another_primary(
    three: Watched, loss: str
) -> None:
    """Writers go directly to the server that is the primary for good: no write is lost."""
    url = f"{three.url}?socket_timeout=1"
    players = Players(url, url, NAMESPACE)
    with players.playing(readers=3, writers=0, both=0):
        replace_primary(three, players, loss)
        with players.writing(three.primary.url):
            players.wait_for_memory()
            time.sleep(1.5)
    assert players.history.violations() == []


def replace_primary(three: Watched, players: Players, loss: str) -> None:
    """Write to a primary, then replace it."""
    with players.writing(three.primary.url):
        players.wait_for_memory()
    time.sleep(0.5)  # until the replicas have everything
    if loss == "zombie":
        with three.zombie(), players.writing(three.primary.url):
            time.sleep(4)
    else:
        getattr(three, loss)()


@pytest.mark.long
@pytest.mark.parametrize("kind", [Rows, Results])
@pytest.mark.parametrize("way", ["moved", "half-way", "at once"])
def test_the_promise_holds_while_a_slot_moves(
    cluster: Cluster, way: str, kind: type[Subject]
) -> None:
    url, slot = f"{cluster.url}?socket_timeout=1", SLOTS[kind]
    players = Players(url, url, NAMESPACE, kind)
    with players.playing():
        for _ in range(2):
            players.wait_for_memory()
            target = cluster.other_primary(slot)
            if way == "half-way":
                with cluster.moving_slot(slot, target):
                    time.sleep(2.5)
            elif way == "moved":
                cluster.move_slot(slot, target)
            else:
                cluster.migrate_slot(slot, target)
        players.wait_for_memory()
    assert players.history.violations() == []


@pytest.mark.long
@pytest.mark.parametrize("kind", [Rows, Results])
def test_the_promise_holds_when_a_node_is_replaced(kind: type[Subject]) -> None:
    with Cluster(3, replicated=True) as cluster:
        url = f"{cluster.url}?socket_timeout=1"
        players = Players(url, url, NAMESPACE, kind)
        with players.playing():
            players.wait_for_memory()
            cluster.lose_primary(SLOTS[kind])
            players.wait_for_memory()
    assert players.history.violations() == []


# Mutants: each breaks one part, and the judge finds it.


def never_lapses(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(guard, "VALID_S", inf)


def lapses_late(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(guard, "VALID_S", 3.0)


def stamps_late(patch: pytest.MonkeyPatch) -> None:
    """Count the time of the answer, not that of the question."""
    confirm = Guard.confirm
    patch.setattr(Guard, "confirm", lambda self, _: confirm(self, guard.clock()))


def forgets_changes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(NearCache, "changed", lambda *_: None)


def forgets_own_writes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(NearCache, "drop", lambda *_: None)


def survives_its_connection(patch: pytest.MonkeyPatch) -> None:
    """Let a new connection to a server confirm what the old one has stored."""
    guards: dict[Any, Guard] = {}
    patch.setattr(Guard, "end", lambda _: None)
    patch.setattr(tracker, "Guard", lambda *where: guards.setdefault(where, Guard(*where)))


MUTANTS = [
    (never_lapses, stalled),
    (never_lapses, half_open),
    (lapses_late, half_open),
    (stamps_late, slow),
    (survives_its_connection, refused),
    (forgets_changes, calm),
    (forgets_own_writes, calm),
]


@pytest.mark.parametrize(
    ("mutate", "fault"),
    [
        pytest.param(
            *pair,
            id=f"{pair[0].__name__}-{pair[1].__name__}",
            marks=[] if pair == MUTANTS[-1] else [pytest.mark.long],
        )
        for pair in MUTANTS
    ],
)
def test_a_mutant_is_found(
    scene: Scene,
    mutate: Callable[[pytest.MonkeyPatch], None],
    fault: Fault,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mutate(monkeypatch)
    with scene.players.playing():
        scene.players.wait_for_memory()
        fault(scene)
        eventually(scene.players.history.violations, 30.0, reason="the judge finds the mutant")


@pytest.mark.long
def test_a_mutant_that_trusts_a_replaced_primary_is_found(
    three: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It neither asks the sentinels, nor minds that a ping was answered late."""
    monkeypatch.setattr(tracker, "BySentinels", lambda _: Standalone())
    monkeypatch.setattr(tracker, "VALID_S", inf)
    url = f"{three.url}?socket_timeout=30"
    players = Players(url, url, NAMESPACE)
    with players.playing(readers=3, writers=0, both=0):
        replace_primary(three, players, "zombie")
    assert players.history.violations()
