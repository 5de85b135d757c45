"""What all parts of the world stand on."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .... import Holdfast

NAMESPACE: Final = "demo"


@dataclass(frozen=True, slots=True)
class Ground:
    """One server, one database, one folder.

    Attributes:
        hf: a client, for all threads of this process.
        url: of the server.
        socket: likewise, its path.
        database: its URL, for SQLAlchemy.
        folder: a private one, with a short path: there are sockets in it.
        seconds: how long all goes on.
        seed: of all that is drawn by lot.
    """

    hf: Holdfast
    url: str
    socket: str
    database: str
    folder: Path
    seconds: float
    seed: int

    def room(self, name: str) -> Path:
        """A folder for a part."""
        room = self.folder / name
        room.mkdir(exist_ok=True)
        return room

    def environment(self, **more: str) -> dict[str, str]:
        """Of the parts' processes: where the server is goes this way, not over the command line."""
        kept = {name: value for name, value in os.environ.items() if "HOLDFAST_" not in name}
        return {**kept, "HOLDFAST_URL": self.url, "HOLDFAST_NAMESPACE": NAMESPACE, **more}
