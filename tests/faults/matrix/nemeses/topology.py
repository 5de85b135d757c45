"""What happens to several servers: failover, partition, a stalled replica, slots that move."""

import time

from faults.clusters import Cluster
from faults.matrix.nemeses.fault import Fault, Target, whole
from faults.matrix.nemeses.unaffected_queue import UnaffectedQueue
from faults.matrix.scene import Scene, cluster, replicated, sentinel
from faults.servers import Server

PATIENT_MS = 30_000
"""A Sentinel that takes a slow machine for nothing else."""

MAJORITY = 3
"""Sentinels."""


def in_use(nodes: Cluster, slot: int) -> int:
    """Return a slot in use; a fault elsewhere would prove nothing."""
    assert nodes.owner(slot).execute("CLUSTER COUNTKEYSINSLOT", slot), f"nothing is in slot {slot}"
    return slot


def fail_over(target: Target, seconds: float) -> None:
    """Kill the primary; the Sentinels promote a replica."""
    watched = target.scene.watched
    assert watched is not None
    watched.lose_primary()
    target.scene.calm_ns = watched.elected_ns


def fail_over_one(target: Target, seconds: float) -> None:
    """Kill the primary of the first slot in use in a cluster; a queue elsewhere goes on.

    This holds also while no server has taken its place: that server waits until this was seen.
    """
    nodes, scene = target.scene.cluster, target.scene
    assert nodes is not None
    slot = in_use(nodes, scene.slots[0])
    with UnaffectedQueue(nodes, nodes.owner(slot)) as unaffected:
        scene.calm_ns = nodes.lose_primary(slot, meanwhile=unaffected.goes_on)
    scene.longest_s = unaffected.longest_s


def isolate(target: Target, seconds: float) -> None:
    """Isolate the primary and its clients for *seconds*; then the others go on without it.

    What it acknowledged meanwhile is gone when it is a replica in the end.
    """
    watched = target.scene.watched
    assert watched is not None
    watched.isolate_primary(seconds)
    target.scene.calm_ns = watched.elected_ns


def stall_replica(target: Target, seconds: float) -> None:
    """Let the replica fall behind."""
    assert target.scene.watched is not None
    replica = target.scene.watched.replica
    replica.pause()
    time.sleep(seconds)
    replica.resume()


def no_client_asked_the_replica(scene: Scene) -> None:
    """Check that clients send nothing to the replica: decisions need the primary."""
    assert scene.watched is not None
    asked = questions_to(scene.watched.replica)
    assert not asked, f"the replica was asked: {', '.join(asked)}"


def questions_to(server: Server) -> list[str]:
    """Return requests that only clients send: scripts, and reads of data."""
    run = server.execute("INFO", "commandstats")
    names = [name.removeprefix("cmdstat_") for name in run]
    abouts = zip(names, server.execute("COMMAND INFO", *names), strict=True)
    return sorted(name for name, about in abouts if "eval" in name or b"readonly" in about[2])


def move_slots(target: Target, seconds: float) -> None:
    """Move a slot to another node, half of its keys first: ASK, TRYAGAIN, MOVED."""
    nodes, scene = target.scene.cluster, target.scene
    assert nodes is not None
    for slot in scene.slots:
        with nodes.moving_slot(in_use(nodes, slot), nodes.other_primary(slot)) as move:
            move.migrate(1)
            time.sleep(seconds)


def migrate_slots(target: Target, seconds: float) -> None:
    """Move a slot to another node, with all its keys at once."""
    nodes, scene = target.scene.cluster, target.scene
    assert nodes is not None
    for slot in scene.slots:
        nodes.migrate_slot(in_use(nodes, slot), nodes.other_primary(slot))
        time.sleep(seconds)


FAULTS = {
    "F9": Fault(
        "the primary and its clients are cut off from the others, who go on without them",
        sentinel(replicas=2, sentinels=MAJORITY, down_after_ms=PATIENT_MS),
        whole,
        [isolate],
        lasting=(0.8, 0.8),
        trouble_s=0.0,
        lossy=True,
    ),
    "F9d": Fault(
        "as F9 with one replica, but all writes are `Replicated(1)`",
        sentinel(sentinels=MAJORITY, down_after_ms=PATIENT_MS, access="replicated"),
        whole,
        [isolate],
        lasting=(0.8, 0.8),
        trouble_s=0.0,
        lossy=True,
    ),
    "F10": Fault(
        "the primary dies, and one of two replicas takes over (three Sentinels)",
        sentinel(replicas=2, sentinels=MAJORITY),
        whole,
        [fail_over],
        trouble_s=0.0,
        lossy=True,
    ),
    "F10b": Fault(
        "of a cluster of three and three a primary dies, and its replica takes over",
        replicated,
        whole,
        [fail_over_one],
        trouble_s=0.0,
        lossy=True,
    ),
    "F10d": Fault(
        "as F10 with one replica, but all writes are `Replicated(1)`",
        sentinel(sentinels=MAJORITY, access="replicated"),
        whole,
        [fail_over],
        trouble_s=0.0,
        lossy=True,
    ),
    "F11": Fault(
        "the slots in use move to another node, with clients at work half-way",
        cluster,
        whole,
        [move_slots],
        lasting=(0.0, 0.3),
    ),
    "F11b": Fault(
        "the cluster moves slots, with all keys at once (Valkey 9)",
        cluster,
        whole,
        [migrate_slots],
        lasting=(0.0, 0.3),
        needs="cluster|migrateslots",
    ),
    "F18": Fault(
        "the replica falls behind: a read there would see the past",
        sentinel(down_after_ms=PATIENT_MS),
        whole,
        [stall_replica],
        lasting=(0.2, 0.8),
        heal=no_client_asked_the_replica,
    ),
}
