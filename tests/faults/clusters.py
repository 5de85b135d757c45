"""A real cluster on loopback ports; tests can move its slots under load: `Cluster`."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from typing import Any, Self

import redis
from redis.cluster import RedisCluster

from faults.ports import LOOPBACK, Port
from faults.proxy import Proxy
from faults.servers import ANONYMOUS, Server, no_retry
from faults.waiting import eventually

SLOTS = 16_384
READY_S = 60.0
NODE_TIMEOUT_MS = 1_000
MIGRATE_TIMEOUT_MS = 5_000
MIGRATE_BATCH = 100
SOON = ("--repl-diskless-load", "swapdb")  # else it takes a second more to follow


class Cluster:
    """Primaries that share the slots evenly; `with` starts and removes it.

    Args:
        primaries: How many; a cluster wants at least three.
        options: More server options for every node.
        replicated: Whether each primary has a replica, which takes its place when it dies.

    Attributes:
        nodes: all of them, the first primaries first.
        followers: the replica that each of these was given.
    """

    def __init__(self, primaries: int = 3, *options: str, replicated: bool = False) -> None:
        self._buses = [Port() for _ in range(primaries * (1 + replicated))]
        self._clients: list[RedisCluster] = []
        self.nodes = [Server(*_cluster_options(bus), *SOON, *options) for bus in self._buses]
        self.primaries = self.nodes[:primaries]
        self.followers = dict(zip(self.primaries, self.nodes[primaries:], strict=False))

    @property
    def url(self) -> str:
        """Return the address of the first node as a `redis+cluster://` URL."""
        return f"redis+cluster://{LOOPBACK}:{self.nodes[0].port}"

    def client(self, **options: Any) -> RedisCluster:
        """Return a redis-py cluster client that retries nothing; it is closed with the cluster."""
        first = self._running()[0]
        options = {"retry": no_retry(), **ANONYMOUS, **options}
        client = RedisCluster(host=LOOPBACK, port=first.port, **options)
        self._clients.append(client)
        return client

    @cached_property
    def shared_client(self) -> RedisCluster:
        """Return a client that all share: a new one is slow, because it reads the command table."""
        return self.client()

    def start(self) -> None:
        """Start the nodes, make them a cluster, and wait until all of them say it is sound."""
        for node in self.nodes:
            node.start()
        # A node takes a config epoch only while it knows no other, so all found before any meets.
        for index, node in enumerate(self.nodes):
            node.execute("CLUSTER SET-CONFIG-EPOCH", index + 1)
        for index, primary in enumerate(self.primaries):
            first = index * SLOTS // len(self.primaries)
            last = (index + 1) * SLOTS // len(self.primaries) - 1
            primary.execute("CLUSTER ADDSLOTSRANGE", first, last)
        for node in self.nodes:
            self._introduce(node)
        self.wait_until_ok()
        for primary, follower in self.followers.items():
            follower.execute("CLUSTER REPLICATE", node_id(primary))
        eventually(lambda: all(map(_has_replica, self.followers)), READY_S)

    def lose_primary(self, slot: int, meanwhile: Callable[[], object] = lambda: None) -> int:
        """Kill the node that serves a slot, and start it again as a replica of its successor.

        Args:
            slot: the slot of the server.
            meanwhile: what to do while no server has the slot; no server is elected before.

        Returns:
            When all that were left knew the successor, of `time.monotonic_ns`.
        """
        old = self.owner(slot)
        old_id = node_id(old)
        follower = self.followers[old]
        # After its first copy, a replica gets no writes until it has acknowledged that, within 1 s.
        written = int(old.execute("INFO", "replication")["master_repl_offset"])
        eventually(lambda: _replicated(old) >= written, READY_S, reason="the replica has a copy")
        # Otherwise it holds itself for too old a copy if this takes long.
        follower.execute("CONFIG SET cluster-replica-validity-factor 0")
        follower.execute("CONFIG SET cluster-replica-no-failover yes")
        old.kill()
        meanwhile()
        follower.execute("CONFIG SET cluster-replica-no-failover no")
        eventually(
            lambda: all(owner_id(node, slot) not in {old_id, None} for node in self._running()),
            READY_S,
            reason=f"slot {slot} has a new owner",
        )
        elected_ns = time.monotonic_ns()
        old.start()
        self.wait_until_ok()
        return elected_ns

    def wait_until_ok(self, timeout: float = READY_S) -> None:
        """Wait until every node knows all others and all slots are served."""
        eventually(
            lambda: all(self._is_ok(node) for node in self.nodes),
            timeout,
            reason="every node of the cluster says cluster_state:ok",
        )

    def slot_of(self, key: str | bytes) -> int:
        """Return the slot of a key."""
        return int(self.nodes[0].execute("CLUSTER KEYSLOT", key))

    def owner(self, slot: int) -> Server:
        """Return the node that serves a slot, as the nodes themselves see it.

        Raises:
            LookupError: None of the running nodes says that it does.
        """
        for node in self._running():
            if owner_id(node, slot) == node_id(node):
                return node
        raise LookupError(f"no running node serves slot {slot}")

    def other_primary(self, slot: int) -> Server:
        """Return a primary that does not serve a slot."""
        owner = self.owner(slot)
        return next(node for node in self._running() if node is not owner and is_primary(node))

    def migrate_slot(self, slot: int, target: Server) -> None:
        """Have the cluster itself move a slot with all its keys at once (Valkey 9)."""
        where = ("SLOTSRANGE", slot, slot, "NODE", node_id(target))
        self.owner(slot).execute("CLUSTER", "MIGRATESLOTS", *where)
        self._wait_until_known(slot, target)

    def move_slot(self, slot: int, target: Server) -> None:
        """Move a slot with all its keys to another node."""
        with self.moving_slot(slot, target):
            pass

    @contextmanager
    def moving_slot(self, slot: int, target: Server) -> Iterator["Move"]:
        """Move a slot to another node, and stay half-way during the block.

        In the block the old owner redirects (ASK) for every key that it does not have, and answers
        TRYAGAIN to a command with several keys if it has only some of them. Nothing is moved
        but what `Move.migrate` moves; the end of the block moves the rest.
        """
        move = Move(slot, self.owner(slot), target)
        move.begin()
        try:
            yield move
        finally:
            move.finish(self._running())
        self._wait_until_known(slot, target)

    def _wait_until_known(self, slot: int, owner: Server) -> None:
        eventually(
            lambda: {owner_id(node, slot) for node in self._running()} == {node_id(owner)},
            reason=f"all nodes know the new owner of slot {slot}",
        )

    @contextmanager
    def proxied(self) -> Iterator[dict[Server, Proxy]]:
        """Put a proxy in front of each node, and let the nodes send all clients there.

        Clients made before the block learn of it only when they read the cluster's map again. Not
        with replicas, who would follow their primaries through the proxies.
        """
        assert not self.followers
        with ExitStack() as stack:
            proxies = {node: stack.enter_context(Proxy(node.address)) for node in self.nodes}
            stack.callback(self._announce, {node: node.port for node in self.nodes})
            self._announce({node: proxy.port for node, proxy in proxies.items()})
            yield proxies

    def close(self) -> None:
        """Kill and remove all nodes and close the clients made here."""
        for client in self._clients:
            client.close()
        for node in self.nodes:
            node.close()
        for bus in self._buses:
            bus.release()

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _running(self) -> list[Server]:
        return [node for node in self.nodes if node.is_running]

    def _announce(self, ports: dict[Server, int]) -> None:
        for node, port in ports.items():
            node.execute("CONFIG SET", "cluster-announce-port", port)
        eventually(
            lambda: all(_announced_ports(node) == set(ports.values()) for node in self._running()),
            reason="all nodes know the announced ports",
        )

    def _introduce(self, node: Server) -> None:
        for peer, bus in zip(self.nodes, self._buses, strict=True):
            if peer is not node:
                node.execute("CLUSTER MEET", LOOPBACK, peer.port, bus.number)

    def _is_ok(self, node: Server) -> bool:
        try:
            info = node.execute("CLUSTER INFO")
        except (redis.ConnectionError, redis.TimeoutError):
            return False
        return (
            info["cluster_state"] == "ok"
            and int(info["cluster_known_nodes"]) == len(self.nodes)
            and int(info["cluster_slots_ok"]) == SLOTS
        )


class Move:
    """A slot on its way from one node to another."""

    def __init__(self, slot: int, source: Server, target: Server) -> None:
        self.slot = slot
        self.source = source
        self.target = target

    def begin(self) -> None:
        """Mark the slot as leaving here and arriving there."""
        source_id, target_id = node_id(self.source), node_id(self.target)
        self.target.execute("CLUSTER SETSLOT", self.slot, "IMPORTING", source_id)
        self.source.execute("CLUSTER SETSLOT", self.slot, "MIGRATING", target_id)

    def migrate(self, limit: int = SLOTS) -> int:
        """Move up to `limit` keys of the slot; return how many were moved."""
        moved = 0
        while moved < limit:
            batch = min(limit - moved, MIGRATE_BATCH)
            keys = self.source.execute("CLUSTER GETKEYSINSLOT", self.slot, batch)
            if not keys:
                break
            where = (LOOPBACK, self.target.port, "", 0, MIGRATE_TIMEOUT_MS)
            self.source.execute("MIGRATE", *where, "KEYS", *keys)
            moved += len(keys)
        return moved

    def finish(self, nodes: list[Server]) -> None:
        """Move the remaining keys and notify every node, the new owner first (protocol)."""
        while self.migrate():
            pass
        target_id = node_id(self.target)
        others = [node for node in nodes if node not in (self.source, self.target)]
        others = [node for node in others if is_primary(node)]  # replicas get it from theirs
        for node in [self.target, self.source, *others]:
            node.execute("CLUSTER SETSLOT", self.slot, "NODE", target_id)


def _cluster_options(bus: Port) -> list[str]:
    return [
        *("--cluster-enabled", "yes", "--cluster-port", str(bus.number)),
        *("--cluster-node-timeout", str(NODE_TIMEOUT_MS)),
    ]


def node_id(node: Server) -> str:
    """Return the id of a node in the cluster."""
    return _text(node.execute("CLUSTER MYID"))


def is_primary(node: Server) -> bool:
    """Return whether a node considers itself a primary."""
    return bool(node.execute("INFO", "replication")["role"] == "master")


def _replicated(primary: Server) -> int:
    """Return up to which offset the replica has acknowledged the writes."""
    return int(primary.execute("INFO", "replication").get("slave0", {}).get("offset", -1))


def _has_replica(primary: Server) -> bool:
    replication = primary.execute("INFO", "replication")
    return bool(replication.get("slave0", {}).get("state") == "online")


def owner_id(node: Server, slot: int) -> str | None:
    """Return the id of the node that serves a slot, as *node* sees it."""
    for first, last, primary, *_ in node.execute("CLUSTER SLOTS"):
        if first <= slot <= last:
            return _text(primary[2])
    return None


def _announced_ports(node: Server) -> set[int]:
    """Return where a node sends clients."""
    return {int(primary[1]) for _, _, primary, *_ in node.execute("CLUSTER SLOTS")}


def _text(reply: bytes | str) -> str:
    return reply.decode() if isinstance(reply, bytes) else reply
