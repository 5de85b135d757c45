"""`holdfast tasks follow`: what it prints, and how it ends."""

from __future__ import annotations

from cli.filled_queue import Run, rows
from holdfast import Holdfast
from queues.event_tasks import counts, fails, renders, tasks


def test_events_are_printed_until_the_task_ends(hf: Holdfast, run: Run) -> None:
    """Print a line for each event; the rest of standard output is theirs, too."""
    handle = hf.enqueue(renders.call(2))
    hf.worker(tasks).run(until_idle=True)
    followed = run("tasks", "follow", "events", handle.task_id)
    assert followed.exit_code == 0, followed.output
    assert followed.stdout.splitlines() == [
        "1  50%, 1 of 2: rendering",
        '2  {"page": 1}',
        "3  100%, 2 of 2: rendering",
        '4  {"page": 2}',
    ]
    assert f"task '{handle.task_id}' is done" in followed.stderr
    found = rows(run("tasks", "follow", "events", handle.task_id, "--json", "--after", "3"))
    [row] = found
    assert (row["queue"], row["task_id"]) == ("events", handle.task_id)
    assert (row["number"], row["kind"], row["data"]) == (4, "event", {"page": 2})


def test_gaps_and_other_ends_are_shown(hf: Holdfast, run: Run) -> None:
    """Exit with 1 if the task is dead, and with 3 if it is unknown."""
    long, dead = hf.enqueue(counts.call(1003)), hf.enqueue(fails.call("no"))
    hf.worker(tasks).run(until_idle=True)
    lines = run("tasks", "follow", "events", long.task_id).stdout.splitlines()
    assert lines[:2] == ["1-3  missing (dropped)", "4  3"]
    [first, *_] = rows(run("tasks", "follow", "events", long.task_id, "--json"))
    assert first["gap"] == {"first": 1, "last": 3, "reason": "dropped"}
    followed = run("tasks", "follow", "events", dead.task_id)
    assert (followed.exit_code, len(followed.stdout.splitlines())) == (1, 4)
    shown = run("tasks", "show", "events", dead.task_id)
    assert "50%, 1 of 2: no" in shown.stdout
    assert run("tasks", "follow", "events", "unheard-of").exit_code == 3


def test_it_does_not_wait_longer_than_its_timeout(hf: Holdfast, run: Run) -> None:
    """Exit with 0 although the task has not ended."""
    handle = hf.enqueue(counts.call(1))
    followed = run("tasks", "follow", "events", handle.task_id, "--timeout", "0")
    assert (followed.exit_code, followed.stdout) == (0, "")
    assert "is queued" in followed.stderr
