"""`holdfast tasks history`: which tasks it lists, and what it says when there are none."""

from __future__ import annotations

from cli.conftest import runner
from cli.filled_queue import HOSTILE_ID, VISIBLE, Run, enqueue_dead, note, rows, tasks
from conftest import Site
from holdfast import Holdfast


def test_ended_tasks_are_listed_the_last_first(filled: Holdfast, run: Run) -> None:
    """Print each task on a line, with its outcome and its reason."""
    listed = run("tasks", "history", "crowd")
    assert listed.exit_code == 0, listed.output
    assert [line.split()[:3] for line in listed.stdout.splitlines()] == [
        ["task", "id", "task"],
        ["ended", "note", "done"],
        ["dead-2", "fail", "failed"],
        ["dead-1", "fail", "failed"],
    ]
    assert listed.stdout.count(f"failed: ValueError: {VISIBLE}") == 2
    assert listed.stdout.replace("\n", "").isprintable()
    [first, *_] = found = rows(run("tasks", "history", "crowd", "--json"))
    assert [row["task_id"] for row in found] == ["ended", "dead-2", "dead-1"]
    assert (first["queue"], first["state"], first["attempts"]) == ("crowd", "done", 1)
    assert first["duration"] >= 0
    assert first["ended_at"].endswith("Z")


def test_a_narrow_terminal_shows_all_columns(filled: Holdfast, home: Site) -> None:
    """The reason of each task is on a further line."""
    narrow = runner(home, COLUMNS="80")
    lines = narrow("tasks", "history", "crowd").stdout.splitlines()
    assert lines[0].split() == ["task", "id", "task", "outcome", "ended", "took", "attempts"]
    assert lines[1].split()[:3] == ["ended", "note", "done"]
    assert lines[2].split()[:3] == ["dead-2", "fail", "failed"]
    assert lines[3].startswith("      failed: ValueError: ")
    assert all(len(line) <= 80 for line in lines)


def test_the_history_is_filtered(filled: Holdfast, run: Run) -> None:
    """Combine the filters."""
    filled.queue("crowd").handle(HOSTILE_ID).cancel()

    def ids(*options: str) -> list[str]:
        found = rows(run("tasks", "history", "crowd", "--json", *options))
        return [row["task_id"] for row in found]

    assert ids("--outcome", "cancelled") == [HOSTILE_ID]
    assert ids("--outcome", "dead") == ids("--outcome", "failed") == ["dead-2", "dead-1"]
    assert ids("--name", "note") == [HOSTILE_ID, "ended"]
    assert ids("--name", "note", "--outcome", "done") == ["ended"]
    assert ids("--search", "AD-1") == ["dead-1"]
    assert ids("--search", "valueerror", "--limit", "1") == ["dead-2"]
    assert ids("--before", "2") == ["dead-1"]


def test_a_long_history_shows_how_to_go_on(hf: Holdfast, run: Run) -> None:
    """Print the number for `--before`."""
    enqueue_dead(hf, 5)
    listed = run("tasks", "history", "crowd", "--limit", "2")
    assert listed.stdout.endswith("  older ones: --before 4\n")
    assert "older ones" not in run("tasks", "history", "crowd", "--before", "2").stdout


def test_a_history_may_be_empty(hf: Holdfast, run: Run) -> None:
    """Exit with code 0 for a known queue, and 3 for an unknown one."""
    hf.enqueue(note.call("x"))
    empty = run("tasks", "history", "crowd")
    assert (empty.exit_code, empty.stdout) == (0, "the history of queue 'crowd' has no tasks\n")
    hf.worker(tasks).run(until_idle=True)
    fitting = run("tasks", "history", "crowd", "--name", "x")
    assert fitting.stdout == "the history of queue 'crowd' has no tasks that fit\n"
    missing = run("tasks", "history", "crwd")
    assert (missing.exit_code, "did you mean 'crowd'?" in missing.stderr) == (3, True)
