"""`holdfast tasks enqueue`: what it puts into a queue, what it prints, and what it refuses."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cli.filled_queue import Run, rows
from holdfast import Holdfast, TaskRegistry, Unique, current_task

tasks = TaskRegistry()
ran: list[tuple[Any, ...]] = []


@tasks.task(queue="shell")
def send(seller: str, price: int = 0, *, rush: bool = False) -> str:
    ran.append((seller, price, rush, dict(current_task().headers)))
    return seller


def test_a_task_is_enqueued_and_runs(hf: Holdfast, run: Run) -> None:
    """Print the id, and nothing else, so that a script can use it."""
    ran.clear()
    done = run("tasks", "enqueue", "shell", "send", "seller=jill", "price=97", "rush=true")
    assert (done.exit_code, done.stderr) == (0, "")
    hf.worker(tasks).run(until_idle=True)
    assert hf.queue("shell").handle(done.stdout.strip()).result(timeout=0) == "jill"
    assert ran == [("jill", 97, True, {})]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("jill", "jill"),
        ("97", 97),
        ('"97"', "97"),
        ("1.5", 1.5),
        ("true", True),
        ("True", "True"),
        ("null", None),
        ("", ""),
        ("a=b", "a=b"),
        ("[1, {}]", [1, {}]),
        ("[1", "[1"),
        ("NaN", "NaN"),
        ("[" * 100_000, "[" * 100_000),
        (" jill ", " jill "),
    ],
)
def test_a_value_is_json_or_text(hf: Holdfast, run: Run, text: str, value: object) -> None:
    done = run("tasks", "enqueue", "shell", "send", f"it={text}")
    assert done.exit_code == 0, done.output
    assert hf.queue("shell").handle(done.stdout.strip()).status().kwargs == {"it": value}


def test_arguments_may_be_whole_json(hf: Holdfast, run: Run) -> None:
    options = ["--args", '["17"]', "--kwargs", '{"price": 97}']
    [row] = rows(run("tasks", "enqueue", "shell", "send", "rush=false", *options, "--json"))
    assert (row["queue"], row["task"], sorted(row)) == (
        "shell",
        "send",
        ["enqueued", "queue", "task", "task_id"],
    )
    status = hf.queue("shell").handle(row["task_id"]).status()
    assert (status.args, status.kwargs) == (("17",), {"price": 97, "rush": False})


def test_options_are_those_of_a_call(hf: Holdfast, run: Run) -> None:
    options = ["--delay", "60", "--priority", "high", "--id", "sold-17", "--expires", "90"]
    options += ["--header", "tenant=acme", "--header", "note=a=b"]
    assert run("tasks", "enqueue", "shell", "send", *options).stdout == "sold-17\n"
    status = hf.queue("shell").handle("sold-17").status()
    assert (status.state, status.priority) == ("delayed", "high")
    assert status.headers == {"tenant": "acme", "note": "a=b"}
    assert status.due_at is not None
    assert abs(status.due_at - datetime.now(UTC) - timedelta(seconds=60)) < timedelta(seconds=30)
    shown = run("tasks", "show", "shell", "sold-17")
    assert '{"tenant": "acme", "note": "a=b"}' in shown.stdout
    row = json.loads(run("tasks", "show", "shell", "sold-17", "--json").stdout)
    assert row["headers"] == status.headers


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (
            ["seller"],
            "got 'seller'; positional arguments go to --args, JSON objects to --kwargs",
        ),
        (["=jill"], "expected ARG=VALUE, got '=jill'"),
        (["a=1", "a=2"], "'a' is given twice"),
        (["a=1", "--kwargs", '{"a": 1}'], "argument 'a' is given twice"),
        (["--kwargs", "{"], "--kwargs is not JSON"),
        (["--kwargs", "[]"], "--kwargs must be an object, as in {}"),
        (["--args", "{}"], "--args must be an array, as in []"),
        (["--args", "[NaN]"], "--args is not JSON: NaN is no JSON"),
        (["--header", "tenant"], "expected --header NAME=VALUE, got 'tenant'"),
        (["--header", f"a={'x' * 5000}"], "at most 4,096 bytes"),
        (["--id", "a b"], "no blanks"),
        (["--delay", "1e9"], "over 30 years"),
        (["--delay", "60", "--expires", "30"], "expire before it may run"),
        (["--priority", "urgent"], "urgent"),
    ],
)
def test_wrong_usage_enqueues_nothing(
    hf: Holdfast, run: Run, args: list[str], problem: str
) -> None:
    done = run("tasks", "enqueue", "shell", "send", *args)
    assert (done.exit_code, done.stdout) == (2, "")
    assert problem in done.stderr
    assert hf.queue("shell").stats().ready == 0


def test_a_task_that_exists_is_reported(hf: Holdfast, run: Run) -> None:
    """The exit code is 0: the task is in the queue, as its producer wants."""
    enqueue = ("tasks", "enqueue", "shell", "send", "--id", "sold-17")
    assert run(*enqueue).stderr == ""
    again = run(*enqueue)
    assert (again.exit_code, again.stdout) == (0, "sold-17\n")
    assert "nothing was changed" in again.stderr
    [row] = rows(run(*enqueue, "--json"))
    assert (row["task_id"], row["enqueued"]) == ("sold-17", "existing")
    assert hf.queue("shell").stats().ready == 1


def test_the_key_of_a_unique_task_is_shown(hf: Holdfast, run: Run) -> None:
    handle = hf.enqueue(send.call("jill").options(unique=Unique(key="seller")))
    key = handle.status().unique_key
    assert f"unique key  {key}\n" in run("tasks", "show", "shell", handle.task_id).stdout
    assert "unique key" not in run("tasks", "show", "shell", "sold-17").stdout


def test_a_full_queue_is_a_failure(hf: Holdfast, run: Run) -> None:
    hf.queue("shell").redefine(capacity=1)
    assert run("tasks", "enqueue", "shell", "send").exit_code == 0
    full = run("tasks", "enqueue", "shell", "send")
    assert (full.exit_code, full.stdout) == (1, "")
    assert "queue 'shell' is full" in full.stderr
