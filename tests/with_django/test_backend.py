"""The backend for `django.tasks`.

Django's own tests of task backends are in its repository, and no wheel of Django has them. These
are the equivalent ones: those of `DummyBackend` and `ImmediateBackend`, on a real server.
"""

import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.tasks import TaskResultStatus, default_task_backend, task, task_backends
from django.tasks.exceptions import InvalidTask, TaskResultDoesNotExist, TaskResultMismatch
from django.tasks.signals import task_enqueued, task_finished, task_started
from django.test import override_settings

from conftest import Site
from holdfast.django import HoldfastBackend, worker
from with_django.conftest import configured
from with_django.shop import tasks as shop

pytestmark = pytest.mark.usefixtures("backend")


def work() -> None:
    worker().run(until_idle=True)


def finished(result: Any) -> Any:
    """Run a worker, and return the result as it is then."""
    work()
    result.refresh()
    return result


def test_supports_all_features() -> None:
    backend = default_task_backend
    assert backend.supports_defer
    assert backend.supports_async_task
    assert backend.supports_get_result
    assert backend.supports_priority
    assert isinstance(task_backends["default"], HoldfastBackend)


@pytest.mark.parametrize("name", ["add", "add_async"])
def test_a_task_runs(name: str) -> None:
    function = getattr(shop, name)
    before = datetime.now(UTC) - timedelta(minutes=5)
    result = function.enqueue(1, b=2)
    assert (result.status, result.is_finished, result.attempts) == ("READY", False, 0)
    assert (result.args, result.kwargs, result.task) == ([1], {"b": 2}, function)
    assert (result.started_at, result.finished_at, result.errors) == (None, None, [])
    assert len(result.id) < 64
    with pytest.raises(ValueError, match="has not finished"):
        _ = result.return_value

    finished(result)
    assert (result.status, result.return_value) == (TaskResultStatus.SUCCESSFUL, 3)
    assert (result.errors, result.attempts, result.is_finished) == ([], 1, True)
    assert before < result.enqueued_at
    assert result.started_at == result.last_attempted_at <= result.finished_at
    assert result.worker_ids[0].count(":") >= 2  # host, process and a random part

    again = function.get_result(result.id)
    assert (again.task, again.args, again.kwargs) == (function, [1], {"b": 2})
    assert again.return_value == 3


async def test_async_methods() -> None:
    result = await shop.add.aenqueue(1, b=2)
    assert (await shop.add.aget_result(result.id)).status == TaskResultStatus.READY
    assert (await default_task_backend.aget_result(result.id)).args == [1]
    await result.arefresh()
    with pytest.raises(TaskResultDoesNotExist):
        await default_task_backend.aget_result("default:unknown")


@pytest.mark.parametrize("name", ["attempt", "attempt_async"])
def test_a_task_gets_its_context(name: str) -> None:
    result = finished(getattr(shop, name).using(priority=-7).enqueue(of=5))
    assert result.return_value == [1, 5, result.id, -7]


@pytest.mark.parametrize("name", ["fail", "fail_async"])
def test_a_task_fails(name: str) -> None:
    result = finished(getattr(shop, name).enqueue("no such order"))
    assert (result.status, result.is_finished) == (TaskResultStatus.FAILED, True)
    assert result.args == ["no such order"]
    [error] = result.errors
    assert error.exception_class is ValueError
    assert "shop/tasks.py" in error.traceback
    assert error.traceback.endswith("ValueError: no such order\n")
    assert result.finished_at is not None
    with pytest.raises(ValueError, match="Task failed"):
        _ = result.return_value


def test_an_error_that_is_longer_as_unicode() -> None:
    logging.disable()  # pytest-xdist cannot pass on what is logged
    try:
        result = finished(shop.fail_without_unicode.enqueue(20_000))
    finally:
        logging.disable(logging.NOTSET)
    [error] = result.errors
    assert error.exception_class is ValueError
    assert len(error.traceback) == 10_000


