"""A folder whose processes must all be gone when the test is over."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from faults.waiting import eventually
from holdfast.server import EmbeddedServer, stop
from server.processes import living_in


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder that does not exist yet. At the end nobody may live in it."""
    path = tmp_path / "data"
    yield path
    try:
        eventually(lambda: not living_in(path), reason="everybody has left the folder")
    finally:
        stop(path, force=True)


@pytest.fixture
def server(folder: Path) -> Iterator[EmbeddedServer]:
    """The server of `folder`, open in this process."""
    with EmbeddedServer.open(folder) as opened:
        yield opened


@pytest.fixture
def client(server: EmbeddedServer) -> Iterator[redis.Redis]:
    """A client of `server`."""
    with redis.Redis.from_url(server.url, decode_responses=True) as connected:
        yield connected
