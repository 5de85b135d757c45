# Generated from test_spans_async.py by tools/unasync.py: edit that, then run `make sync`.
"""What a client does, as spans and metrics of a real SDK."""

import secrets
from collections.abc import Iterator

import pytest
from opentelemetry.trace import SpanKind, StatusCode

from conftest import Site
from holdfast import (
    Holdfast,
    LockTimeout,
    MailboxFull,
    Message,
    Retry,
    TaskRegistry,
    TraceContext,
    current_task,
    current_trace,
    use_trace,
)
from telemetry.recording import TRACE, Recording, parent_of, span_id, trace_of

SECRET = "canary-" + secrets.token_hex(8)

tasks = TaskRegistry()
seen: list[TraceContext | None] = []


@tasks.task(queue="email", retry=Retry(attempts=2, backoff=0.0))
def send_email(to: str) -> str:
    seen.append(current_trace())
    if len(seen) == 1:
        raise ValueError(f"no such address: {to}")
    return to


@tasks.task(queue="orders")
def order() -> None:
    """Run a step, and sleep a moment."""
    current_task().step("reserve", str.upper, "book")
    current_task().sleep(0.001)
    current_task().step("charge", str.upper, "97")


@pytest.fixture
def recording() -> Recording:
    seen.clear()
    return Recording()


@pytest.fixture
def hf(site: Site, recording: Recording) -> Iterator[Holdfast]:
    with Holdfast.from_url(site.url, namespace=site.namespace, telemetry=recording.telemetry) as hf:
        yield hf


def test_partitions_have_the_name_of_their_queue(hf: Holdfast, recording: Recording) -> None:
    """So the number of partitions adds no values to the labels of metrics."""
    hf.queue("orders").repartition(3)
    hf.enqueue_many([order.call() for _ in range(300)])
    hf.queue("orders").purge()
    for _ in range(6):  # in turns
        hf.enqueue(order.call())
    hf.worker(tasks, queues={"orders": 1}).run(until_idle=True)
    assert "process orders" in recording.names
    assert "orders/" not in recording.everything()


def test_a_task_is_one_trace_from_its_enqueuing_to_its_last_attempt(
    hf: Holdfast, recording: Recording
) -> None:
    with recording.tracer.start_as_current_span("request") as request:
        handle = hf.enqueue(send_email.call(SECRET))
    hf.worker(tasks).run(until_idle=True)
    sent = recording.span("send email")
    first, second = (span for span in recording.spans if span.name == "process email")
    assert {trace_of(span) for span in (sent, first, second)} == {
        f"{request.get_span_context().trace_id:032x}"
    }
    assert (sent.kind, first.kind) == (SpanKind.PRODUCER, SpanKind.CONSUMER)
    assert parent_of(sent) == request.get_span_context().span_id
    for span in (first, second):
        assert parent_of(span) == span_id(sent)
        assert [link.context.span_id for link in span.links] == [span_id(sent)]
    assert dict(sent.attributes or {}) == {
        "messaging.system": "holdfast",
        "messaging.operation.name": "send",
        "messaging.operation.type": "send",
        "messaging.destination.name": "email",
        "messaging.message.id": handle.task_id,
        "holdfast.task.name": "send_email",
    }
    failed, done = dict(first.attributes or {}), dict(second.attributes or {})
    assert (failed["error.type"], failed["holdfast.outcome"]) == ("ValueError", "retry")
    assert (first.status.status_code, first.status.description) == (StatusCode.ERROR, None)
    assert (done["holdfast.outcome"], done["holdfast.task.attempt"]) == ("done", 2)
    assert [trace and trace.span_id for trace in seen] == [
        f"{span_id(span):016x}" for span in (first, second)
    ]


def test_all_steps_of_a_task_are_in_its_trace(hf: Holdfast, recording: Recording) -> None:
    """Each step is a part of the run that ran it, and the runs are parts of one trace."""
    with recording.tracer.start_as_current_span("request") as request:
        hf.enqueue(order.call())
    hf.worker(tasks).run(until_idle=True)
    runs = [span for span in recording.spans if span.name == "process orders"]
    steps = [span for span in recording.spans if span.name == "step orders"]
    names = [dict(span.attributes or {})["holdfast.task.step"] for span in steps]
    outcomes = [dict(span.attributes or {})["holdfast.outcome"] for span in runs]
    assert (names, outcomes) == (["reserve", "charge"], ["suspend", "done"])
    assert [parent_of(span) for span in steps] == [span_id(span) for span in runs]
    assert {trace_of(span) for span in (*runs, *steps)} == {
        f"{request.get_span_context().trace_id:032x}"
    }


