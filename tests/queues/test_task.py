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
    """A call with these options."""
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


def test_delay_and_at_exclude_each_other() -> None:
    with pytest.raises(ValueError, match="delay and at exclude each other"):
        call(delay=0, at=0)


@pytest.mark.parametrize("name", ["delay", "at"])
@pytest.mark.parametrize("value", [-1, float("nan"), float("inf"), 1e300])
def test_an_absurd_time_is_a_value_error(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be"):
        call(**{name: value})


@pytest.mark.parametrize(
    ("name", "value"), [("delay", "60"), ("delay", True), ("at", "tomorrow"), ("at", False)]
)
def test_what_is_no_time_is_a_type_error(name: str, value: object) -> None:
    with pytest.raises(TypeError, match=f"^{name} must be"):
        call(**{name: value})


def test_at_needs_a_time_zone() -> None:
    with pytest.raises(ValueError, match=r"at must be an aware datetime"):
        call(at=datetime(2030, 1, 1))  # noqa: DTZ001


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


@pytest.mark.parametrize("priority", ["urgent", "", "HIGH", 1, b"high", ["high"]])
def test_other_priorities_are_refused(priority: object) -> None:
    with pytest.raises(ValueError, match="priority must be one of high, medium, low, got"):
        call(priority=priority)


@pytest.mark.parametrize(
    "task_id", ["a", "sold-42", "a:b{c}", "é", "я" * 80, "x" * MAX_TASK_ID_BYTES, "😀", "%00"]
)
def test_a_task_id_is_kept_as_it_is(task_id: str) -> None:
    assert call(task_id=task_id).task_id == task_id
    assert call(task_id=None).task_id is None


@pytest.mark.parametrize("task_id", ["я" * 100, ":" * 200, "中" * 66])
def test_a_task_id_may_take_200_bytes_of_any_letters(task_id: str) -> None:
    assert call(task_id=task_id).task_id == task_id


@pytest.mark.parametrize(
    ("task_id", "problem"),
    [
        ("", "takes 1 to 200 bytes"),
        ("x" * 201, "takes 1 to 200 bytes"),
        ("é" * 101, "takes 1 to 200 bytes|as a key"),
        ("a b", "no blanks"),
        ("a\tb", "no blanks and no control"),
        ("a\x00", "no control characters"),
        ("a\u3000b", "no blanks"),
        ("a\u202eb", "no control characters"),
        ("\ud800", "not valid Unicode"),
    ],
    ids=repr,
)
def test_what_cannot_be_a_task_id_is_refused(task_id: str, problem: str) -> None:
    """It is stored and shown as it is, so it must be fit to be shown."""
    with pytest.raises(InvalidName, match=problem):
        call(task_id=task_id)


@pytest.mark.parametrize("task_id", [5, b"abc", ("a",)])
def test_a_task_id_is_text(task_id: object) -> None:
    with pytest.raises(TypeError, match="a task_id must be a str"):
        call(task_id=task_id)


@given(st.text(max_size=60))
def test_any_text_is_a_task_id_or_an_invalid_name(text: str) -> None:
    try:
        assert checked_task_id(text) == text
    except InvalidName as error:
        assert error.name == text  # noqa: PT017 (either outcome is right)


def test_a_misspelt_option_is_told() -> None:
    """A delay that is not heeded would be noticed too late."""
    with pytest.raises(TypeError, match="unknown options: dely, prio"):
        call(dely=60, prio="high")


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


# What is told


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
