"""Fixtures: a folder, and the check that no process uses it after the test."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from faults.waiting import eventually
from holdfast.server import EmbeddedServer, stop
from server.processes import living_in


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Return a folder that does not exist yet. At the end, no process may use it."""
    path = tmp_path / "data"
    yield path
    try:
        eventually(lambda: not living_in(path), reason="everybody has left the folder")
    finally:
        stop(path, force=True)


@pytest.fixture
def server(folder: Path) -> Iterator[EmbeddedServer]:
    """Open the server of `folder` in this process."""
    with EmbeddedServer.open(folder) as opened:
        yield opened


@pytest.fixture
def client(server: EmbeddedServer) -> Iterator[redis.Redis]:
    """Open a client of `server`."""
    with redis.Redis.from_url(server.url, decode_responses=True) as connected:
        yield connected
