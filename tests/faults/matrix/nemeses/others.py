"""What else goes wrong: a task that kills its workers, a database that is away."""

import time

from faults.matrix.nemeses.fault import Fault, Target, whole
from faults.matrix.scene import Scene, standalone
from faults.matrix.workloads.base import POISON
from faults.matrix.workloads.rows import AWAY


def poison(target: Target, seconds: float) -> None:
    """Send tasks that kill their workers; every worker that dies is started again.

    Some rows cannot be loaded either.
    """
    (target.scene.folder / POISON).touch()
    until_s = time.monotonic() + seconds
    while time.monotonic() < until_s:
        for actor in target.scene.actors:
            if not actor.is_alive():
                actor.start()
        time.sleep(0.05)


def take_off_the_table(scene: Scene) -> None:
    """Stop sending them."""
    (scene.folder / POISON).unlink()


def take_away(target: Target, seconds: float) -> None:
    """Take the database away for *seconds*."""
    away = target.scene.folder / AWAY
    away.touch()
    time.sleep(seconds)
    away.unlink()


FAULTS = {
    "F17": Fault(
        "a task kills each worker that runs it, until it is dead; a row cannot be loaded",
        standalone(),
        whole,
        [poison],
        lasting=(8.0, 8.0),
        trouble_s=0.0,
        heal=take_off_the_table,
    ),
    "F19": Fault(
        "the database is away",
        standalone(),
        whole,
        [take_away],
        lasting=(0.2, 0.6),
    ),
}