def test_what_is_sent_in_no_trace_begins_one(hf: Holdfast, recording: Recording) -> None:
    hf.enqueue_many([send_email.call("a"), send_email.call("b")])
    hf.worker(tasks).run(until_idle=True)
    assert sorted(set(recording.names)) == ["process email", "send email"]
    sent = recording.span("send email")
    assert (sent.attributes or {})["messaging.batch.message_count"] == 2
    assert {trace_of(span) for span in recording.spans} == {trace_of(sent)}


def test_the_metrics_of_tasks(hf: Holdfast, recording: Recording) -> None:
    """Counted and measured by queue, task and outcome; never by id."""
    hf.enqueue(send_email.call("a"))
    hf.worker(tasks).run(until_idle=True)
    queue = {"messaging.system": "holdfast", "messaging.destination.name": "email"}
    sending = {**queue, "messaging.operation.name": "send", "messaging.operation.type": "send"}
    assert recording.metric("messaging.client.sent.messages") == [(sending, 1)]
    process = {"messaging.operation.name": "process", "messaging.operation.type": "process"}
    assert recording.metric("messaging.client.consumed.messages") == [({**queue, **process}, 2)]
    task = {**queue, **process, "holdfast.task.name": "send_email"}
    assert recording.metric("messaging.process.duration") == [
        ({**task, "holdfast.outcome": "retry", "error.type": "ValueError"}, 1),
        ({**task, "holdfast.outcome": "done"}, 1),
    ]
    operations = recording.metric("messaging.client.operation.duration")
    kinds = {attributes["messaging.operation.type"] for attributes, _ in operations}
    assert kinds == {"send", "settle"}


def test_a_message_brings_its_trace_to_its_reader(hf: Holdfast, recording: Recording) -> None:
    """The reader's span is linked to it, and processing it is part of it."""
    box = hf.mailbox("jack")
    with use_trace(TRACE):
        box.send(SECRET, sender="jill")
    sent = recording.span("send mailbox")
    assert (trace_of(sent), parent_of(sent)) == (TRACE.trace_id, int(TRACE.span_id, 16))
    with recording.tracer.start_as_current_span("loop") as loop:
        batch = box.fetch()
        [message] = batch.messages
        assert isinstance(message, Message)
        with recording.telemetry.process("mailbox", batch.source, message.trace):
            box.send("got it", sender="jack")
        box.ack(batch)
    assert message.trace == TraceContext(
        f"00-{TRACE.trace_id}-{span_id(sent):016x}-01", TRACE.tracestate
    )
    received, processed = recording.span("receive mailbox"), recording.span("process mailbox")
    assert parent_of(received) == loop.get_span_context().span_id
    assert [link.context.span_id for link in received.links] == [span_id(sent)]
    assert parent_of(processed) == span_id(sent)
    assert parent_of(recording.spans[2]) == span_id(processed)
    acked = dict(recording.span("ack mailbox").attributes or {})
    assert acked["messaging.operation.type"] == "settle"


def test_a_chat_is_not_named_in_names_and_metrics(hf: Holdfast, recording: Recording) -> None:
    chat = hf.create_chat(["jack"], sender="jill", body="hi")
    chat.send("hello", sender="jack")
    [batch] = hf.inbox("jack").fetch()
    brought = [message.trace for message in batch.messages if isinstance(message, Message)]
    assert [trace and trace.trace_id for trace in brought] == [
        trace_of(span) for span in recording.spans
    ]
    assert set(recording.names) == {"send chat"}
    assert {(span.attributes or {})["messaging.destination.name"] for span in recording.spans} == {
        chat.chat_id
    }
    sent = recording.metric("messaging.client.sent.messages")
    [(attributes, count)] = sent
    assert (attributes["messaging.destination.template"], count) == ("chat", 2)
    assert "messaging.destination.name" not in attributes


