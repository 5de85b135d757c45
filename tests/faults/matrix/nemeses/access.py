"""What happens to the right to come in: rights taken, passwords changed, no place for anybody."""

import secrets
import time

from faults.matrix.nemeses.fault import Fault, Target, whole
from faults.matrix.scene import RIGHTS, USER, Scene, guarded
from faults.servers import Server

PLENTY = 10_000
"""Of clients."""


def server_of(scene: Scene) -> Server:
    """Return the only server."""
    assert scene.server is not None
    return scene.server


def _without(rule: str, target: Target, seconds: float) -> None:
    """Restrict the user by *rule* for *seconds*; then give back all rights."""
    server = server_of(target.scene)
    server.execute("ACL", "SETUSER", USER, rule)
    time.sleep(seconds)
    server.execute("ACL", "SETUSER", USER, *RIGHTS)


def forbid_commands(target: Target, seconds: float) -> None:
    """Forbid all commands."""
    _without("-@all", target, seconds)


def forbid_keys(target: Target, seconds: float) -> None:
    """Forbid all keys."""
    _without("resetkeys", target, seconds)


def forbid_channels(target: Target, seconds: float) -> None:
    """Forbid all channels; the server disconnects all subscribers."""
    _without("resetchannels", target, seconds)


def change_password(target: Target, seconds: float) -> None:
    """Change the password and disconnect all clients; they get the new one after *seconds*."""
    server, password = server_of(target.scene), secrets.token_hex(8)
    server.execute("ACL", "SETUSER", USER, "resetpass", f">{password}")
    server.execute("CLIENT", "KILL", "USER", USER)
    time.sleep(seconds)
    target.scene.hand_out(password)


def take_all_places(target: Target, seconds: float) -> None:
    """Disconnect all clients, and accept none for *seconds* (`maxclients`)."""
    with server_of(target.scene).client() as admin:
        admin.config_set("maxclients", 1)
        admin.execute_command("CLIENT", "KILL", "USER", USER)
        time.sleep(seconds)
        admin.config_set("maxclients", PLENTY)


FAULTS = {
    "F15c": Fault(
        "the user may run no command, touch no key, hear no channel; and then may again (ACL)",
        guarded,
        whole,
        [forbid_commands, forbid_keys, forbid_channels],
        lasting=(0.1, 0.5),
    ),
    "F15d": Fault(
        "the password is changed, and clients learn it late",
        guarded,
        whole,
        [change_password],
        lasting=(0.0, 0.4),
    ),
    "F15e": Fault(
        "the server takes no more connections (`maxclients`), and those there were are cut",
        guarded,
        whole,
        [take_all_places],
        lasting=(0.1, 0.5),
    ),
}
