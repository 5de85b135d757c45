"""A server that can save its state, and restart from a saved state: `Rollback`."""

from faults.servers import Server


class Rollback:
    """Saves the state of a server, and restarts the server from it.

    A failover that loses the last writes, or the restore of a backup, has the same effect.

    Args:
        server: a server with `persistence="always"`.
    """

    def __init__(self, server: Server) -> None:
        self.server = server
        self._length = server.append_only_bytes

    def save(self) -> None:
        """Remember the state of this moment."""
        self._length = self.server.append_only_bytes

    def restart(self) -> None:
        """Kill the server, and start it from the state that was saved."""
        self.server.kill()
        self.server.forget_beyond(self._length)
        self.server.start()
