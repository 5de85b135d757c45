"""What else goes wrong: a task that kills its workers, a database that is away."""

from __future__ import annotations

import time

from faults.matrix.nemeses.fault import Fault, Target, whole
from faults.matrix.scene import standalone
from faults.matrix.workloads.queues import POISON
from faults.matrix.workloads.rows import AWAY


def poison(target: Target, seconds: float) -> None:
    """One client begins to send what kills those who take it; whoever dies is started again."""
    (target.scene.folder / POISON).touch()
    until_s = time.monotonic() + seconds
    while time.monotonic() < until_s:
        for actor in target.scene.actors:
            if not actor.is_alive():
                actor.start()
        time.sleep(0.05)


def take_away(target: Target, seconds: float) -> None:
    """The database is gone for *seconds*."""
    away = target.scene.folder / AWAY
    away.touch()
    time.sleep(seconds)
    away.unlink()


FAULTS = {
    "F17": Fault(
        "a task kills each worker that runs it, until it is buried",
        standalone(),
        whole,
        [poison],
        lasting=(8.0, 8.0),
        trouble_s=0.0,
    ),
    "F19": Fault(
        "the database is away",
        standalone(),
        whole,
        [take_away],
        lasting=(0.2, 0.6),
    ),
}
