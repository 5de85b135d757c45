"""`holdfast workers`: who runs tasks."""

from __future__ import annotations

from cli.crowd import HOSTILE, VISIBLE, Run, rows
from client.crew import working
from conftest import Site
from holdfast import Holdfast, TaskRegistry


def test_workers_are_listed(site: Site, hf: Holdfast, run: Run) -> None:
    """What they serve, how busy they are, and when they were last seen."""
    nobody = run("workers")
    assert (nobody.exit_code, nobody.stdout) == (0, f"no workers in namespace {site.namespace}\n")
    with working(site, TaskRegistry(), queues={"email": 3, HOSTILE: 1}, concurrency=7) as worker:
        listed = run("workers")
        assert listed.exit_code == 0, listed.output
        header, line = listed.stdout.splitlines()
        assert header.split() == ["worker", "busy", "queues", "started", "last", "seen"]
        assert line.startswith(f"{worker.name}  ")
        assert f"0/7  {VISIBLE}, email=3" in line
        assert run("workers", "ls").exit_code == 0
        [row] = rows(run("workers", "ls", "--json"))
        assert (row["worker"], row["alive"]) == (worker.name, True)
        assert (row["queues"], row["concurrency"]) == ({"email": 3, HOSTILE: 1}, 7)
        assert (row["running"], row["started_at"][-1]) == (0, "Z")
        assert row["silent"] >= 0
    assert hf.workers() == []
