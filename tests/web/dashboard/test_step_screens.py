"""What the page of a task shows of its steps."""

from __future__ import annotations

from holdfast import TaskRegistry, current_task
from holdfast.testing import TaskBench
from web.dashboard.test_screens import see
from web.running import RunningApp

tasks = TaskRegistry()


@tasks.task(queue="orders")
def order() -> None:
    """Charge, sleep, and wait for a signal."""
    task = current_task()
    task.step("charge", str.upper, "secret <b>")
    task.wait_for("approved")
    task.sleep(days=3)


@tasks.task(queue="orders")
def note() -> None:
    """End at once."""


def test_the_steps_of_a_task_are_a_timeline(live: RunningApp) -> None:
    handle = live.hf.enqueue(order.call())
    live.hf.worker(tasks).run(until_idle=True)
    handle.signal("other")
    seen = see(live, "task", queue="orders", id=handle.task_id)
    assert seen["task"]["waits_for"] == "approved"
    steps = seen["steps"]
    assert [(each["name"], each["state"]) for each in steps["steps"]] == [
        ("charge", "done"),
        ("approved", "waiting"),
    ]
    assert steps["signals"] == ["other"]
    page = live.visitor("viewer", Accept="text/html").get(f"/task?queue=orders&id={handle.task_id}")
    assert "Waits for the signal" in page.text
    assert "SECRET &lt;B&gt;" in page.text
    assert "Signals that no wait has taken" in page.text
    assert "Failed" not in page.text


def test_a_task_that_sleeps_shows_when_it_ends(live: RunningApp) -> None:
    handle = live.hf.enqueue(order.call())
    handle.signal("approved", 1)
    TaskBench(live.hf).drain(tasks)
    page = live.visitor("viewer", Accept="text/html").get(f"/task?queue=orders&id={handle.task_id}")
    assert "Sleeps <small>ends" in page.text


def test_an_ended_task_has_its_name_worker_and_duration(live: RunningApp) -> None:
    """The task itself is no longer stored: they come from the history of its queue."""
    handle = live.hf.enqueue(note.call())
    live.hf.worker(tasks).run(until_idle=True)
    record = see(live, "task", queue="orders", id=handle.task_id)["record"]
    assert (record["task"], record["task_id"]) == (note.name, handle.task_id)
    page = live.visitor("viewer", Accept="text/html").get(f"/task?queue=orders&id={handle.task_id}")
    for text in (note.name, record["worker"], "<dt>Duration</dt>"):
        assert text in page.text
