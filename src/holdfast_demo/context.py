"""What a demo runs on: one server, one client, one temporary folder, one seed."""

from __future__ import annotations

import os
import random
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from holdfast import Holdfast
from holdfast.server import EmbeddedServer

from .demo import Demo

NAMESPACE: Final = "demo"
SEEDS: Final = 10_000


@dataclass(frozen=True, slots=True)
class DemoContext:
    """What a demo runs on.

    Attributes:
        hf: a client for all threads of this process.
        url: URL of the server.
        socket: path of its socket; empty for a server of the user.
        server_folder: folder of the embedded server; None for a server of the user.
        namespace: of all keys.
        folder: a temporary folder. Its path is short, as sockets need it.
        seed: seed of everything random.
    """

    hf: Holdfast
    url: str
    socket: str
    server_folder: Path | None
    namespace: str
    folder: Path
    seed: int

    def subfolder(self, name: str) -> Path:
        """Create a folder inside `folder`."""
        inside = self.folder / name
        inside.mkdir(exist_ok=True)
        return inside

    def environment(self, **more: str) -> dict[str, str]:
        """Return the environment of a process; a URL may hold a password, so it is passed here."""
        kept = {name: value for name, value in os.environ.items() if "HOLDFAST_" not in name}
        where = {"HOLDFAST_URL": self.url, "HOLDFAST_NAMESPACE": self.namespace}
        return {**kept, **where, **more}


@contextmanager
def context_of(demo: Demo, ending: ExitStack) -> Iterator[DemoContext]:
    """Start the server of a demo; stop it afterwards.

    Args:
        demo: names a server of the user, or none.
        ending: removes the temporary folder.

    Raises:
        HoldfastError: the server cannot be started or used.
    """
    folder = Path(tempfile.mkdtemp(prefix="holdfast-demo-")).resolve()
    ending.callback(shutil.rmtree, folder, ignore_errors=True)
    # On a server that others use, too, every run keeps to a namespace of its own.
    shared = demo.url or (demo.embedded and not demo.keeps_data)
    namespace = f"{NAMESPACE}-{secrets.token_hex(4)}" if shared else NAMESPACE
    seed = random.randrange(SEEDS) if demo.seed is None else demo.seed
    demo.seed = seed
    with ExitStack() as stack:
        url, socket, home = demo.url or "", "", None
        if not url:
            # In a folder, so that every write is on disk before it is acknowledged.
            home = (demo.embedded or folder / "server").resolve()
            server = stack.enter_context(EmbeddedServer.open(home))
            url, socket = server.url, server.socket
        hf = stack.enter_context(Holdfast.from_url(url, namespace=namespace))
        yield DemoContext(hf, url, socket, home, namespace, folder, seed)
