"""Test how `holdfast demo --check` measures resources: it finds a leak, and nothing without one."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from faults.servers import Server
from holdfast import Holdfast
from holdfast_demo.demo import ProcessFault, until
from holdfast_demo.nemesis import ROUND_S, KillSchedule
from holdfast_demo.resources import (
    FILES,
    LEAST_S,
    MEMORY,
    OLD_S,
    ResourceMonitor,
    TimeSeries,
    key_usage,
)


def noise(n: int) -> float:
    """Return a number that is the same in every run."""
    return random.Random(n).uniform(-1.0, 1.0)


FLAT: dict[str, Callable[[int], float]] = {
    "constant": lambda n: 50.0,
    "noise": lambda n: 50.0 + noise(n),
    "warming up": lambda n: 50.0 + min(n, 30) / 3,
    "sawtooth": lambda n: 50.0 + n % 10,
    "falling": lambda n: 80.0 - n / 10,
    "one peak": lambda n: 500.0 if n == 90 else 50.0,
}
GROWING: dict[str, Callable[[int], float]] = {
    "steadily": lambda n: 50.0 + n / 10,
    "with noise": lambda n: 50.0 + n / 10 + noise(n),
    "in steps": lambda n: 50.0 + 4 * (n // 20),
    "late": lambda n: 50.0 + max(0, n - 60) / 4,
}


def series_of(shape: Callable[[int], float], points: int = 100) -> TimeSeries:
    return TimeSeries("worker-1", MEMORY, [(5.0 * n, shape(n)) for n in range(points)])


@pytest.mark.parametrize("shape", FLAT)
def test_what_is_flat_did_not_grow(shape: str) -> None:
    """Ignore growth while it warms up."""
    assert not series_of(FLAT[shape]).grew()


@pytest.mark.parametrize("shape", GROWING)
def test_what_grows_is_found_out(shape: str) -> None:
    """Describe the growth in a sentence."""
    series = series_of(GROWING[shape])
    assert series.grew()
    assert series.sentence().startswith("memory in MB of worker-1: 5")


def test_a_few_points_prove_nothing() -> None:
    """Judge no process that was killed soon."""
    series = series_of(GROWING["steadily"], 11)
    assert (series.parts(), series.grew()) == ((), False)


@pytest.fixture
def monitor(standalone: Server) -> ResourceMonitor:
    """Return a monitor without processes."""
    return ResourceMonitor(standalone.url, dict, seconds=LEAST_S)


def test_a_process_is_looked_at(standalone: Server) -> None:
    """Read its memory and files; ignore a process that has ended."""
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("this system has no /proc")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as waiting:
        pids = {"waiting": waiting.pid, "gone": 2**22 + 1}
        monitor = ResourceMonitor(standalone.url, lambda: pids, seconds=LEAST_S)
        monitor.poll()
        monitor.poll()
        waiting.communicate(b"\n")
    monitor.close()
    courses = {(course["name"], course["what"]): course for course in monitor.results()["courses"]}
    assert {name for name, _ in courses} == {"demo", "waiting", "server"}
    assert courses["waiting", MEMORY]["lasted_s"] == courses["waiting", FILES]["lasted_s"] == 0.0


def test_a_growing_process_breaks_the_promise(monitor: ResourceMonitor) -> None:
    """Report an old process that grows, but not the one with the evidence."""
    for name, pid in {"demo": 1, "worker-1": 2, "young": 3}.items():
        for n in range(100):
            at_s = n * (OLD_S / 200 if name == "young" else OLD_S / 50)
            monitor._note(pid, name, MEMORY, at_s, 50.0 + n)
    monitor.close()
    [invariant] = monitor.invariants()
    assert not invariant.kept
    assert [problem.split()[4] for problem in invariant.problems] == ["worker-1:"]


def test_a_short_life_is_not_judged(standalone: Server) -> None:
    """Report it without judging it: it has not settled."""
    monitor = ResourceMonitor(standalone.url, dict, seconds=LEAST_S - 1)
    monitor.poll()
    monitor.close()
    assert list(monitor.invariants()) == []
    assert monitor.results()["courses"]


def test_keys_are_counted_by_block(fresh_server: Server) -> None:
    """Count every key by block; report memory outside of keys separately."""
    with (
        Holdfast.from_url(fresh_server.url, namespace="kept") as hf,
        fresh_server.client() as client,
    ):
        before = key_usage(client, 1.0)
        hf.mailbox("jill").send("x" * 100_000, sender="jack")
        hf.counter("hits").add()
        client.set("kept:plain", "x")
        after = key_usage(client, 2.0)
    grown = {block: n - before.keys.get(block, 0) for block, n in after.keys.items()}
    assert grown["mailbox"] >= 2
    assert grown["counter"] >= 1
    assert grown["other"] == 1
    assert after.bytes["mailbox"] - before.bytes.get("mailbox", 0) > 100_000
    assert after.beside == after.memory - sum(after.bytes.values())


def test_in_a_long_life_faults_come_again() -> None:
    """Repeat them, except those that must not; in a short run each comes once."""
    faults = [ProcessFault("often", int), ProcessFault("once", int, again=False)]
    for seconds, often in ((60.0, 1), (4 * ROUND_S, 4)):
        nemesis = KillSchedule(faults, seconds=seconds, seed=7)
        nemesis.poll(seconds)
        assert sorted(nemesis.killed) == ["often"] * often + ["once"]


def test_no_fault_is_left_out_because_the_time_is_over() -> None:
    """Carry all of them out, even if the time ends between two polls."""
    nemesis = KillSchedule(
        [ProcessFault("one", int), ProcessFault("other", int)], seconds=0.0, seed=7
    )
    nemesis.poll(0.0)
    assert sorted(nemesis.killed) == ["one", "other"]


def test_patience_lasts_as_long_as_something_moves() -> None:
    """Wait on as long as there is progress, however slow the machine is."""
    looks = count()
    assert (
        len(list(until(lambda: next(looks) > 3, progress=count().__next__, patience_s=30.0))) == 4
    )
    for _ in until(lambda: False, patience_s=0.0):
        pytest.fail("it has no patience")
