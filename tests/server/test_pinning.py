"""Servers that are pinned, opened and closed at the same time."""

from contextlib import ExitStack
from pathlib import Path
from threading import Event, Thread

import pytest
import redis

from faults.waiting import eventually
from holdfast.errors import ServerFailed
from holdfast.server import EmbeddedServer, start, status, stop
from holdfast.server.folder import Folder
from holdfast.server.lock import is_held
from holdfast.server.supervisor import _taken
from server.processes import Process, kill, linux_only, living_in, server_of, supervisor_of, user_of

# A server that runs without users, and how to stop one


def test_a_pinned_server_stays_without_users_until_it_is_stopped(folder: Path) -> None:
    """Users come and go and always meet the same server."""
    started = start(folder)
    assert started.running
    assert started.pinned
    with EmbeddedServer.open(folder):
        pass
    assert status(folder).pid == started.pid
    assert stop(folder) is True
    assert not status(folder).running
    assert not status(folder).pinned


def test_start_pins_a_server_that_already_runs(folder: Path) -> None:
    with EmbeddedServer.open(folder):
        before = status(folder).pid
        assert start(folder).pid == before
    assert status(folder).pid == before
    stop(folder)


def test_stop_refuses_while_the_server_is_in_use(folder: Path) -> None:
    start(folder)
    with user_of(folder) as user:
        user.line()
        with pytest.raises(ServerFailed, match=rf"1 have it open \(process ids {user.pid}\)"):
            stop(folder)
        assert status(folder).running
        assert status(folder).pinned
    eventually(lambda: not status(folder).users)
    assert stop(folder)


def test_stop_with_force_takes_the_server_from_its_users(folder: Path) -> None:
    with EmbeddedServer.open(folder):
        before = status(folder).pid
        assert stop(folder, force=True)
        assert not status(folder).running
        with EmbeddedServer.open(folder):
            assert status(folder).pid not in (None, before)


@linux_only
def test_a_pinned_server_is_started_again_too(folder: Path) -> None:
    start(folder)
    before = server_of(folder)
    kill(before)
    eventually(lambda: status(folder).pid not in (None, before))
    stop(folder)


@linux_only
def test_a_pin_outlives_a_killed_supervisor(folder: Path) -> None:
    start(folder)
    kill(supervisor_of(folder))
    eventually(lambda: not living_in(folder))
    assert status(folder).pinned
    with EmbeddedServer.open(folder):
        pass
    assert status(folder).running
    stop(folder)


def test_stopping_what_does_not_run_is_no_error(folder: Path) -> None:
    assert stop(folder) is False
    with EmbeddedServer.open(folder):
        pass
    assert stop(folder) is False


# Many processes at the same moment

COME_AND_GO = """
import sys, redis
from holdfast.server import EmbeddedServer
for _ in range(int(sys.argv[2])):
    with EmbeddedServer.open(sys.argv[1]) as server:
        with redis.Redis.from_url(server.url) as client:
            client.incr("count")
"""


@linux_only
def test_clients_that_open_at_once_get_the_same_server(folder: Path) -> None:
    with ExitStack() as stack:
        users = [stack.enter_context(user_of(folder)) for _ in range(5)]
        assert {user.line() for user in users} == {str(folder)}
        assert len(living_in(folder)) == 2
        assert (folder / "server.log").read_text().count("Ready to accept") == 1
    eventually(lambda: not living_in(folder))


@linux_only
def test_opening_during_the_shutdown_waits_and_starts_again(folder: Path) -> None:
    with ExitStack() as stack:
        users = [stack.enter_context(Process(COME_AND_GO, folder, "6")) for _ in range(3)]
        for user in users:
            user.rest()
    with EmbeddedServer.open(folder) as server, redis.Redis.from_url(server.url) as client:
        assert client.get("count") == b"18"
        assert server_of(folder)
    log = (folder / "server.log").read_text()
    assert log.count("Ready to accept") == log.count("ready to exit") > 1


def test_a_folder_that_vanishes_has_no_users(folder: Path) -> None:
    """Its supervisor deletes a private one while its last user looks whether it is gone."""
    place = Folder.made(folder)
    done = Event()

    def come_and_go() -> None:
        while not done.is_set():
            Folder.made(folder).delete()

    thread = Thread(target=come_and_go)
    thread.start()
    try:
        assert all(place.user_pids() == () for _ in range(3000))
    finally:
        done.set()
        thread.join()


def test_threads_may_open_and_close_at_once(folder: Path) -> None:
    failures: list[BaseException] = []

    def come_and_go() -> None:
        try:
            for _ in range(3):
                with EmbeddedServer.open(folder) as server:
                    redis.Redis.from_url(server.url).incr("count")
        except BaseException as error:
            failures.append(error)
            raise

    threads = [Thread(target=come_and_go) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)

    assert failures == []
    with EmbeddedServer.open(folder) as server, redis.Redis.from_url(server.url) as client:
        assert client.get("count") == b"12"


def test_a_supervisor_that_looks_is_no_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client_lock, held = tmp_path / "1-lock", list[bool]()
    client_lock.touch()
    unlink = Path.unlink
    monkeypatch.setattr(Path, "unlink", lambda path: held.append(is_held(path)) or unlink(path))
    assert not _taken(client_lock)
    assert (held, client_lock.exists()) == ([False], False)