def test_attempts_and_their_errors(site: Site) -> None:
    with configured(site, attempts=3):
        result = finished(shop.fail_once.enqueue())
        assert (result.return_value, result.attempts) == ("done", 2)
        assert result.started_at < result.last_attempted_at
        [error] = result.errors
        assert error.exception_class.__name__ == "RetryAfter"
        assert "KeyError" in error.traceback


def test_a_task_decides_how_it_ends(site: Site) -> None:
    with configured(site, attempts=3):
        gave_up = finished(shop.give_up.enqueue())
        assert (gave_up.status, gave_up.attempts) == ("FAILED", 1)
        assert gave_up.errors[0].exception_class_path == "holdfast.queues.outcomes.GiveUp"
        snoozed = finished(shop.snooze_once.enqueue())
        assert (snoozed.return_value, snoozed.attempts, snoozed.errors) == (1, 1, [])


def test_a_return_value_that_is_no_json(site: Site) -> None:
    with configured(site, attempts=3):
        result = finished(shop.unstorable.enqueue())
        assert (result.status, result.attempts) == ("FAILED", 1)
        assert result.errors[0].exception_class is TypeError


def test_a_return_value_that_is_too_large() -> None:
    """The task is done, and Django learns that its value was not stored."""
    result = finished(shop.big.enqueue(2_000_000))
    assert result.status == "FAILED"
    assert "limit" in result.errors[0].traceback


def test_arguments_must_be_json() -> None:
    for wrong in (object(), b"\xff", {1, 2}):
        with pytest.raises((TypeError, ValueError), match="Unsupported"):
            shop.add.enqueue(wrong)
    assert finished(shop.receipt.enqueue((1, 2))).return_value == [1, 2]


def test_events_of_the_task_itself_are_not_ours() -> None:
    result = finished(shop.reports_itself.enqueue("mine"))
    assert (result.status, result.errors, result.attempts) == ("SUCCESSFUL", [], 1)


def test_run_after() -> None:
    at = datetime.now(UTC) + timedelta(hours=2)
    result = shop.add.using(run_after=at).enqueue(1)
    found = shop.add.get_result(result.id)
    assert (found.status, found.task.run_after) == ("READY", at)
    [waiting] = default_task_backend.client.queue("default").tasks("delayed")
    assert waiting.due_at is not None
    assert abs(waiting.due_at - at) < timedelta(minutes=1)
    soon = shop.add.using(run_after=datetime.now(UTC) - timedelta(hours=1)).enqueue(1)
    default_task_backend.client.queue("default").handle(result.id.partition(":")[2]).cancel()
    assert finished(soon).return_value == 1
    with pytest.raises(TaskResultDoesNotExist):  # it was cancelled before it ran: nothing is kept
        result.refresh()


def test_priorities_are_three_levels() -> None:
    numbers = [-100, 0, 100, -1, 1, 42]
    for number in numbers:
        shop.add.using(priority=number).enqueue(number)
    waiting = default_task_backend.client.queue("default").tasks()
    levels = {task.args[0]: task.priority for task in waiting}
    assert levels == {-100: "low", -1: "low", 0: "medium", 1: "high", 42: "high", 100: "high"}
    assert [task.args[0] for task in waiting] == [100, 1, 42, 0, -100, -1]


def test_queues() -> None:
    result = shop.receipt.enqueue(7)
    assert result.id.startswith("email:")
    assert finished(result).task.queue_name == "email"
    moved = shop.add.using(queue_name="email").enqueue(1)
    assert finished(moved).task.queue_name == "email"
    with pytest.raises(InvalidTask, match="Queue 'unknown' is not valid"):
        shop.add.using(queue_name="unknown")


def test_any_queue(site: Site) -> None:
    setting = {"BACKEND": "holdfast.django.HoldfastBackend", "QUEUES": []}
    options = {"url": site.url, "namespace": site.namespace}
    with override_settings(TASKS={"default": {**setting, "OPTIONS": options}}):
        result = shop.add.using(queue_name="other").enqueue(1)
        worker(queues={"other": 1}).run(until_idle=True)
        result.refresh()
        assert result.return_value == 1
        with pytest.raises(InvalidTask, match="at most 30 characters"):
            shop.add.using(queue_name="x" * 31)


