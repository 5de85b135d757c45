"""What `status` sees."""

import dataclasses
import os
from pathlib import Path

import pytest
import redis

from holdfast.server import EmbeddedServer, ServerStatus, status
from server.processes import user_of


def test_a_folder_that_does_not_exist_is_not_running(folder: Path) -> None:
    assert status(folder) == ServerStatus(
        folder=str(folder),
        running=False,
        url=f"unix://{folder}/valkey.sock",
        pid=None,
        version=None,
        used_memory=None,
        pinned=False,
        users=(),
    )
    assert not folder.exists()


def test_a_running_server_tells_about_itself(
    server: EmbeddedServer, client: redis.Redis, folder: Path
) -> None:
    """Process, version and memory are those that the server itself reports."""
    seen = status(folder)

    assert seen.running
    assert seen.url == server.url
    assert seen.pid == client.info()["process_id"]
    assert seen.version
    assert seen.version.split()[0] in ("valkey", "redis")
    assert (seen.used_memory or 0) > 100_000


def test_the_users_are_counted_by_who_lives(server: EmbeddedServer, folder: Path) -> None:
    with user_of(folder) as other, EmbeddedServer.open(folder):
        other.line()
        assert status(folder).users == tuple(sorted([os.getpid(), os.getpid(), other.pid]))

        other.kill()
        assert status(folder).users == (os.getpid(), os.getpid())
    assert status(folder).users == (os.getpid(),)


def test_a_status_cannot_be_changed(folder: Path) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        status(folder).running = True  # type: ignore[misc]
