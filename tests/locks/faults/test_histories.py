"""Histories of many holders under kills, pauses and lost replies: no permit is held twice."""

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from faults.checkers import rising_fences
from faults.history import Operation
from faults.nemesis import Nemesis, kill, pause
from faults.proxy import Proxy
from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast
from holdfast.locks._sync.fenced import SET
from holdfast.locks.permit_scripts import ACQUIRE, RELEASE, RENEW
from locks.faults.contest import (
    Contest,
    check,
    first_come_first_served,
    granted,
    longest_silence_ns,
)
from locks.faults.holder import KEY

KINDS = [("lock", 1), ("semaphore", 3)]
LOCK = [("lock", 1), pytest.param("semaphore", 3, marks=pytest.mark.long)]
SEMAPHORE = [pytest.param("lock", 1, marks=pytest.mark.long), ("semaphore", 3)]
"""The kinds that the short run tests."""
FAULTS_S = 2.0
ENOUGH_S = 60.0
"""How long a busy machine may need."""


@pytest.mark.parametrize(("kind", "limit"), LOCK)
def test_nothing_is_held_twice_while_holders_are_killed_and_paused(
    standalone: Server, tmp_path: Path, seed: int, kind: str, limit: int
) -> None:
    """Sixteen holders of both halves, killed and paused for longer than their lease."""
    with Contest(
        standalone.url, tmp_path, 4, holders=4, kind=kind, limit=limit, hold_s=0.02
    ) as contest:
        with Nemesis(
            seed,
            contest.processes,
            actions=[kill, pause],
            every=(0.2, 0.8),
            lasting=(0.5, 2.0),
        ):
            time.sleep(FAULTS_S)
        eventually(lambda: len(contest.grants()) > 20, ENOUGH_S)
        history = contest.stop()
    check(history, limit)


@pytest.mark.parametrize(("kind", "limit"), SEMAPHORE)
def test_sixteen_live_holders_are_served_in_order(
    standalone: Server, tmp_path: Path, kind: str, limit: int
) -> None:
    """First come, first served, though the clocks of the processes are hours apart."""
    contest = Contest(
        standalone.url, tmp_path, 4, kind=kind, limit=limit, holders=4, hold_s=0.05, lease=10.0
    )
    contest.set_clocks(-3600.0, 0.0, 3600.0, 7200.0)
    with contest:
        time.sleep(FAULTS_S)
        eventually(lambda: all(count >= 4 for count in _counts(contest.grants(), 16)))
        history = contest.stop()
    check(history, limit)
    first, last = {}, {}
    for op in granted(history):
        first.setdefault(op.fields["holder"], op.return_ns)
        last[op.fields["holder"]] = op.return_ns
    assert len(first) == 16
    together = range(max(first.values()), min(last.values()))  # all holders were running
    # The first acquisition of a holder connects first, which may take long.
    first_come_first_served([op for op in history if op.invoke_ns > together.start])
    shares = _counts([op for op in granted(history) if op.return_ns in together], 16)
    # A holder gets no permits while its process is silent.
    each_ns = len(together) / max(shares)
    missed = longest_silence_ns([op for op in history if op.invoke_ns in together]) / each_ns
    assert max(shares) - min(shares) <= 2 + missed


def _counts(grants: list[Operation], holders: int) -> list[int]:
    """Return how many permits each holder got."""
    had = Counter(op.fields["holder"] for op in grants)
    return [*had.values(), *[0] * (holders - len(had))]


@contextmanager
def losing(proxy: Proxy, seed: int, every_s: tuple[float, float]) -> Iterator[list[str]]:
    """Lose replies, requests and connections at random while the block runs."""
    choices, over, done = random.Random(seed), threading.Event(), []
    scripts = [script.sha1.encode() for script in (ACQUIRE, RELEASE, RENEW, SET)]

    def lose() -> None:
        while not over.wait(choices.uniform(*every_s)):
            how = choices.choice(["drop_reply", "drop_reply", "drop_request", "cut"])
            if how == "cut":
                proxy.cut()
            else:
                getattr(proxy, how)(match=choices.choice(scripts))
            done.append(how)

    thread = threading.Thread(target=lose)
    thread.start()
    try:
        yield done
    finally:
        over.set()
        thread.join()
        proxy.heal()