def test_a_message_that_is_refused_is_an_error(hf: Holdfast, recording: Recording) -> None:
    box = hf.mailbox("jack", capacity=1)
    box.send(1, sender="jill")
    with pytest.raises(MailboxFull):
        box.send(2, sender="jill")
    refused = recording.spans[-1]
    assert (refused.attributes or {})["error.type"] == "full"


def test_waiting_for_a_lock_and_losing_it(site: Site, hf: Holdfast, recording: Recording) -> None:
    """How long, how it ended, how often; a span only within another."""
    with recording.tracer.start_as_current_span("request") as request:
        lease = hf.lock("market").acquire(timeout=20.0)
        with pytest.raises(LockTimeout):
            hf.lock("market").acquire(timeout=0.01)
    lease.release()
    lost = hf.lock("market", lease=1.0, auto_renew=False).acquire(timeout=20.0)
    assert lost.wait_lost(60.0)
    waited = [span for span in recording.spans if span.name == "wait lock"]
    assert [(span.attributes or {})["holdfast.outcome"] for span in waited] == [
        "granted",
        "timeout",
    ]
    assert {parent_of(span) for span in waited} == {request.get_span_context().span_id}
    assert recording.metric("holdfast.lock.wait.duration") == [
        ({"holdfast.unit.kind": "lock", "holdfast.outcome": "granted"}, 2),
        ({"holdfast.unit.kind": "lock", "holdfast.outcome": "timeout"}, 1),
    ]
    assert recording.metric("holdfast.lock.lost") == [({"holdfast.unit.kind": "lock"}, 1)]


class Source:
    """Rows that are made up."""

    def load(self, ids: tuple[str, ...]) -> dict[str, dict[str, str]]:
        return {row_id: {"secret": SECRET} for row_id in ids}


def test_rows_that_hit_and_miss(hf: Holdfast, recording: Recording) -> None:
    cache = hf.row_cache("inventory", source=Source())
    for _ in range(2):
        cache.get_many(["1", "2"])
    assert cache.get("1")
    counted = {
        attributes["holdfast.result"]: count
        for attributes, count in recording.metric("holdfast.rows.requests")
    }
    assert counted == {"hit": 3, "miss": 2}
    cache_only = {"holdfast.unit.name": "inventory"}
    assert recording.metric("holdfast.rows.loaded") == [(cache_only, 2)]
    assert recording.metric("holdfast.rows.load.duration") == [(cache_only, 1)]


def test_results_that_hit_and_miss(hf: Holdfast, recording: Recording) -> None:
    @hf.cached(ttl=60.0, name="double")
    def double(n: int) -> int:
        return 2 * n

    for _ in range(3):
        double(1)
    counted = {
        attributes["holdfast.result"]: count
        for attributes, count in recording.metric("holdfast.cache.requests")
    }
    assert counted == {"hit": 2, "miss": 1}
    function_only = {"holdfast.unit.name": "double"}
    assert recording.metric("holdfast.cache.load.duration") == [(function_only, 1)]


def test_a_call_is_a_part_of_what_asks_for_it(hf: Holdfast, recording: Recording) -> None:
    hf.counter("hits").add(1)
    assert recording.spans == ()
    with recording.tracer.start_as_current_span("request") as request:
        hf.counter("hits").add(1)
    added = recording.span("add counter")
    assert parent_of(added) == request.get_span_context().span_id
    assert (added.attributes or {})["holdfast.unit.name"] == "hits"
    counted = {
        str(attributes["holdfast.script"]): count
        for attributes, count in recording.metric("holdfast.call.duration")
    }
    assert counted["counters/add"] == 2


def test_no_secret_is_recorded(hf: Holdfast, recording: Recording) -> None:
    with recording.tracer.start_as_current_span("request"):
        hf.enqueue(send_email.call(SECRET))
        hf.mailbox("jack").send({"body": SECRET}, sender="jill")
        hf.row_cache("inventory", source=Source()).get("1")
        hf.fenced("stock").set(SECRET, 1)
    hf.worker(tasks).run(until_idle=True)
    hf.mailbox("jack").fetch()
    assert len(recording.spans) > 5
    assert SECRET not in recording.everything()
