"""Calls, their options and retries: what is out of range is refused before any I/O."""

import dataclasses
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast import Call, InvalidName, QueueStats, Retry, TaskRegistry, WorkerStatus
from holdfast.queues.task import MAX_TASK_ID_BYTES, checked_task_id

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
    with pytest.raises(dataclasses.FrozenInstanceError):
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
        ({"attempts": None}, TypeError, "attempts must be an int, got NoneType"),
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


def test_stats_say_how_long_the_oldest_has_waited() -> None:
    now = datetime(2026, 3, 14, 17, tzinfo=UTC)
    stats = QueueStats(1, 0, 0, 0, 0, oldest_at=now - timedelta(minutes=1))
    assert stats.waited(now) == 60.0
    assert stats.waited(now - timedelta(hours=1)) == 0.0
    assert QueueStats(0, 0, 0, 0, 0).waited(now) == 0.0


@pytest.mark.parametrize(("silent", "alive"), [(0.0, True), (30.0, True), (30.1, False)])
def test_a_worker_without_signs_of_life_is_not_alive(silent: float, alive: bool) -> None:
    now = datetime(2026, 3, 14, 17, tzinfo=UTC)
    assert WorkerStatus("web-1:1:a", {"email": 1}, 5, 0, now, silent).alive is alive