@pytest.mark.parametrize(("kind", "limit"), SEMAPHORE)
def test_nothing_is_held_twice_while_messages_are_lost(
    standalone: Server, proxy: Proxy, tmp_path: Path, seed: int, kind: str, limit: int
) -> None:
    with Contest(proxy.url, tmp_path, 4, holders=4, kind=kind, limit=limit, hold_s=0.02) as contest:
        with losing(proxy, seed, (0.02, 0.2)) as done:
            time.sleep(4)
            eventually(lambda: len(done) > 10)
            contest.goes_on()
        history = contest.stop()
    check(history, limit)
    with Holdfast.from_url(standalone.url, namespace=contest.namespace) as hf:
        held = (hf.lock if kind == "lock" else hf.semaphore)(KEY)
        held.acquire(timeout=60).release()  # after all remaining waiters
        eventually(lambda: held.inspect().waiters == ())


@pytest.mark.parametrize(("kind", "limit"), LOCK)
def test_nothing_is_held_twice_when_the_server_is_killed(
    fresh_server: Server, tmp_path: Path, seed: int, kind: str, limit: int
) -> None:
    """The server keeps what it acknowledged, and restarts."""
    with Contest(
        fresh_server.url, tmp_path, 4, holders=4, kind=kind, limit=limit, hold_s=0.02
    ) as contest:
        with Nemesis(
            seed, [fresh_server], actions=[kill, pause], every=(0.5, 1.5), lasting=(0.1, 2.0)
        ):
            time.sleep(FAULTS_S)
        eventually(lambda: len(contest.grants()) > 20, ENOUGH_S)
        history = contest.stop()
    check(history, limit)


def test_sixteen_holders_while_the_server_loses_its_data(
    fresh_server: Server, tmp_path: Path
) -> None:
    with Contest(fresh_server.url, tmp_path, 4, holders=4, hold_s=0.02) as contest:
        for _ in range(8):
            contest.goes_on()
            fresh_server.execute("FLUSHALL")
        contest.goes_on()
        history = contest.stop()
    rising_fences(history)


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("round_", range(5))
@pytest.mark.parametrize(("kind", "limit"), KINDS)
def test_nothing_is_held_twice_in_many_rounds(
    standalone: Server, tmp_path: Path, seed: int, kind: str, limit: int, round_: int
) -> None:
    with Contest(standalone.url, tmp_path, 8, kind=kind, limit=limit, hold_s=0.02) as contest:
        with Nemesis(
            seed,
            contest.processes,
            actions=[kill, pause],
            every=(0.1, 0.8),
            lasting=(0.1, 3.0),
        ):
            time.sleep(60)
        history = contest.stop()
    check(history, limit)
    assert len(granted(history)) > 200


@pytest.mark.parametrize(
    ("kind", "limit"),
    [("naive lock", 1), pytest.param("naive semaphore", 3, marks=pytest.mark.long)],
)
def test_the_checkers_find_the_errors_of_naive_locks(
    standalone: Server, tmp_path: Path, kind: str, limit: int
) -> None:
    with Contest(standalone.url, tmp_path, 4, kind=kind, limit=limit, hold_s=0.3) as contest:

        def is_caught() -> bool:
            held_by = eventually(lambda: holding(contest.history()))
            holder = next(p for p in contest.processes if held_by.startswith(p.name))
            holder.pause()
            time.sleep(1.5)
            holder.resume()
            return "the limit is" in found(contest.history(), limit)

        eventually(is_caught)
        history = contest.stop()
    assert "the limit is" in found(history, limit)


def found(history: list[Operation], limit: int) -> str:
    try:
        check(history, limit)
    except AssertionError as error:
        return str(error)
    return ""


def holding(history: list[Operation]) -> str | None:
    """Return the process of the latest holder, or None after its release."""
    latest = max(history, key=lambda op: op.return_ns or 0, default=None)
    return latest.process if latest is not None and latest.kind == "acquire" else None
