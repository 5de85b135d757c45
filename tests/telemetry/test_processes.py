"""Programs that share a trace, and nothing else but the server."""

import json
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from faults.processes import Process
from faults.servers import Server

PROGRAM = Path(__file__).with_name("producing.py")


Printed = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def printed(standalone: Server) -> Printed:
    """What a run of the program prints, in a namespace of the test's own."""
    namespace = f"traces-{secrets.token_hex(4)}"

    def run(*args: str) -> list[dict[str, Any]]:
        with Process.python(PROGRAM, standalone.url, namespace, *args) as process:
            assert process.wait(timeout=60) == 0, process.output
            lines = process.output.splitlines()
            return [json.loads(line) for line in lines if line.startswith("{")]

    return run


def test_a_producer_and_a_worker_are_in_one_trace(printed: Printed) -> None:
    produced, worked = printed(), printed("work")
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


def test_who_records_nothing_passes_the_trace_on(printed: Printed) -> None:
    """A worker without telemetry, also to the tasks that it enqueues itself."""
    [_, request] = printed()
    worked = printed("work", "plain")
    assert [each["trace"] for each in worked] == [request["trace"]] * 2
