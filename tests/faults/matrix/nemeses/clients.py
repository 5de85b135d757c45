"""What happens to clients: killed, paused, cancelled, made to say everything twice."""

from collections.abc import Sequence
from typing import Any

from faults.matrix.nemeses.fault import Fault
from faults.matrix.scene import Scene, standalone
from faults.nemesis import kill, pause

LEASE_S = 1.0
"""Of everything that is leased in the matrix."""

STORM_S = 0.01


def clients(scene: Scene) -> Sequence[Any]:
    """Return all clients."""
    return scene.actors


FAULTS = {
    "F1": Fault(
        "clients killed by SIGKILL, and started again",
        standalone(),
        clients,
        [kill],
    ),
    "F2": Fault(
        "clients paused for longer than their lease",
        standalone(),
        clients,
        [pause],
        lasting=(1.2 * LEASE_S, 1.8 * LEASE_S),
    ),
    "F14": Fault(
        "what asyncio clients await is cancelled after 0 to 10 ms, rarely up to a second",
        standalone(),
        how={"storm_s": STORM_S},
    ),
    "F21": Fault(
        "signal handlers raise in the blocking half after 0 to 10 ms, rarely up to a second",
        standalone(),
        how={"alarm_s": STORM_S},
    ),
    "F16": Fault(
        "every request arrives twice",
        standalone(),
        how={"twice": True},
    ),
}
