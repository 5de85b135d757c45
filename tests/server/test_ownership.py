"""Folders that others could change are refused, before anything in them is used."""

import asyncio
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest
from typer.testing import CliRunner

from holdfast import AsyncHoldfast, Holdfast, ServerFailed
from holdfast.cli.server import app
from holdfast.server import EmbeddedServer, start, status, stop

STRANGER: Final = 65534

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


def embedded(folder: Path) -> None:
    with Holdfast.embedded(folder) as hf:
        hf.queues()


def embedded_async(folder: Path) -> None:
    async def use() -> None:
        async with AsyncHoldfast.embedded(folder) as hf:
            await hf.queues()

    asyncio.run(use())


def started(folder: Path) -> None:
    answer = CliRunner().invoke(app, ["start", str(folder)])
    if answer.exit_code:
        raise ServerFailed(str(folder), " ".join(answer.output.split()))


OPENERS: Final = {
    "sync": embedded, "async": embedded_async, "open": EmbeddedServer.open,
    "start": start, "cli": started, "status": status, "stop": stop,
}  # fmt: skip


@pytest.fixture(params=OPENERS)
def opener(request: pytest.FixtureRequest) -> Callable[[Path], object]:
    return OPENERS[request.param]


def refused(opener: Callable[[Path], object], folder: Path, why: str) -> None:
    """Check that opening fails for that reason, and creates no file."""
    before = sorted(folder.iterdir()) if folder.exists() else []
    with pytest.raises(ServerFailed, match=why) as failed:
        opener(folder)
    assert str(folder) in str(failed.value).replace("\n", "")
    assert (sorted(folder.iterdir()) if folder.exists() else []) == before


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o720, 0o702, 0o1777])
def test_a_folder_that_others_can_write_to(
    tmp_path: Path, opener: Callable[[Path], object], mode: int
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    folder.chmod(mode)
    refused(opener, folder, "others can write to it")


@root_only
def test_a_folder_of_another_user(tmp_path: Path, opener: Callable[[Path], object]) -> None:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    os.chown(folder, STRANGER, STRANGER)
    refused(opener, folder, f"it belongs to user {STRANGER}; run as that user")


@pytest.mark.parametrize("mode", [0o777, 0o757])
def test_a_folder_below_one_that_others_can_write_to(
    tmp_path: Path, opener: Callable[[Path], object], mode: int
) -> None:
    above = tmp_path / "above"
    (above / "data").mkdir(parents=True, mode=0o700)
    above.chmod(mode)
    refused(opener, above / "data", "above, above it")
    above.chmod(0o700)


@root_only
def test_a_folder_below_one_of_another_user(tmp_path: Path) -> None:
    above = tmp_path / "above"
    (above / "data").mkdir(parents=True, mode=0o700)
    os.chown(above, STRANGER, STRANGER)
    refused(EmbeddedServer.open, above / "data", f"belongs to user {STRANGER}")
    refused(EmbeddedServer.open, above / "new", f"belongs to user {STRANGER}")
    assert not (above / "new").exists()


@root_only
def test_a_link_of_another_user(tmp_path: Path) -> None:
    shared, own = tmp_path / "shared", tmp_path / "own"
    own.mkdir(mode=0o700)
    shared.mkdir()
    shared.chmod(0o1777)
    (shared / "data").symlink_to(own)
    os.chown(shared / "data", STRANGER, STRANGER, follow_symlinks=False)
    with pytest.raises(ServerFailed, match=f"is a link of user {STRANGER}"):
        EmbeddedServer.open(shared / "data")
    assert list(own.iterdir()) == []


LINKED: Final = (
    *("server.log", "gate.lock", "supervisor.lock", "server.lock", "pinned", "users", "aof"),
    *("valkey.sock", "server.log.1"),
)


@pytest.mark.parametrize("name", LINKED)
@pytest.mark.parametrize("there", [True, False], ids=["file", "dangling"])
def test_a_link_inside(tmp_path: Path, name: str, there: bool) -> None:
    folder, target = tmp_path / "data", tmp_path / "target"
    folder.mkdir(mode=0o700)
    if there:
        target.write_text("mine")
    (folder / name).symlink_to(target)
    for opener in (EmbeddedServer.open, start, started, embedded):
        with pytest.raises(ServerFailed, match="in it is a link"):
            opener(folder)
    with suppress(ServerFailed):
        stop(folder)
    assert target.exists() == there
    assert not there or target.read_text() == "mine"


@root_only
def test_a_socket_of_another_user(tmp_path: Path, opener: Callable[[Path], object]) -> None:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as trap:
        trap.bind(str(folder / "valkey.sock"))
        os.chown(folder / "valkey.sock", STRANGER, STRANGER)
        trap.listen()
        trap.settimeout(0)
        refused(opener, folder, f"belongs to user {STRANGER}")
        with pytest.raises(BlockingIOError):
            trap.accept()


def test_a_log_with_another_name_elsewhere_gets_nothing(folder: Path, tmp_path: Path) -> None:
    """A hard link leads to a file of ours as a link does; the server begins another log."""
    folder.mkdir(mode=0o700)
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "mine").chmod(0o600)
    os.link(tmp_path / "mine", folder / "server.log")
    with EmbeddedServer.open(folder):
        assert (folder / "server.log").stat().st_size > 0
    assert (tmp_path / "mine").read_text() == "mine"


def test_what_is_well_is_not_refused(folder: Path, tmp_path: Path) -> None:
    """Readable by others, below a sticky folder, by a link of ours, or new below new ones."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    (shared / "data").mkdir(mode=0o755)
    (tmp_path / "link").symlink_to(shared)
    for path in (
        shared / "data",
        tmp_path / "link" / "data",
        tmp_path / "link" / ".." / "new" / "x",
    ):
        with EmbeddedServer.open(path) as server:
            assert Path(server.folder).exists()
            assert status(path).running
    assert (tmp_path / "new" / "x").stat().st_mode & 0o777 == 0o700
