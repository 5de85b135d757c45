"""Calls, their options and retries: what is out of range is refused before any I/O."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast import Call, Holdfast, InvalidName, QueueStats, Retry, TaskRegistry, WorkerStatus
from holdfast.queues.call import MAX_TASK_ID_BYTES, checked_task_id
from holdfast.queues.enqueue_batch import batched, packed
from holdfast.queues.envelope import StoredRetry

tasks = TaskRegistry()


@tasks.task()
def greet(name: str, times: int = 1) -> str:
    return name * times


def call(**options: Any) -> Call[str]:
    """Return a call with these options."""
    return greet.call("jill").options(**options)


# When


@pytest.mark.parametrize(
    ("options", "wait"),
    [
        ({}, "0"),
        ({"delay": 0}, "0"),
        ({"delay": 60}, "+60000"),
        ({"delay": 0.0015}, "+2"),
        ({"delay": timedelta(hours=1)}, "+3600000"),
        ({"delay": None, "at": None}, "0"),
        ({"at": 0}, "@0"),
        ({"at": 1_763_718_000.25}, "@1763718000250"),
        ({"at": datetime(2030, 1, 1, tzinfo=UTC)}, "@1893456000000"),
    ],
)
def test_a_call_says_when(options: dict[str, Any], wait: str) -> None:
    """Delays are counted by the server from when it stored the task, instants stand."""
    assert call(**options).wait == wait


def test_the_last_word_on_when_counts() -> None:
    """A later option replaces an earlier one; what is not named stays."""
    later = call(delay=60, priority="high").options(at=0)
    assert (later.wait, later.priority) == ("@0", "high")
    assert later.options(delay=0).wait == "0"
    assert later.options(task_id="x").wait == "@0"


@pytest.mark.parametrize(
    ("options", "ms"),
    [({"delay": 0.0004}, 0.4), ({"delay": 1.0004}, 1000.4), ({"at": 5.0004}, 5000.4)],
)
def test_a_task_never_runs_before_its_time(options: dict[str, Any], ms: float) -> None:
    assert float(call(**options).wait.lstrip("+@")) >= ms


# Which and how


@pytest.mark.parametrize("priority", ["high", "medium", "low"])
def test_a_call_may_have_a_priority_of_its_own(priority: str) -> None:
    assert call(priority=priority).priority == priority
    assert call(priority=None).priority == greet.priority == "medium"


@pytest.mark.parametrize(
    "task_id",
    [
        "a",
        "sold-42",
        "a:b{c}",
        "é",
        "я" * 80,
        "x" * MAX_TASK_ID_BYTES,
        "😀",
        "%00",
        "я" * 100,
        ":" * 200,
    ],
)
def test_a_task_id_is_kept_as_it_is(task_id: str) -> None:
    assert call(task_id=task_id).task_id == task_id
    assert call(task_id=None).task_id is None


REFUSED: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"delay": 0, "at": 0}, ValueError, "delay and at exclude each other"),
    *(
        ({name: value}, ValueError, f"^{name} must be")
        for name in ("delay", "at")
        for value in (-1, float("nan"), float("inf"), 1e300)
    ),
    ({"at": datetime(2030, 1, 1)}, ValueError, "at must be an aware datetime"),  # noqa: DTZ001
    ({"delay": "60"}, TypeError, "^delay must be"),
    ({"delay": True}, TypeError, "^delay must be"),
    ({"at": "tomorrow"}, TypeError, "^at must be"),
    ({"at": False}, TypeError, "^at must be"),
    *(
        ({"priority": value}, ValueError, "priority must be one of high, medium, low, got")
        for value in ("urgent", "", "HIGH", 1, b"high", ["high"])
    ),
    ({"task_id": ""}, InvalidName, "takes 1 to 200 bytes"),
    ({"task_id": "x" * 201}, InvalidName, "takes 1 to 200 bytes"),
    ({"task_id": "é" * 101}, InvalidName, "takes 1 to 200 bytes|as a key"),
    ({"task_id": "a b"}, InvalidName, "no blanks"),
    ({"task_id": "a\tb"}, InvalidName, "no blanks and no control"),
    ({"task_id": "a\x00"}, InvalidName, "no control characters"),
    ({"task_id": "a\u3000b"}, InvalidName, "no blanks"),
    ({"task_id": "a\u202eb"}, InvalidName, "no control characters"),
    ({"task_id": "\ud800"}, InvalidName, "not valid Unicode"),
    *(({"task_id": value}, TypeError, "a task_id must be a str") for value in (5, b"abc", ("a",))),
    ({"dely": 60, "prio": "high"}, TypeError, "unknown options: dely, prio"),
]


@pytest.mark.parametrize(("options", "error", "problem"), REFUSED, ids=ascii)
def test_options_out_of_range_are_refused(
    options: dict[str, Any], error: type[Exception], problem: str
) -> None:
    with pytest.raises(error, match=problem):
        call(**options)


@given(st.text(max_size=60))
def test_any_text_is_a_task_id_or_an_invalid_name(text: str) -> None:
    try:
        assert checked_task_id(text) == text
    except InvalidName as error:
        assert error.name == text  # noqa: PT017 (either outcome is right)


def test_a_call_is_never_changed() -> None:
    """Options make another one, so one call may be enqueued in many ways."""
    first = greet.call("jill", times=2)
    second = first.options(delay=5, priority="low", task_id="x")
    assert (first.wait, first.priority, first.task_id) == ("0", "medium", None)
    assert (second.args, second.kwargs, second.task) == (("jill",), {"times": 2}, "greet")
    with pytest.raises(AttributeError):
        first.wait = "+1"  # type: ignore[misc]


# Again


def test_retries_wait_longer_and_longer() -> None:
    """Doubled each time, at least half of it, up to the longest."""
    retry = Retry(attempts=9, backoff=1.0, longest=5.0)
    for failures, most_ms in enumerate([1000, 2000, 4000, 5000, 5000, 5000, 5000, 5000], start=1):
        wait_ms = retry.wait_ms(failures)
        assert wait_ms is not None
        assert most_ms / 2 <= wait_ms <= most_ms


@pytest.mark.parametrize("attempts", [1, 2, 5])
def test_a_task_is_given_up_after_its_attempts(attempts: int) -> None:
    retry = Retry(attempts=attempts)
    waits = [retry.wait_ms(failures) for failures in range(1, attempts + 2)]
    assert [wait is None for wait in waits] == [False] * (attempts - 1) + [True, True]


def test_no_backoff_is_at_once() -> None:
    assert Retry(backoff=0).wait_ms(1) == 0


@pytest.mark.parametrize(
    "options", [{"backoff": timedelta(seconds=2)}, {"longest": timedelta(hours=1)}], ids=repr
)
def test_retries_take_times_as_everything_public_does(options: dict[str, Any]) -> None:
    """Accepted when it is made, it must work when a task fails: an error then is the worker's."""
    assert isinstance(Retry(**options).wait_ms(1), int)


