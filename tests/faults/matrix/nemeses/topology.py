"""What happens to several servers: failover, partition, a stalled replica, slots that move."""

from __future__ import annotations

import time

from faults.matrix.nemeses.fault import Fault, Target, whole
from faults.matrix.scene import Scene, cluster, sentinel

PATIENT_MS = 30_000
"""A Sentinel that takes a slow machine for nothing else."""


def fail_over(target: Target, seconds: float) -> None:
    """The primary dies; the Sentinel promotes the replica."""
    assert target.scene.watched is not None
    target.scene.watched.lose_primary()


def isolate(target: Target, seconds: float) -> None:
    """The primary and its clients are alone for *seconds*; then the others go on without it.

    What it acknowledged meanwhile is gone when it is a replica in the end.
    """
    assert target.scene.watched is not None
    target.scene.watched.isolate_primary(seconds)


def stall_replica(target: Target, seconds: float) -> None:
    """The replica falls behind."""
    assert target.scene.watched is not None
    replica = target.scene.watched.replica
    replica.pause()
    time.sleep(seconds)
    replica.resume()


def nobody_asked_the_replica(scene: Scene) -> None:
    """It repeats what scripts did, and runs none: whoever decides asks the primary."""
    assert scene.watched is not None
    stats = scene.watched.replica.execute("INFO", "commandstats")
    assert not [name for name in stats if "eval" in name], f"the replica was asked: {stats}"


def move_slots(target: Target, seconds: float) -> None:
    """A unit's slot goes to another node, half of its keys first: ASK, TRYAGAIN, MOVED."""
    nodes, scene = target.scene.cluster, target.scene
    assert nodes is not None
    for slot in scene.slots:
        with nodes.moving_slot(slot, nodes.stranger(slot)) as move:
            move.migrate(1)
            time.sleep(seconds)


FAULTS = {
    "F9": Fault(
        "the primary and its clients are cut off from the others, who go on without them",
        sentinel(down_after_ms=PATIENT_MS),
        whole,
        [isolate],
        lasting=(0.8, 0.8),
        trouble_s=0.0,
        lossy=True,
    ),
    "F10": Fault(
        "the primary dies, and the replica takes over",
        sentinel(),
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
    "F18": Fault(
        "the replica falls behind: whoever read there would see the past",
        sentinel(down_after_ms=PATIENT_MS),
        whole,
        [stall_replica],
        lasting=(0.2, 0.8),
        heal=nobody_asked_the_replica,
    ),
}
