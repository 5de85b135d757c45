"""Test `holdfast workers`: list the workers."""

from __future__ import annotations

from cli.filled_queue import HOSTILE, VISIBLE, Run, rows
from client.background_worker import working
from conftest import Site
from holdfast import Holdfast, TaskRegistry


def test_workers_are_listed(home: Site, hf: Holdfast, run: Run) -> None:
    """Print queues with weights, how busy they are, and when they were last seen."""
    with working(home, TaskRegistry(), queues={"email": 3, HOSTILE: 1}, concurrency=7) as worker:
        _, line = run("workers").stdout.splitlines()
        assert line.startswith(f"{worker.name}  ")
        assert f"0/7  {VISIBLE}, email=3" in line
        [row] = rows(run("workers", "ls", "--json"))
        assert (row["worker"], row["queues"]) == (worker.name, {"email": 3, HOSTILE: 1})
        assert (row["started_at"][-1], row["silent"] >= 0) == ("Z", True)
    assert hf.workers() == []