@pytest.mark.parametrize(
    ("options", "error", "problem"),
    [
        ({"attempts": 0}, ValueError, "attempts must be 1 or more, got 0"),
        ({"attempts": -1}, ValueError, "attempts must be 1 or more, got -1"),
        ({"attempts": True}, TypeError, "attempts must be an int, got bool"),
        ({"attempts": 2.0}, TypeError, "attempts must be an int, got float"),
        ({"backoff": -1}, ValueError, "backoff must be 0 seconds or more"),
        ({"backoff": float("nan")}, ValueError, "backoff must be"),
        ({"backoff": "2"}, TypeError, "backoff must be seconds"),
        ({"longest": float("inf")}, ValueError, "longest must be"),
        ({"longest": None}, TypeError, "longest must be seconds"),
    ],
)
def test_a_senseless_retry_is_refused(
    options: dict[str, Any], error: type[Exception], problem: str
) -> None:
    with pytest.raises(error, match=problem):
        Retry(**options)


# Error messages


def test_stats_show_how_long_the_oldest_has_waited() -> None:
    now = datetime(2026, 3, 14, 17, tzinfo=UTC)
    stats = QueueStats(1, 0, 0, 0, 0, oldest_at=now - timedelta(minutes=1))
    assert stats.waited(now) == 60.0
    assert stats.waited(now - timedelta(hours=1)) == 0.0
    assert QueueStats(0, 0, 0, 0, 0).waited(now) == 0.0


