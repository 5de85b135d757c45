"""Test `holdfast locks ls`, `show` and `wait`: their output and their exit codes."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from cli.filled_queue import Run, rows
from faults.waiting import eventually
from holdfast import Holdfast, LockState


@contextmanager
def contended(hf: Holdfast, number: int) -> Iterator[LockState]:
    """Hold and list lock `contended` while *number* clients wait for it."""
    lock = hf.lock("contended")

    def wait() -> None:
        with lock.hold():
            pass

    threads = [threading.Thread(target=wait) for _ in range(number)]
    with lock.hold():
        for thread in threads:
            thread.start()
        eventually(lambda: len(lock.inspect().waiters) == number)
        eventually(lambda: "contended" in hf.locks())
        yield lock.inspect()
    for thread in threads:
        thread.join()


@pytest.fixture
def busy(hf: Holdfast) -> Iterator[Holdfast]:
    """Hold lock `market` and two of three permits of semaphore `api`."""
    with ExitStack() as stack:
        stack.enter_context(hf.lock("market").hold())
        for _ in range(2):
            stack.enter_context(hf.semaphore("api", limit=3).hold())
        eventually(lambda: hf.locks() and hf.semaphores())
        yield hf


def test_what_is_in_use_is_listed(busy: Holdfast, run: Run) -> None:
    """List them by name, with permits and waiters."""
    with contended(busy, 1):
        _, *lines = run("locks", "ls").stdout.splitlines()
        found = rows(run("locks", "ls", "--json"))
    assert [line.split() for line in lines] == [
        ["api", "semaphore", "2/3", "0"],
        ["contended", "lock", "1/1", "1"],
        ["market", "lock", "1/1", "0"],
    ]
    assert found[1] == {"name": "contended", "kind": "lock", "limit": 1, "holders": 1, "waiters": 1}


def test_a_lock_is_shown_with_its_holder_and_the_next_waiter(hf: Holdfast, run: Run) -> None:
    """Print host, process, remaining lease, fence, and the waiters in order."""
    here = f"{socket.gethostname()}, process {os.getpid()}"
    with contended(hf, 2) as state:
        shown = run("locks", "show", "contended")
        [row] = rows(run("locks", "show", "contended", "--json"))
    assert shown.exit_code == 0, shown.output
    assert f"holder    {here}, " in shown.stdout
    assert f"fence     {state.fence}\n" in shown.stdout
    assert f"waiter 1  {here}\nwaiter 2  {here}\n" in shown.stdout
    assert (row["name"], row["kind"], row["limit"]) == ("contended", "lock", 1)
    assert row["fence"] == state.fence
    [holder] = row["holders"]
    assert 0 < holder.pop("remaining") <= 10
    names = [each["name"] for each in (holder, *row["waiters"])]
    assert names == [state.holder, *state.waiters]
    assert (holder["host"], holder["pid"]) == (socket.gethostname(), os.getpid())


def test_a_semaphore_is_shown(busy: Holdfast, run: Run) -> None:
    """Print its limit, and every holder."""
    shown = run("locks", "show", "api", "--semaphore")
    assert shown.exit_code == 0, shown.output
    assert "held       2/3\n" in shown.stdout
    assert shown.stdout.count(f"process {os.getpid()}, ") == 2
    [row] = rows(run("locks", "show", "api", "--semaphore", "--json"))
    assert (row["kind"], row["limit"], len(row["holders"]), row["waiters"]) == (
        "semaphore", 3, 2, [],
    )  # fmt: skip
    assert "fence" not in row


def test_a_lock_that_is_not_in_use_is_not_found(busy: Holdfast, run: Run) -> None:
    """Offer similar names; print JSON all the same."""
    for name, hint in (
        ("markt", "did you mean 'market'?"),
        ("api", "a semaphore of that name is in use: add --semaphore"),
    ):
        result = run("locks", "show", name)
        assert (result.exit_code, hint in result.stderr) == (3, True), result.output
        assert "no: it is free" in result.stdout
    result = run("locks", "show", "market", "--semaphore")
    assert (result.exit_code, "a lock of that name is in use" in result.stderr) == (3, True)
    with busy.rw_lock("index").write():
        eventually(busy.rw_locks)
        result = run("locks", "show", "index")
        assert (result.exit_code, "in use: add --rw" in result.stderr) == (3, True)
        assert "1 writer" in run("locks", "show", "index", "--rw").stdout
    with busy.rw_lock("index").read():
        eventually(busy.rw_locks)
        assert "1 reader" in run("locks", "show", "index", "--rw").stdout
    [row] = rows(run("locks", "show", "markt", "--json"))
    assert (row["fence"], row["holders"], row["waiters"]) == (None, [], [])


def test_wait_returns_when_the_lock_is_free(hf: Holdfast, run: Run) -> None:
    """Return at once if it is free, otherwise when it is released."""
    assert run("locks", "wait", "market", "--timeout", "0").exit_code == 0
    lease = hf.lock("market").acquire()
    releasing = threading.Timer(0.7, lease.release)
    releasing.start()
    waited = run("locks", "wait", "market", "--timeout", "30")
    assert (waited.exit_code, waited.output) == (0, "")
    assert hf.lock("market").inspect().holder is None
    releasing.join()


def test_wait_gives_up_after_its_timeout(busy: Holdfast, run: Run) -> None:
    """Exit with a code of its own, and name the holder."""
    for timeout in ("0", "0.2"):
        waited = run("locks", "wait", "market", "--timeout", timeout)
        assert waited.exit_code == 124
        assert f"lock 'market' was not free within {timeout} s" in waited.stderr
        assert f"process {os.getpid()} holds it" in waited.stderr


def test_wait_for_a_permit_of_a_semaphore(busy: Holdfast, run: Run) -> None:
    """Return while one permit is free."""
    command = ("locks", "wait", "api", "--semaphore", "--timeout", "0")
    assert run(*command).exit_code == 0
    with busy.semaphore("api").hold():
        assert run(*command).exit_code == 124


@pytest.mark.parametrize("timeout", ["-1", "nan", "inf", "soon"])
def test_an_invalid_timeout_is_wrong_usage(run: Run, timeout: str) -> None:
    """Refuse it before a server is used."""
    assert run("locks", "wait", "market", "--timeout", timeout).exit_code == 2