def local_task() -> Any:
    @task
    def inner() -> None: ...

    return inner


def lambda_task() -> Any:
    return task(lambda: None)


def without_context() -> None: ...


def test_invalid_tasks() -> None:
    with pytest.raises(InvalidTask, match="module level"):
        local_task()
    with pytest.raises(InvalidTask, match="module level"):
        lambda_task()
    with pytest.raises(InvalidTask, match="first argument"):
        task(takes_context=True)(without_context)
    for priority in (101, -101, 3.1):
        with pytest.raises(InvalidTask, match="whole number"):
            shop.add.using(priority=priority)
    with pytest.raises(InvalidTask, match="aware"):
        shop.add.using(run_after=datetime(2030, 1, 1))  # noqa: DTZ001


stray = task(without_context)


def test_a_task_that_no_worker_finds_is_refused() -> None:
    with pytest.raises(InvalidTask, match="belongs to no installed application"):
        stray.enqueue()
    assert default_task_backend.client.queue("default").tasks() == []


def test_unknown_results() -> None:
    for unknown in ("", "unknown", "default:", ":unknown", "default:unknown", "default:with space"):
        with pytest.raises(TaskResultDoesNotExist):
            default_task_backend.get_result(unknown)
    result = shop.add.enqueue(1)
    with pytest.raises(TaskResultMismatch):
        shop.fail.get_result(result.id)


def test_a_name_from_the_server_imports_nothing(site: Site) -> None:
    """Another program may enqueue any name."""
    from holdfast import Call

    client = default_task_backend.client
    for name in ("antigravity.fly", "os.system", "with_django.shop.tasks.backend_pid", "add", ""):
        handle = client.enqueue(Call(name, "default", "medium"))
        with pytest.raises(TaskResultDoesNotExist):
            default_task_backend.get_result(f"default:{handle.task_id}")
    import sys

    assert "antigravity" not in sys.modules


def test_signals() -> None:
    seen: list[tuple[str, str, str]] = []

    def note(name: str) -> Any:
        def receiver(sender: Any, task_result: Any, **_: Any) -> None:
            assert sender is HoldfastBackend
            seen.append((name, task_result.id, task_result.status))

        return receiver

    signals = {"enqueued": task_enqueued, "started": task_started, "finished": task_finished}
    receivers = {name: note(name) for name in signals}
    for name, signal in signals.items():
        signal.connect(receivers[name])
    try:
        for each, more, end in (
            (shop.add, "b", "SUCCESSFUL"),
            (shop.add_async, "b", "SUCCESSFUL"),
            (shop.fail, "", "FAILED"),
        ):
            result = each.enqueue("a", *more)
            work()
            assert [name for name, _, _ in seen] == ["enqueued", "started", "finished"]
            assert {found for _, found, _ in seen} == {result.id}
            assert [state for _, _, state in seen] == ["READY", "RUNNING", end]
            seen.clear()
    finally:
        for name, signal in signals.items():
            signal.disconnect(receivers[name])


def test_a_receiver_that_raises_does_not_repeat_the_task(caplog: pytest.LogCaptureFixture) -> None:
    def receiver(**_: Any) -> None:
        raise LookupError("receiver")

    task_finished.connect(receiver)
    try:
        with caplog.at_level(logging.CRITICAL):
            result = finished(shop.add.enqueue(1))
    finally:
        task_finished.disconnect(receiver)
    assert (result.return_value, result.attempts) == (1, 1)


def test_naive_times_without_time_zones() -> None:
    with override_settings(USE_TZ=False):
        result = finished(shop.add.using(run_after=datetime(2020, 1, 1)).enqueue(1))  # noqa: DTZ001
        assert result.enqueued_at.tzinfo is None
        assert result.started_at.tzinfo is None
        assert result.return_value == 1


def test_enqueue_from_async_code() -> None:
    async def view() -> Any:
        return await shop.add_async.aenqueue(3)

    assert finished(async_to_sync(view)()).return_value == 3
