"""Steps of the server's clock by an hour: holds may overlap, stale writes are refused.

The server and the holder measure a lease with their own clocks, so no lease survives such a step.
Then the fence protects the data (Kleppmann, "How to do distributed locking", 2016).
"""

import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from faults.checkers import rising_fences
from faults.clock import Clock, needs_faketime
from faults.nemesis import Nemesis, kill, pause
from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast, LeaseLost, StaleFence
from locks.faults.contest import Contest, granted, no_stale_write

pytestmark = needs_faketime

HOUR_S = 3600.0


@pytest.fixture
def clock(tmp_path: Path) -> Clock:
    return Clock(tmp_path)


@pytest.fixture
def server(clock: Clock) -> Iterator[Server]:
    with Server(env=clock.env) as server:
        yield server


def test_the_server_sees_a_step_of_its_clock(clock: Clock, server: Server) -> None:
    for off_s in (HOUR_S, -HOUR_S, 0.0):
        clock.set(off_s)
        eventually(lambda: abs(server.execute("TIME")[0] - time.time() - off_s) < 60)  # noqa: B023


def test_an_overtaken_holder_cannot_write(clock: Clock, server: Server) -> None:
    """The server grants the permit again long before the first lease ends for its holder."""
    with Holdfast.from_url(server.url) as hf:
        lease = hf.lock("l", lease=60.0).acquire()
        clock.set(HOUR_S)
        with hf.lock("l", lease=60.0).hold(timeout=30) as successor:
            assert not lease.lost
            hf.fenced("stock").set("new", successor.fence)
            with pytest.raises(StaleFence):
                hf.fenced("stock").set("late", lease.fence)
            assert hf.fenced("stock").get() == "new"
        with pytest.raises(LeaseLost):
            lease.release()


def test_readers_do_not_pass_a_writer_after_a_step_back(clock: Clock, server: Server) -> None:
    """Tickets follow the clock, and the phase is the ticket of a reader from before the step."""
    clock.set(HOUR_S)
    with Holdfast.from_url(server.url) as hf, ThreadPoolExecutor() as pool:
        lock = hf.rw_lock("l", lease=60.0)
        writer = lock.acquire_write()
        waiting = pool.submit(lock.acquire_read)
        eventually(lambda: len(lock.inspect().waiting_readers) == 1)
        writer.release()
        reader = waiting.result(60)
        clock.set(0.0)
        next_writer = pool.submit(lock.acquire_write)
        eventually(lambda: len(lock.inspect().waiting_writers) == 1)
        next_reader = pool.submit(lock.acquire_read)
        eventually(lambda: len(lock.inspect().waiting_readers) == 1)
        assert lock.try_read() is None
        assert not next_reader.done()
        reader.release()
        next_writer.result(60).release()
        next_reader.result(60).release()


def test_sixteen_holders_while_the_clock_steps(
    clock: Clock, server: Server, tmp_path: Path, seed: int
) -> None:
    """The clock steps forwards and backwards: fences rise, and no stale write is stored."""
    dice = random.Random(seed)
    with Contest(server.url, tmp_path, 4, holders=4, hold_s=0.02, lease=2.0) as contest:
        for _ in range(15):
            clock.set(dice.choice([-HOUR_S, 0.0, HOUR_S]))
            time.sleep(dice.uniform(0.05, 0.6))
        clock.set(HOUR_S)  # all leases that were left behind have ended
        eventually(lambda: len(contest.grants()) > 50, 60.0)
        history = contest.stop()
    rising_fences(history)
    no_stale_write(history)


@pytest.mark.long
def test_killed_and_paused_holders_while_the_clock_steps(
    clock: Clock, server: Server, tmp_path: Path, seed: int
) -> None:
    """The clock steps forwards only: after a step back, a dead holder's lease lasts an hour."""
    with Contest(server.url, tmp_path, 4, holders=4, hold_s=0.02) as contest:
        with Nemesis(
            seed, contest.processes, actions=[kill, pause], every=(0.2, 0.8), lasting=(0.5, 2.0)
        ):
            for hour in range(1, 9):
                time.sleep(1)
                clock.set(hour * HOUR_S)
        history = contest.stop()
    assert len(granted(history)) > 20
    rising_fences(history)
    no_stale_write(history)
