"""Traces across processes, and the names of the conventions."""

import json
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from opentelemetry.semconv._incubating.attributes import messaging_attributes
from opentelemetry.semconv._incubating.metrics import messaging_metrics
from opentelemetry.semconv.attributes import error_attributes
from opentelemetry.semconv.schemas import Schemas

from faults.processes import Process
from faults.servers import Server
from holdfast import TraceContext, current_trace, use_trace
from holdfast.core.trace import restored, stored
from holdfast.queues.call import Call
from holdfast.queues.enqueue_batch import BATCH_BYTES, batched
from holdfast.queues.envelope import Envelope
from holdfast.telemetry import conventions

# W3C trace context: what is one, and what is not

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARENT = f"00-{TRACE}-{SPAN}-01"


def test_a_trace_has_its_parts() -> None:
    trace = TraceContext.parsed(PARENT, "a=1,b=2")
    assert trace is not None
    assert (trace.trace_id, trace.span_id, trace.tracestate) == (TRACE, SPAN, "a=1,b=2")
    assert restored(stored(trace)) == trace
    assert restored(stored(TraceContext(PARENT))) == TraceContext(PARENT)


@pytest.mark.parametrize(
    "given",
    [
        None,
        "",
        "nonsense",
        PARENT[:-1],
        PARENT.upper(),
        f"{PARENT}-more",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"{PARENT}\n",
    ],
)
def test_an_invalid_trace_is_ignored(given: str | None) -> None:
    assert TraceContext.parsed(given) is None


def test_of_a_later_version_the_known_part_is_taken() -> None:
    assert TraceContext.parsed(f"42-{TRACE}-{SPAN}-01-more") == TraceContext(PARENT)


@pytest.mark.parametrize("state", ["x" * 513, "a=\n", "ä=1"])
def test_a_wrong_tracestate_is_left_out(state: str) -> None:
    assert TraceContext.parsed(PARENT, state) == TraceContext(PARENT)


def test_a_context_is_left_as_it_was() -> None:
    outer, inner = TraceContext(PARENT), TraceContext(PARENT, "a=1")
    with use_trace(outer):
        with use_trace(inner):
            assert current_trace() == inner
        with use_trace(None):
            assert current_trace() is None
        assert current_trace() == outer
    assert current_trace() is None


@pytest.mark.parametrize("context", [7, None, "nonsense", ["x"], {"a": 1}])
def test_an_envelope_with_a_strange_trace_is_an_envelope(context: object) -> None:
    fields = {
        "v": 1,
        "id": "a",
        "queue": "q",
        "task": "t",
        "traceparent": context,
        "tracestate": context,
    }
    assert Envelope.unpacked(msgspec.json.encode(fields), "a").trace is None


def test_an_envelope_of_an_older_version_has_no_trace() -> None:
    """It is read as ever; and one without a trace is written as ever."""
    envelope = Envelope(v=1, id="a", queue="q", task="t")
    assert b"trace" not in envelope.packed()
    assert Envelope.unpacked(envelope.packed(), "a").trace is None


def test_a_repeated_operation_is_cut_alike_in_any_trace() -> None:
    call = Call("t", "q", "medium", ("x" * 900,))
    calls, ids = [call] * 1500, [f"id-{n}" for n in range(1500)]
    sizes = []
    for trace in (None, TraceContext(PARENT), TraceContext(PARENT, 'a="\\",' * 80)):
        batches = list(batched(calls, ids, trace))
        sizes.append([len(batch.tasks) for batch in batches])
        assert all(batch.size <= BATCH_BYTES for batch in batches)
        assert all(Envelope.unpacked(task[-1], task[0]).trace == trace for task in batches[0].tasks)
    assert sizes[0] == sizes[1] == sizes[2]
    assert len(sizes[0]) > 2


# Programs that share a trace, and nothing else but the server

PROGRAM = Path(__file__).with_name("producing.py")


Printed = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def printed(standalone: Server) -> Printed:
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


# Our names are those of the conventions that we say they are


def test_names_are_those_of_the_conventions() -> None:
    theirs = {
        value
        for module in (messaging_attributes, messaging_metrics, error_attributes)
        for value in vars(module).values()
        if isinstance(value, str)
    }
    ours = {
        value
        for name, value in vars(conventions).items()
        if name.isupper() and isinstance(value, str) and "." in value and "/" not in value
    }
    assert {name for name in ours if not name.startswith("holdfast.")} <= theirs
    assert len(ours) > 15


def test_the_version_is_one() -> None:
    assert conventions.SCHEMA_URL in {each.value for each in Schemas}
