"""`holdfast tasks steps` and `holdfast tasks signal`."""

from __future__ import annotations

import json

from cli.filled_queue import Run, rows
from holdfast import Holdfast, TaskHandle, TaskRegistry, current_task

tasks = TaskRegistry()


@tasks.task(queue="crowd")
def approved() -> str:
    """Run a step, and wait for a signal."""
    task = current_task()
    task.step("draft", str.upper, "text")
    by: str = task.wait_for("approved")
    return by


def waiting(hf: Holdfast) -> TaskHandle[str]:
    handle = hf.enqueue(approved.call())
    hf.worker(tasks).run(until_idle=True)
    return handle


def test_the_steps_of_a_task_are_listed(hf: Holdfast, run: Run) -> None:
    handle = waiting(hf)
    handle.signal("later", 1)
    listed = run("tasks", "steps", "crowd", handle.task_id)
    assert listed.exit_code == 0, listed.output
    lines = listed.stdout.splitlines()
    assert lines[1].split()[:3] == ["draft", "step", "done"]
    assert '"TEXT"' in lines[1]
    assert lines[2].split() == ["approved", "wait", "waiting", "until", "a", "signal"]
    assert lines[3] == "1 signal not taken yet: later"
    found = rows(run("tasks", "steps", "crowd", handle.task_id, "--json"))
    assert [(row["name"], row["state"], row["result"]) for row in found] == [
        ("draft", "done", json.dumps("TEXT")),
        ("approved", "waiting", ""),
    ]
    shown = run("tasks", "show", "crowd", handle.task_id)
    assert "delayed (waiting for approved)" in shown.stdout
    assert "waits for approved" in run("tasks", "ls", "crowd").stdout


def test_a_signal_wakes_a_task(hf: Holdfast, run: Run) -> None:
    handle = waiting(hf)
    sent = run("tasks", "signal", "crowd", handle.task_id, "approved", "--value", '"ann"')
    assert sent.exit_code == 0, sent.output
    hf.worker(tasks).run(until_idle=True)
    assert handle.result(timeout=0) == "ann"
    assert run("tasks", "steps", "crowd", handle.task_id).stdout == (
        f"task {handle.task_id!r} is done, and no steps of it are stored\n"
    )


def test_a_signal_that_is_refused_fails(hf: Holdfast, run: Run) -> None:
    handle = waiting(hf)
    args = ("tasks", "signal", "crowd", handle.task_id)
    assert run(*args, "approved", "--value", "{").exit_code == 2
    assert run(*args, "two words").exit_code == 2
    assert run(*args, "approved", "--json").exit_code == 0
    hf.worker(tasks).run(until_idle=True)
    ended = run(*args, "approved")
    assert (ended.exit_code, "is done" in ended.stderr) == (1, True)
    unknown = run("tasks", "signal", "crowd", "nobody", "approved")
    assert (unknown.exit_code, "never enqueued" in unknown.stderr) == (3, True)
    assert run("tasks", "steps", "crowd", "nobody").exit_code == 3
