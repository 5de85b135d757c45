"""What happens to processes under a supervisor: it or they are killed, or they are replaced."""

import os
import random
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from faults.matrix.nemeses.fault import Fault, Target, whole
from faults.matrix.scene import Scene, standalone

EVERY_S = (1.0, 2.0)
"""A process needs a while to start: trouble that comes sooner would let none serve."""


def supervisors(scene: Scene) -> Sequence[Any]:
    """Return the clients that are supervisors of worker processes."""
    return [actor for actor in scene.actors if actor.name.startswith("worker")]


def kill_all(actor: Any, seconds: float) -> None:
    """Kill a supervisor and, half of the time, its processes with it; then start it again."""
    below = descendants(actor.pid) if random.random() < 0.5 else []
    actor.kill()
    for process in below:
        _kill(process)
    actor.start()


def kill_some(target: Target, seconds: float) -> None:
    """Kill one process below a supervisor: one that claims tasks, or one that computes."""
    below = [each for actor in supervisors(target.scene) for each in descendants(actor.pid)]
    if below:
        _kill(random.choice(below))


def descendants(process: int) -> list[int]:
    """Return the process ids of its children, and of theirs."""
    found = []
    for path in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):
            for child in map(int, path.read_text().split()):
                found += [child, *descendants(child)]
    return found


def _kill(process: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


FAULTS = {
    "F22": Fault(
        "supervisors killed by SIGKILL, alone or with their processes, and started again",
        standalone(),
        supervisors,
        [kill_all],
        every=EVERY_S,
        trouble_s=8.0,
        how={"supervised": "--processes 2"},
    ),
    "F22b": Fault(
        "processes of supervisors killed by SIGKILL, and children that compute for them",
        standalone(),
        whole,
        [kill_some],
        every=(0.5, 1.5),
        trouble_s=8.0,
        how={"supervised": "--processes 2"},
    ),
    "F22c": Fault(
        "processes replaced after every few tasks",
        standalone(),
        trouble_s=8.0,
        how={"supervised": "--processes 2 --max-tasks 100"},
        alone=True,
    ),
}
