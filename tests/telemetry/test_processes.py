"""Programs that share a trace, and nothing else but the server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from conftest import Site
from faults.processes import Process

PROGRAM = Path(__file__).with_name("producing.py")


def printed(site: Site, *args: str) -> list[dict[str, Any]]:
    """What a run of the program prints."""
    with Process.python(PROGRAM, site.url, site.namespace, *args) as process:
        assert process.wait(timeout=60) == 0, process.output
        return [json.loads(line) for line in process.output.splitlines() if line.startswith("{")]


def test_a_producer_and_a_worker_are_in_one_trace(site: Site) -> None:
    """And what the task enqueues as well."""
    produced, worked = printed(site), printed(site, "work")
    [sent, request] = produced
    assert (sent["span"], sent["parent"]) == ("send orders", request["id"])
    ran = [each for each in worked if "task" in each]
    assert [each["trace"] for each in ran] == [request["trace"]] * 2
    spans = {each["id"]: each for each in worked if "span" in each}
    assert {each["trace"] for each in spans.values()} == {request["trace"]}
    processed = [each for each in spans.values() if each["span"] == "process orders"]
    first, second = sorted(processed, key=lambda each: bool(each["parent"] != sent["id"]))
    assert first["parent"] == sent["id"]
    again = spans[second["parent"]]
    assert (again["span"], again["parent"]) == ("send orders", first["id"])


def test_who_records_nothing_passes_the_trace_on(site: Site) -> None:
    """A worker without telemetry, also to the tasks that it enqueues itself."""
    [_, request] = printed(site)
    worked = printed(site, "work", "plain")
    assert [each["trace"] for each in worked] == [request["trace"]] * 2
