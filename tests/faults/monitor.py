"""What a server is asked, in order: `Watch`."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from faults.servers import Server


@dataclass
class Watch:
    """Commands as the server saw them: the connection they came on, and their words.

    Attributes:
        commands: of clients.
        scripted: those that scripts ran, their words only.
    """

    commands: list[tuple[str, list[str]]] = field(default_factory=list)
    scripted: list[list[str]] = field(default_factory=list)

    def after(self, sha1: str) -> list[list[str]]:
        """Return for each call of a script the commands that came later on its connection."""
        return [
            [words[0].upper() for later, words in self.commands[i + 1 :] if later == connection]
            for i, (connection, words) in enumerate(self.commands)
            if words[0].upper() == "EVALSHA" and words[1] == sha1
        ]


@contextmanager
def watching(server: Server) -> Iterator[Watch]:
    """Collect the commands that clients send, and that scripts run, within the context."""
    watch, end = Watch(), secrets.token_hex(8)
    with server.client() as client, client.monitor() as monitor:
        yield watch
        server.execute("ECHO", end)
        for event in monitor.listen():
            words = str(event["command"]).split(" ")
            if end in words:
                return
            if event["client_type"] == "lua":
                watch.scripted.append(words)
            else:
                watch.commands.append((f"{event['client_address']}:{event['client_port']}", words))
