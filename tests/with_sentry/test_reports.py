"""What Sentry receives of tasks: of one program, with a real server of Holdfast."""

import secrets
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from faults.processes import Process
from faults.servers import Server
from with_sentry.receiver import Receiver, receiving

TRACE = "771a43a4192642f0b136d5159a501700"

Reports = Callable[..., Receiver]


@pytest.fixture(scope="module")
def run(standalone: Server) -> Reports:
    """Return a function that runs the program with flags, and returns what Sentry has received."""

    def run(*flags: str) -> Receiver:
        namespace = f"sentry-{secrets.token_hex(4)}"
        with receiving() as receiver:
            env = {"DSN": receiver.dsn, "FLAGS": " ".join(flags)}
            program = ("-m", "with_sentry.program", standalone.url, namespace)
            with Process.python(*program, env=env) as process:
                assert process.wait(timeout=100) == 0, process.output
        return receiver

    return run


@pytest.fixture(scope="module")
def reports(run: Reports) -> Receiver:
    return run()


def events_of(reports: Receiver, task: str) -> list[dict[str, Any]]:
    return [each for each in reports.events if each["tags"].get("holdfast.task") == task]


def transactions_of(reports: Receiver, task: str) -> list[dict[str, Any]]:
    return [each for each in reports.transactions if each["transaction"] == task]


def statuses_of(reports: Receiver, task: str) -> list[str]:
    return [each["contexts"]["trace"]["status"] for each in transactions_of(reports, task)]


def last_exception(event: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = event["exception"]["values"][-1]
    return found


def test_each_dead_task_is_one_event(reports: Receiver) -> None:
    assert Counter(each["tags"]["holdfast.task"] for each in reports.events) == {
        "fail_async": 8,
        "fail_plain": 8,
        "give_up": 1,
        "refused": 1,
        "hang_async": 1,
        "hang_plain": 1,
        "never_again": 1,
        "compute": 1,
        "typed": 1,
        "released": 2,  # it died again after a replay
    }


@pytest.mark.parametrize("task", ["fail_async", "fail_plain"])
def test_concurrent_tasks_do_not_mix(reports: Receiver, task: str) -> None:
    """Their tags, breadcrumbs and transactions are those of the last attempt of each."""
    for event in events_of(reports, task):
        own = event["tags"]["own"]
        assert last_exception(event)["value"] == f"{task.removeprefix('fail_')} {own}"
        assert last_exception(event)["mechanism"] == {"type": "holdfast", "handled": False}
        crumbs = [
            each.get("message", "") for each in event.get("breadcrumbs", {}).get("values", ())
        ]
        assert [text for text in crumbs if "crumb" in text] == (
            [f"crumb {own}"] if task == "fail_async" else []
        )
        assert (event["tags"]["holdfast.attempt"], event["transaction"]) == (2, task)
        facts = event["contexts"]["holdfast"]
        assert facts["task_id"] == event["tags"]["holdfast.task_id"]
        assert (facts["attempt"], facts["attempts"], "args" in facts) == (2, 2, False)
    found = transactions_of(reports, task)
    assert Counter(each["tags"]["holdfast.attempt"] for each in found) == {1: 8, 2: 8}
    assert {each["transaction_info"]["source"] for each in found} == {"task"}
    assert set(statuses_of(reports, task)) == {"internal_error"}


def test_a_task_that_gives_up_names_the_cause(reports: Receiver) -> None:
    [event] = events_of(reports, "give_up")
    assert [each["type"] for each in event["exception"]["values"]] == ["KeyError", "GiveUp"]


def test_control_flow_is_no_error(reports: Receiver) -> None:
    assert statuses_of(reports, "later") == ["aborted", "internal_error", "ok"]
    assert statuses_of(reports, "sleeper") == ["ok", "ok"]
    assert statuses_of(reports, "endless") == ["cancelled"]
    assert statuses_of(reports, "refused") == ["internal_error"]


@pytest.mark.parametrize("task", ["hang_async", "hang_plain"])
def test_a_timeout_is_an_event(reports: Receiver, task: str) -> None:
    [event] = events_of(reports, task)
    assert last_exception(event)["type"] == "TimeoutError"
    assert "longer than its timeout, 0.1 s" in last_exception(event)["value"]


def test_what_no_middleware_sees_is_reported_from_the_log(reports: Receiver) -> None:
    [event] = events_of(reports, "typed")
    assert event["logger"] == "holdfast.worker"
    assert "bad-arguments" in event["logentry"]["formatted"]


def test_a_task_in_a_child_process_is_reported_there(reports: Receiver) -> None:
    [event] = events_of(reports, "compute")
    assert last_exception(event)["value"] == "in a child process"
    assert last_exception(event)["mechanism"]["type"] == "holdfast"


def test_the_trace_of_a_request_goes_on_in_the_task(reports: Receiver) -> None:
    [request] = transactions_of(reports, "/orders")
    traces = [each["contexts"]["trace"] for each in transactions_of(reports, "well")]
    [trace] = [each for each in traces if each["trace_id"] == TRACE]
    [publish] = [span for span in request["spans"] if span["op"] == "queue.publish"]
    assert request["contexts"]["trace"]["trace_id"] == TRACE
    assert trace["parent_span_id"] == publish["span_id"]
    assert (trace["op"], publish["description"]) == ("queue.process", "well")
    data = trace["data"]
    assert (data["messaging.destination.name"], data["messaging.message.retry.count"]) == ("q", 0)
    assert data["messaging.message.receive.latency"] >= 0


def test_headers_of_the_application_come_first(reports: Receiver) -> None:
    """Without room for the baggage, the trace is continued; without room for both, it is not."""
    traces = [each["contexts"]["trace"] for each in transactions_of(reports, "well")]
    others = [each for each in traces if each["trace_id"] != TRACE]
    assert sorted(bool(each.get("parent_span_id")) for each in others) == [False, True]


@pytest.fixture(scope="module")
def streamed(run: Reports) -> Receiver:
    return run("each", "stream")


def test_each_attempt_can_be_an_event(streamed: Receiver) -> None:
    for task in ("fail_async", "fail_plain"):
        found = events_of(streamed, task)
        assert Counter(each["tags"]["holdfast.attempt"] for each in found) == {1: 8, 2: 8}
    assert events_of(streamed, "later") == []
    assert len(events_of(streamed, "refused")) == 1


def test_spans_can_be_streamed(streamed: Receiver) -> None:
    [request] = [each for each in streamed.spans if each["name"] == "/orders"]
    spans = [each for each in streamed.spans if each["trace_id"] == request["trace_id"]]
    [publish] = [each for each in spans if op_of(each) == "queue.publish"]
    [task] = [each for each in spans if each.get("parent_span_id") == publish["span_id"]]
    assert publish["parent_span_id"] == request["span_id"]
    assert (task["name"], task["is_segment"], op_of(task)) == ("well", True, "queue.process")
    failed = [each for each in streamed.spans if each["name"] == "fail_async"]
    assert {each["status"] for each in failed} == {"error"}


def op_of(span: dict[str, Any]) -> str:
    found: str = span["attributes"]["sentry.op"]["value"]
    return found


def test_without_init_nothing_is_sent(run: Reports) -> None:
    assert run("off").items == []


def test_a_transport_that_raises_changes_no_outcome(standalone: Server) -> None:
    namespace = f"sentry-{secrets.token_hex(4)}"
    program = ("-m", "with_sentry.raising", standalone.url, namespace)
    with Process.python(*program) as process:
        assert process.wait(timeout=100) == 0, process.output
        assert process.output.count("the Sentry SDK raised an exception") == 1
