"""`holdfast bench`: what it measures, and that nothing is left of it."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from cli.programs import clean
from faults.servers import Server
from faults.waiting import eventually
from holdfast import ServerFacts, acl_rule
from holdfast.cli.app import app
from holdfast.cli.bench.limits import limits
from holdfast.cli.bench.measure import (
    Measurement,
    repeat,
    repeat_in_coroutines,
    repeat_in_threads,
)
from holdfast.cli.bench.measurements import CROWDED, MEASUREMENTS, ROUND_TRIP

NAMES = [
    "a call: one round trip", "calls, 8 threads", "a lock: acquire and release", "a chat: send",
    "a counter: add", "a search among 1,000 names", "a task: enqueue",
    "tasks: enqueue_many, 500 at a time", "calls, 50 coroutines", "a worker: tasks run",
]  # fmt: skip


@pytest.fixture
def empty(fresh_server: Server) -> Server:
    """Return a server without keys."""
    with fresh_server.client() as client:
        assert client.dbsize() == 0
    return fresh_server


def test_everything_is_measured_and_nothing_is_left(empty: Server) -> None:
    """Print one JSON object; the warning goes to standard error."""
    result = CliRunner().invoke(app, ["bench", "--seconds", "1", "--json", "--url", empty.url])
    assert result.exit_code == 0, result.stderr
    assert "holdfast: this loads redis://" in result.stderr
    [shown] = map(json.loads, result.stdout.splitlines())
    assert [measure["name"] for measure in shown["measures"]] == NAMES
    assert len(NAMES) == MEASUREMENTS
    assert all(measure["per_second"] > 0 for measure in shown["measures"])
    assert shown["measures"][0]["p50_ms"] <= shown["measures"][0]["p99_ms"]
    with empty.client() as client:
        info = client.info("server")
    version = info.get("valkey_version", info["redis_version"])
    assert [server["version"] for server in shown["servers"]] == [version]
    assert shown["limits"]
    with empty.client() as client:
        assert client.dbsize() == 0


def test_for_people(empty: Server) -> None:
    """Print a line for each measurement, within eighty columns."""
    result = CliRunner().invoke(app, ["bench", "--seconds", "1", "--url", empty.url])
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0].startswith("holdfast 0.")
    assert lines[1].startswith(f"{empty.url}: ")
    table = lines[3 : 4 + MEASUREMENTS]
    assert [line[:34].rstrip() for line in table] == ["", *NAMES]
    assert max(map(len, table)) <= 80
    assert "One call after the other takes" in result.stdout


def test_nothing_is_left_after_ctrl_c(empty: Server) -> None:
    """Interrupt it in the middle: it still removes its keys."""
    command = ["bench", "--seconds", "600", "--url", empty.url]
    with subprocess.Popen(
        [sys.executable, "-m", "holdfast", *command],
        env=clean() | {"PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stderr is not None
        assert "this loads" in program.stderr.readline()
        with empty.client() as client:
            eventually(lambda: "cmdstat_evalsha" in client.info("commandstats"))
            program.send_signal(signal.SIGINT)
            assert program.wait(60) == 130
            assert client.dbsize() == 0
        assert "Traceback" not in program.stderr.read()


def test_a_user_of_one_namespace_is_refused(empty: Server) -> None:
    """Refuse such a user: `bench` never works in a namespace of an application."""
    with empty.client() as client:
        rule = acl_rule("jill").split()
        client.execute_command("ACL", "SETUSER", "jill", *rule, "on", ">secret")
    url = empty.url.replace("://", "://jill:secret@")
    result = CliRunner().invoke(app, ["bench", "--seconds", "1", "--url", url])
    assert (result.exit_code, "rights to any namespace" in result.stderr) == (4, True)


def test_a_server_that_is_away() -> None:
    """Print one error for it."""
    result = CliRunner().invoke(app, ["bench", "--url", "redis://localhost:1"])
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.count("cannot use") == 1


def facts(**changed: object) -> ServerFacts:
    usual: dict[str, object] = {
        "address": "x:1", "software": "valkey", "version": "9", "uptime": 1.0, "memory": 1,
        "memory_peak": 1, "memory_limit": None, "eviction": "noeviction", "evicted": 0,
        "clients": 1, "commands_per_second": 0.0, "keys": 0, "appends": False, "fsync": None,
        "persists": True, "saved_at": None, "replicas": (), "slow": None,
    }  # fmt: skip
    return ServerFacts(**(usual | changed))  # type: ignore[arg-type]


def test_the_limit_is_named() -> None:
    """Name the limit by processor time, by the load, and by what the server reports."""
    trip = Measurement(ROUND_TRIP, 1_000, 1.0, 0.25)
    first, second = limits([trip, Measurement(CROWDED, 9, 1.0, 0.97)], [facts()], 0.1, 2)
    assert (
        "takes 1.00 ms each: this program computes for 0.25 ms of it, and waits for 0.75 ms"
        in first
    )
    assert "limited by this program: it uses 97% of a core" in second
    idle = [trip, Measurement(CROWDED, 9, 1.0, 0.3)]
    server = facts(fsync="always", commands_per_second=9_000.0)
    _, busy, network, disk, others = limits(idle, [server], 6.5, 2)
    assert "load is 6.5, and it has 2 cores" in busy
    assert "not limited by this program, which uses 30% of a core" in network
    assert "appendfsync is always" in disk
    assert "9,000 commands/s for other programs" in others


def test_once_at_least() -> None:
    """Repeat an action at least once, however long it takes."""
    assert repeat("x", int, 0.0).count == 1
    assert repeat_in_threads("x", int, 0.0, 2).count == 2

    async def work() -> None: ...

    assert asyncio.run(repeat_in_coroutines("x", work, 0.0, 3)).count >= 1


def test_percentiles() -> None:
    """Compute them only if each repetition was timed."""
    measure = Measurement("x", 4, 2.0, 1.0, [0.001, 0.002, 0.003, 0.1])
    assert (measure.per_second, measure.cpu_share) == (2.0, 0.5)
    assert (measure.percentile_ms(0.5), measure.percentile_ms(0.99)) == (2.0, 3.0)
    assert Measurement("x", 4, 2.0, 1.0).percentile_ms(0.5) is None
