"""A server that runs without users, and how to stop one."""

from pathlib import Path

import pytest

from faults.waiting import eventually
from holdfast.errors import ServerFailed
from holdfast.server import EmbeddedServer, start, status, stop
from server.processes import keeper_of, kill, linux_only, living_in, server_of, user_of


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
def test_a_pin_outlives_a_killed_keeper(folder: Path) -> None:
    start(folder)
    kill(keeper_of(folder))
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
