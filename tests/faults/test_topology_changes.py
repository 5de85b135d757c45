"""Workers, refreshers and the gateway go on after a failover, and while slots move.

They do so by themselves, and within half a minute on a slow machine; nothing that was acknowledged
is lost. Writes that must not be lost with a primary wait for a replica: `Replicated(1)`.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import count
from typing import Any

import pytest

from faults.clusters import Cluster, is_primary
from faults.halves import Half
from faults.sentinels import Watched
from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast, OutcomeUnknown, Replicated, ServerUnavailable, TaskRegistry
from holdfast.core.names import Namespace
from rows.table import Table
from web.running import RunningApp, opened

QUEUES = {"sync": "queue-sync", "async": "queue-async"}
SOME = 20

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]


@contextmanager
def running(half: Half, each: Any) -> Iterator[None]:
    """Run a worker or refresher of that half within the block."""

    async def stop() -> None:
        each.stop()

    thread = threading.Thread(target=lambda: half.do(each.run()))
    thread.start()
    try:
        yield
    finally:
        half.do(stop() if half.name == "async" else each.stop())
        thread.join(60)
        assert not thread.is_alive()


class Application:
    """A worker and a refresher of each half, the gateway, and a producer; `with` runs them.

    Args:
        url: of the servers.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.namespace = f"changes-{secrets.token_hex(4)}"
        self.table = Table({1: {"left": 0}})
        self.enqueued: set[tuple[str, int]] = set()
        self.ran: set[tuple[str, int]] = set()
        self.live: RunningApp
        self._registries = {queue: TaskRegistry() for queue in QUEUES.values()}
        self._tasks = {
            queue: tasks.task(queue=queue, name=queue)(partial(self._run, queue))
            for queue, tasks in self._registries.items()
        }
        self._over = threading.Event()
        self._stack = ExitStack()

    def __enter__(self) -> Application:
        with ExitStack() as stack:
            for name, queue in QUEUES.items():
                half = Half(name)
                stack.callback(half.close)
                hf = half.client(self.url, self.namespace)
                worker = hf.worker(self._registries[queue], lease=2.0)
                cache = hf.row_cache("stock", source=self.table, shards=1, lease=2.0)
                half.do(cache.schedule(1, every=0.2))
                stack.enter_context(running(half, worker))
                stack.enter_context(running(half, cache))
            self.live = stack.enter_context(opened(self.url, self.namespace))
            producer = threading.Thread(target=self._produce)
            producer.start()
            stack.callback(producer.join)
            stack.callback(self._over.set)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def slots(self) -> set[int]:
        names = Namespace.of(self.namespace)
        units = [("queue", queue) for queue in QUEUES.values()]
        units += [("rows", "stock/0"), ("mailbox", "jack"), ("catalog", "queue")]
        return {names.unit(*unit).slot for unit in units}

    def _produce(self) -> None:
        """Enqueue again and again; what is not acknowledged is asked for until it is."""
        durability = Replicated(1, timeout=1.0)
        with Holdfast.from_url(self.url, namespace=self.namespace, durability=durability) as hf:
            for n in count():
                for queue, task in self._tasks.items():
                    op_id = secrets.token_hex(8)
                    enqueue = partial(hf.enqueue, task.call(n), op_id=op_id)
                    while not done(enqueue) and not self._over.wait(0.05):
                        pass
                    if self._over.wait(0.02):
                        return
                    self.enqueued.add((queue, n))

    def _run(self, queue: str, n: int) -> None:
        self.ran.add((queue, n))

    def work(self) -> None:
        """Wait until each part has done something from now on."""
        so_far = len(self.enqueued)
        eventually(lambda: len(self.enqueued) >= so_far + SOME, reason="tasks are enqueued")
        wanted = set(self.enqueued)
        eventually(lambda: wanted <= self.ran, reason="what was enqueued runs")
        self.table.rows[1] = {"left": self.table.rows[1]["left"] + 1}
        eventually(self._is_refreshed, reason="the row is refreshed")
        eventually(self._is_answered, reason="the gateway answers")

    def _is_refreshed(self) -> bool:
        row = done(lambda: self.live.hf.row_cache("stock").get(1))
        return bool(row) and row.value == self.table.rows[1]

    def _is_answered(self) -> bool:
        sent = self.live.of("jill").post("/v1/mailboxes/jack", json={"text": "hi"})
        fetched = self.live.of("jack").get("/v1/mailbox")
        page = self.live.visitor("viewer").get("/queues")
        return all(answer.is_success for answer in (sent, fetched, page))

    def messages(self) -> set[int]:
        """Return the numbers of the messages in the mailbox."""
        fetched = self.live.of("jack").get("/v1/mailbox", params={"limit": 100}).json()
        return {message["seq"] for message in fetched["messages"]}


def done(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except (ServerUnavailable, OutcomeUnknown):
        return None


def caught_up(primary: Server) -> None:
    """Wait until its replicas have all that it has now."""

    def behind() -> list[dict[str, Any]]:
        replication = primary.execute("INFO", "replication")
        replicas = [replication[f"slave{n}"] for n in range(replication["connected_slaves"])]
        assert replicas
        return [replica for replica in replicas if replica["offset"] < offset]

    offset = primary.execute("INFO", "replication")["master_repl_offset"]
    eventually(lambda: not behind(), reason="the replicas have what the primary has")


def survive(
    url: str, primaries: Callable[[], list[Server]], strike: Callable[[Application], None]
) -> None:
    """Change the servers while the application works, and check that it goes on with its data."""
    with Application(url) as application:
        application.work()
        before = application.messages()
        for primary in primaries():
            caught_up(primary)
        strike(application)
        application.work()
        assert before < application.messages()
    assert application.enqueued


@pytest.fixture(scope="module")
def own_cluster() -> Iterator[Cluster]:
    """Three primaries with a replica each, to be killed and moved about."""
    with Cluster(replicated=True) as cluster:
        yield cluster


def primaries_of(cluster: Cluster) -> list[Server]:
    return [node for node in cluster.nodes if is_primary(node)]


def test_a_sentinel_fails_over(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The primary is killed; one of its two replicas is promoted by three Sentinels."""
    with Watched(tmp_path_factory.mktemp("sentinel"), replicas=2, sentinels=3) as watched:
        survive(watched.url, lambda: [watched.primary], lambda application: watched.lose_primary())


def test_a_cluster_elects_a_replica(own_cluster: Cluster) -> None:
    """The primary that has a queue is killed, and comes back as a replica."""

    def strike(application: Application) -> None:
        slot = Namespace.of(application.namespace).unit("queue", QUEUES["async"]).slot
        victim = own_cluster.owner(slot)
        victim.kill()
        eventually(lambda: is_elected(slot), reason="a replica is elected")
        victim.start()

    def is_elected(slot: int) -> bool:
        try:
            return bool(own_cluster.owner(slot))
        except LookupError:
            return False

    survive(own_cluster.url, lambda: primaries_of(own_cluster), strike)


def test_slots_move(own_cluster: Cluster) -> None:
    def strike(application: Application) -> None:
        for slot in application.slots:
            own_cluster.move_slot(slot, own_cluster.other_primary(slot))

    survive(own_cluster.url, lambda: primaries_of(own_cluster), strike)