@pytest.mark.parametrize(("silent", "alive"), [(0.0, True), (30.0, True), (30.1, False)])
def test_a_worker_without_signs_of_life_is_not_alive(silent: float, alive: bool) -> None:
    now = datetime(2026, 3, 14, 17, tzinfo=UTC)
    assert WorkerStatus("web-1:1:a", {"email": 1}, 5, 0, now, silent).alive is alive


# Queue, retry, timeout and headers of a call

registry = TaskRegistry()


@registry.task(queue="email", retry=Retry(attempts=3, on=OSError), timeout=30.0)
def optional() -> None:
    """Have options that a call may replace."""


def fields(call: Call[Any]) -> dict[str, Any]:
    """Return the optional fields of the envelope of *call*."""
    envelope = json.loads(packed(call, "a")[-1])
    return {name: envelope[name] for name in ("headers", "timeout_ms", "retry") if name in envelope}


def test_the_envelope_has_only_what_differs_from_the_task() -> None:
    call = optional.call()
    assert fields(call) == {}
    assert fields(call.options(timeout=30.0, retry=Retry(attempts=3))) == {}
    assert fields(call.options(timeout=timedelta(seconds=1.5))) == {"timeout_ms": 1500}
    assert fields(call.options(retry=Retry())) == {"retry": {"attempts": 5}}
    changed = Retry(3, 0.5, 60.0, delays=(1, 2.5), snoozes=7)
    expected = {"backoff_ms": 500, "longest_ms": 60_000, "delays_ms": [1000, 2500], "snoozes": 7}
    assert fields(call.options(retry=changed)) == {"retry": expected}
    assert fields(call.options(headers={"a": "b"})) == {"headers": {"a": "b"}}


def test_a_call_without_a_definition_sends_all_of_its_options() -> None:
    call: Call[Any] = Call("send", "email", "medium").options(retry=Retry(), timeout=1)
    retry = {"attempts": 5, "backoff_ms": 2000, "longest_ms": 3_600_000, "snoozes": 100}
    assert fields(call) == {"timeout_ms": 1000, "retry": {**retry, "delays_ms": []}}


RETRIES = st.builds(
    Retry,
    st.integers(1, 50),
    st.integers(0, 10**6).map(lambda ms: ms / 1000),
    st.integers(0, 10**6).map(lambda ms: ms / 1000),
    delays=st.lists(st.integers(0, 10**6).map(lambda ms: ms / 1000), max_size=5),
    snoozes=st.integers(0, 200),
)


@given(RETRIES, RETRIES)
def test_a_retry_arrives_as_it_was_sent(own: Retry, other: Retry) -> None:
    stored = StoredRetry.of(other, own)
    data = msgspec.json.decode(msgspec.json.encode(stored), type=StoredRetry)
    assert data.applied_to(own) == other
    assert (stored == StoredRetry()) == (own == other)


def test_the_task_keeps_its_own_exceptions() -> None:
    stored = StoredRetry.of(Retry(attempts=9), optional.retry)
    assert stored.applied_to(optional.retry) == Retry(attempts=9, on=OSError)
    kept = replace(optional.retry, attempts=9)
    assert optional.call().options(retry=kept).retry == kept


def test_exceptions_cannot_be_sent() -> None:
    for retry in (Retry(on=ValueError), Retry(never=OSError)):
        with pytest.raises(ValueError, match=r"Retry\((on|never)=…\) cannot be sent with a call"):
            optional.call().options(retry=retry)
    with pytest.raises(ValueError, match="cannot be sent"):
        Call("send", "email", "medium").options(retry=Retry(on=OSError))


