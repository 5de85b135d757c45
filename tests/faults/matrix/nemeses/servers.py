"""What happens to one server: restarts, kills, power cuts, pauses, no memory, clock steps."""

import resource
import time
from collections.abc import Sequence

from faults.matrix.nemeses.fault import Fault, Target, whole
from faults.matrix.scene import Scene, clocked, standalone
from faults.nemesis import kill, pause, restart
from faults.servers import Server
from faults.waiting import eventually

LEASE_S = 1.0
STEP_S = 600.0

MUCH = 2_000
"""Bytes: some writes of a client. All but the last one that each client made were answered."""


def server(scene: Scene) -> Sequence[Server]:
    """Return the only server."""
    assert scene.server is not None
    return [scene.server]


def cut_power(victim: Server, seconds: float, much: int = 0) -> None:
    """SIGKILL, and what was written in the last *seconds* never reached the disk.

    Or in the time that it takes to write more than *much* (bytes).
    """
    # From now on it says itself that nothing more is synced, to those who ask (`WAITAOF`).
    victim.execute("CONFIG", "SET", "appendfsync", "no")
    on_disk = victim.append_only_bytes
    time.sleep(seconds)
    eventually(lambda: victim.append_only_bytes >= on_disk + much, reason="it writes")
    victim.kill()
    victim.forget_beyond(on_disk)
    victim.start()


def cut_power_amid_writes(victim: Server, seconds: float) -> None:
    """Cut the power as `cut_power` does, and make sure that a write is lost."""
    cut_power(victim, seconds, MUCH)


def roll_back(victim: Server, seconds: float) -> None:
    """SIGKILL, and a restart from the state of *seconds* ago, which is older than any lease."""
    cut_power(victim, seconds, MUCH)


def fill(victim: Server, seconds: float) -> None:
    """Leave no memory for new data (`noeviction`) for *seconds*."""
    victim.execute("CONFIG", "SET", "maxmemory", 1)
    time.sleep(seconds)
    victim.execute("CONFIG", "SET", "maxmemory", 0)


def fill_disk(victim: Server, seconds: float) -> None:
    """Leave no room on the disk for *seconds*: the append-only file cannot grow (`MISCONF`)."""
    _, most = resource.prlimit(victim.pid, resource.RLIMIT_FSIZE)
    full = victim.append_only_bytes, most
    resource.prlimit(victim.pid, resource.RLIMIT_FSIZE, full)
    time.sleep(seconds)
    resource.prlimit(victim.pid, resource.RLIMIT_FSIZE, (most, most))


def forget_scripts(victim: Server, _: float) -> None:
    """Run `SCRIPT FLUSH`."""
    victim.execute("SCRIPT", "FLUSH")


def hang_up(victim: Server, _: float) -> None:
    """Run `CLIENT KILL` for all clients, including subscribers."""
    victim.execute("CLIENT", "KILL", "TYPE", "normal")
    victim.execute("CLIENT", "KILL", "TYPE", "pubsub")


def forget_everything(victim: Server, _: float) -> None:
    """Run `FLUSHALL`."""
    victim.execute("FLUSHALL")


def forwards(target: Target, seconds: float) -> None:
    """Set the wall clock ahead for *seconds*."""
    assert target.scene.clock is not None
    target.scene.clock.set(STEP_S)
    time.sleep(seconds)
    target.scene.clock.set(0)


def backwards(target: Target, seconds: float) -> None:
    """Set the wall clock back for *seconds*."""
    assert target.scene.clock is not None
    target.scene.clock.set(-STEP_S)
    time.sleep(seconds)
    target.scene.clock.set(0)


def set_ahead(scene: Scene) -> None:
    """Set the clock ahead, so that all leases have expired."""
    assert scene.clock is not None
    scene.clock.set(2 * STEP_S)


FAULTS = {
    "F3": Fault(
        "the server is shut down in good order, and started again",
        standalone("always"),
        server,
        [restart],
        every=(0.3, 0.8),
    ),
    "F4": Fault(
        "the server is killed by SIGKILL (`appendfsync always`)",
        standalone("always"),
        server,
        [kill],
        every=(0.3, 0.8),
    ),
    "F5": Fault(
        "power is cut: what was written in the last half second is not on the disk",
        standalone("everysec"),
        server,
        [cut_power_amid_writes],
        every=(0.3, 0.6),
        lasting=(0.3, 0.5),
        lossy=True,
    ),
    "F5d": Fault(
        "as F5, but all writes are `Fsynced`",
        standalone("always", access="fsynced"),
        server,
        [cut_power],
        needs="waitaof",
        every=(0.3, 0.6),
        lasting=(0.3, 0.5),
        lossy=True,
    ),
    "F6": Fault(
        "the server is paused for three leases",
        standalone(),
        server,
        [pause],
        lasting=(3 * LEASE_S, 3 * LEASE_S),
    ),
    "F12": Fault(
        "the server's clock steps by ten minutes, forwards and backwards",
        clocked,
        whole,
        [forwards, backwards],
        lasting=(0.1, 0.5),
        heal=set_ahead,
    ),
    "F13": Fault(
        "the server has no memory left (`noeviction`)",
        standalone(),
        server,
        [fill],
        lasting=(0.2, 0.6),
        refuses_events=True,
    ),
    "F15": Fault(
        "scripts are forgotten (`SCRIPT FLUSH`), connections cut (`CLIENT KILL`)",
        standalone(),
        server,
        [forget_scripts, hang_up],
        every=(0.02, 0.2),
    ),
    "F15b": Fault(
        "the server forgets everything (`FLUSHALL`)",
        standalone(),
        server,
        [forget_everything],
        every=(0.4, 0.8),
        lossy=True,
    ),
    "F19b": Fault(
        "the disk of the server is full: it refuses all writes (`MISCONF`)",
        standalone("everysec"),
        server,
        [fill_disk],
        lasting=(0.2, 0.6),
    ),
    "F20": Fault(
        "the server is killed and restarts from a state that is some seconds old",
        standalone("everysec"),
        server,
        [roll_back],
        every=(0.3, 0.8),
        lasting=(1.5 * LEASE_S, 3 * LEASE_S),
        trouble_s=5.0,
        lossy=True,
        alone=True,
    ),
}
