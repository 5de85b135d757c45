"""`holdfast worker --processes --health`: the supervisor answers for all processes."""

from __future__ import annotations

import json
import os
import secrets
import signal
from pathlib import Path

import pytest

from cli.worker_programs import page, page_becomes, page_url, worker_program
from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast, TaskRegistry, WorkerHealth

tasks = TaskRegistry()


@tasks.task(queue="chores")
async def block(seconds: float) -> None:
    """Declare the task that the worker runs."""


ARGS = ("--processes", "2", "--health", "0", "--blocked-after", "1")


def test_the_group_is_ready_when_each_process_is(tmp_path: Path) -> None:
    with Server() as server, worker_program(tmp_path, server.url, *ARGS, namespace="g") as group:
        ready, live = page_url(group, "/readyz"), page_url(group, "/livez")
        page_becomes(ready, 200, "ok")
        with Holdfast.from_url(server.url, namespace="g") as hf:
            first, _ = eventually(lambda: hf.workers() if len(hf.workers()) == 2 else [])
        os.kill(int(first.name.split(":")[1]), signal.SIGKILL)
        page_becomes(ready, 503, "1 process does not serve yet")
        assert page(live) == (200, "ok\n")
        page_becomes(ready, 200)
        server.kill()
        page_becomes(ready, 503, "queue 'chores'")
        assert page(live) == (200, "ok\n")
        server.start()
        page_becomes(ready, 200)
        assert group.stop() == 0


@pytest.mark.long
def test_a_blocked_process_is_named(standalone: Server, tmp_path: Path) -> None:
    namespace = secrets.token_hex(4)
    with (
        worker_program(tmp_path, standalone.url, *ARGS, namespace=namespace) as group,
        Holdfast.from_url(standalone.url, namespace=namespace) as hf,
    ):
        ready, live = page_url(group, "/readyz"), page_url(group, "/livez")
        page_becomes(ready, 200)
        hf.enqueue(block.call(5.0))
        page_becomes(live, 503, "): a task has blocked the event loop for ")
        assert page(live)[1].startswith("process ") or page(live)[0] == 200
        page_becomes(live, 200)


@pytest.mark.long
def test_a_rejected_group_ends_with_the_code_of_its_first_process(
    standalone: Server, tmp_path: Path
) -> None:
    url = f"redis://nobody:secret@127.0.0.1:{standalone.port}"
    with worker_program(tmp_path, url, *ARGS) as group:
        assert group.wait() == 4
    assert group.output.count("the worker cannot start") == 1


@pytest.mark.long
def test_each_process_logs_json(standalone: Server, tmp_path: Path) -> None:
    args = ("--processes", "2", "--log-format", "json")
    with worker_program(tmp_path, standalone.url, *args) as group:
        eventually(lambda: group.output.count("serves queue 'chores'") == 2)
        assert group.stop() == 0
    assert all(json.loads(line)["message"] for line in group.output.splitlines())


@pytest.mark.parametrize("limit", ["--processes", "--max-tasks", "--max-rss"])
def test_metrics_with_a_port_are_for_one_process(
    standalone: Server, tmp_path: Path, limit: str
) -> None:
    args = (limit, "2", "--metrics", "127.0.0.1:9100")
    with worker_program(tmp_path, standalone.url, *args) as group:
        assert group.wait() == 2
    assert limit in group.output
    assert "--metrics 0 gives each one of its own" in group.output


def test_reload_is_for_one_process(standalone: Server, tmp_path: Path) -> None:
    with worker_program(tmp_path, standalone.url, "--processes", "2", "--reload") as group:
        assert group.wait() == 2
    assert "--reload runs one process" in group.output


def test_a_report_survives_its_way() -> None:
    from holdfast.cli.supervisor.role import HEALTH, health_in, health_report

    health = WorkerHealth("serving", 1.5, 2.5, ("queue 'a': away\nover",))
    report = health_report(health)
    assert report.isprintable()
    assert health_in(report.removeprefix(HEALTH)) == health