@pytest.mark.parametrize(
    ("options", "error", "problem"),
    [
        ({"retry": 3}, TypeError, "must be a Retry"),
        ({"timeout": 0}, ValueError, "timeout must be longer than 0"),
        ({"timeout": "1"}, TypeError, "timeout must be seconds"),
        ({"queue": "x" * 600}, InvalidName, "600 bytes"),
        ({"queue": 5}, TypeError, "a name must be a str"),
        ({"headers": "a=b"}, TypeError, "a mapping of str to str, got str"),
        ({"headers": {"a": 1}}, TypeError, "got str to int: 'a'"),
        ({"headers": {1: "a"}}, TypeError, "got int to str"),
        ({"headers": {"": "a"}}, ValueError, "must not be empty"),
        ({"headers": {"a": "\ud800"}}, ValueError, "not valid Unicode at position 0"),
        ({"headers": {str(n): "" for n in range(33)}}, ValueError, "at most 32 headers, got 33"),
        ({"headers": {"a": "é" * 2048}}, ValueError, "at most 4,096 bytes, got 4,097"),
    ],
)
def test_senseless_options_are_refused(
    options: dict[str, Any], error: type[Exception], problem: str
) -> None:
    with pytest.raises(error, match=problem):
        optional.call().options(**options)


def test_headers_are_added_to_those_of_the_call() -> None:
    call = optional.call().options(headers={"a": "1", "b": "2"}).options(headers={"b": "3"})
    assert call.headers == {"a": "1", "b": "3"}
    assert call.options(priority="high").headers == call.headers
    many = optional.call().options(headers={str(n): "" for n in range(32)})
    with pytest.raises(ValueError, match="at most 32 headers, got 33"):
        many.options(headers={"one": "more"})


def test_headers_change_no_steps_of_a_batch() -> None:
    """Form the same steps again if the hooks of a repetition add other headers."""
    calls = [Call("send", "email", "medium", ("x" * 1000,)) for _ in range(1200)]
    with_headers = [call.options(headers={"a": "\x00" * n * 3}) for n, call in enumerate(calls)]
    ids = [str(n) for n in range(len(calls))]
    found = [[len(batch.tasks) for batch in batched(each, ids)] for each in (calls, with_headers)]
    assert found[0] == found[1]
    assert len(found[0]) > 2


# Hooks


def test_hooks_run_in_order_and_may_change_options() -> None:
    tasks = TaskRegistry()

    @tasks.task()
    def send() -> None: ...

    call = send.call()

    @tasks.on_enqueue
    def first(call: Call[Any]) -> Call[Any]:
        return call.options(headers={"by": "first", "first": "yes"})

    tasks.on_enqueue(lambda call: call.options(headers={"by": "second"}, queue="other"))
    hooked = call.hooked()
    assert (hooked.queue, hooked.headers) == ("other", {"by": "second", "first": "yes"})
    assert first(call).headers["by"] == "first"
    assert (call.queue, call.headers) == ("default", {})


async def asynchronous(call: Call[Any]) -> Call[Any]:
    return call


@pytest.mark.parametrize("hook", [None, "hook", asynchronous])
def test_a_hook_is_a_plain_function(hook: Any) -> None:
    with pytest.raises(TypeError, match="must be a plain function"):
        TaskRegistry().on_enqueue(hook)


def test_a_hook_must_return_a_call() -> None:
    tasks = TaskRegistry()
    send = tasks.task(name="send")(lambda: None)
    tasks.on_enqueue(lambda call: None)  # type: ignore[arg-type, return-value]
    with Holdfast.from_url("redis://127.0.0.1:1") as hf:
        for enqueue in (lambda: hf.enqueue(send.call()), lambda: hf.enqueue_many([send.call()])):
            with pytest.raises(TypeError, match=r"on_enqueue hook .* must return a call, got None"):
                enqueue()
