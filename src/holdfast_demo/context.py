"""Provide the server, client, temporary folder and seed of a demo."""

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
    """Hold the server, client, folder and seed of a demo.

    Attributes:
        hf: a client for all threads of this process.
        url: URL of the server.
        socket: path of the server's socket; empty if the user gave a server.
        server_folder: folder of the embedded server; None if the user gave a server.
        namespace: namespace of all keys.
        folder: a temporary folder. Its path is short, because paths of sockets must be short.
        seed: seed of all random choices.
    """

    hf: Holdfast
    url: str
    socket: str
    server_folder: Path | None
    namespace: str
    folder: Path
    seed: int

    def subfolder(self, name: str) -> Path:
        """Create a folder in `folder` if it does not exist, and return its path."""
        inside = self.folder / name
        inside.mkdir(exist_ok=True)
        return inside

    def environment(self, **more: str) -> dict[str, str]:
        """Return the environment of a child process, with the server's URL: it may contain a
        password, so it must not be an argument."""
        kept = {name: value for name, value in os.environ.items() if "HOLDFAST_" not in name}
        where = {"HOLDFAST_URL": self.url, "HOLDFAST_NAMESPACE": self.namespace}
        return {**kept, **where, **more}


@contextmanager
def context_of(demo: Demo, ending: ExitStack) -> Iterator[DemoContext]:
    """Start the server of a demo, unless the user gave one. Stop it afterwards.

    Args:
        demo: the demo with its options.
        ending: exit stack to which the removal of the temporary folder is added.

    Raises:
        HoldfastError: the server cannot be started or used.
    """
    folder = Path(tempfile.mkdtemp(prefix="holdfast-demo-")).resolve()
    ending.callback(shutil.rmtree, folder, ignore_errors=True)
    # Use a new namespace on a server that may have other data.
    shared = demo.url or (demo.embedded and not demo.keeps_data)
    namespace = f"{NAMESPACE}-{secrets.token_hex(4)}" if shared else NAMESPACE
    seed = random.randrange(SEEDS) if demo.seed is None else demo.seed
    demo.seed = seed
    with ExitStack() as stack:
        url, socket, home = demo.url or "", "", None
        if not url:
            # Give the server a folder, so that each write is on disk before it is acknowledged.
            home = (demo.embedded or folder / "server").resolve()
            server = stack.enter_context(EmbeddedServer.open(home))
            url, socket = server.url, server.socket
        hf = stack.enter_context(Holdfast.from_url(url, namespace=namespace))
        yield DemoContext(hf, url, socket, home, namespace, folder, seed)
