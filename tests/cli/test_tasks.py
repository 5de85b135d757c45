"""`holdfast tasks`: what it shows, what it changes, and when it refuses."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from rich.cells import cell_len

from cli.filled_queue import HOSTILE, HOSTILE_ID, VISIBLE, Run, enqueue_dead, fail, hold, note, rows
from conftest import Site
from faults.waiting import eventually
from holdfast import Holdfast


def test_tasks_are_listed_as_they_come(filled: Holdfast, run: Run) -> None:
    """List running, next, delayed and dead tasks, each with its details."""
    listed = run("tasks", "ls", "crowd")
    assert listed.exit_code == 0, listed.output
    headings = [line for line in listed.stdout.splitlines() if line and line[0] != " "]
    assert headings == ["running: 1", "queued: 3", "delayed: 1", "dead: 2"]
    assert listed.stdout.replace("\n", "").isprintable()
    assert f"  {HOSTILE_ID}  " in listed.stdout
    assert listed.stdout.count(f"      failed: ValueError: {VISIBLE}\n") == 2
    assert "due in 60 min" in listed.stdout
    found = rows(run("tasks", "ls", "crowd", "--json"))
    assert [(row["state"], row["task_id"]) for row in found] == [
        ("running", "running"), ("queued", "queued-1"), ("queued", "queued-2"),
        ("queued", HOSTILE_ID), ("delayed", "delayed"), ("dead", "dead-2"), ("dead", "dead-1"),
    ]  # fmt: skip
    assert found[0]["worker"] in listed.stdout


def test_a_list_shows_the_arguments(hf: Holdfast, run: Run) -> None:
    """Cut them to one line; print them whole in JSON, and for one task."""
    text = "長" * 500
    hf.enqueue(fail.call(HOSTILE, number=7).options(task_id="short"))
    hf.enqueue(note.call(text).options(task_id="long"))
    hf.enqueue(hold.call().options(task_id="nothing"))
    lines = run("tasks", "ls", "crowd").stdout.splitlines()
    assert r'      ("[red]\u001b[31m\u202e:bomb:\\", number=7)' in lines
    [cut] = [line for line in lines if "長" in line]
    assert (cut.startswith('      ("長長'), cut.endswith("…")) == (True, True)
    assert cell_len(cut) == 120
    assert "nothing  hold" in lines[-1]
    found = rows(run("tasks", "ls", "crowd", "--json"))
    assert [row["args"] for row in found] == [[HOSTILE], [text], []]
    assert text in run("tasks", "show", "crowd", "long").stdout.replace("\n", "").replace(" ", "")


def test_a_list_has_no_arguments_where_the_reply_had_no_room(hf: Holdfast, run: Run) -> None:
    """Print everything else of the task."""
    text = "x" * 900_000
    hf.enqueue_many([note.call(text).options(task_id=name) for name in ("first", "second")])
    listed = run("tasks", "ls", "crowd").stdout.splitlines()
    assert [line[:9] for line in listed[1:]] == ["  first  ", '      ("x', "  second "]


def test_a_list_shows_how_many_more_there_are(filled: Holdfast, run: Run) -> None:
    """Print it on standard error beside JSON, so that all lines are JSON."""
    listed = run("tasks", "ls", "crowd", "--limit", "1")
    assert "  … and 2 more queued\n" in listed.stdout
    assert "  … and 1 more dead\n" in listed.stdout
    assert "more running" not in listed.output
    queued = run("tasks", "ls", "crowd", "--limit", "2", "--state", "queued", "--json")
    assert [row["task_id"] for row in rows(queued)] == ["queued-1", "queued-2"]
    assert queued.stderr == "  … and 1 more queued\n"


def test_a_list_may_be_empty(filled: Holdfast, run: Run) -> None:
    """Exit with code 0 for a known queue without tasks, and 3 for an unknown one."""
    filled.queue("crowd").purge(dead=True)
    empty = run("tasks", "ls", "crowd", "--state", "dead")
    assert (empty.exit_code, empty.stdout) == (0, "queue 'crowd' has no tasks that are dead\n")
    assert run("tasks", "ls", "crowd", "--state", "dead", "--json").stdout == ""
    missing = run("tasks", "ls", "crwd")
    assert (missing.exit_code, "did you mean 'crowd'?" in missing.stderr) == (3, True)


def test_an_overdue_task_is_listed_next(hf: Holdfast, run: Run) -> None:
    """List it as queued, although the numbers count it as delayed."""
    hf.enqueue_many([note.call("x").options(delay=0.001) for _ in range(3)])
    hf.enqueue(note.call("x").options(delay=3600))
    eventually(lambda: len(hf.queue("crowd").tasks("queued")) == 3)
    listed = run("tasks", "ls", "crowd", "--limit", "2").stdout
    assert [line for line in listed.splitlines() if line and line[0] != " "] == [
        "queued: 3", "delayed: 1",
    ]  # fmt: skip
    assert listed.count("more") == 1


@pytest.mark.parametrize("option", [["--limit", "0"], ["--limit", "1001"], ["--state", "done"]])
def test_what_cannot_be_listed_is_wrong_usage(run: Run, option: list[str]) -> None:
    """Refuse it before a server is used."""
    assert run("tasks", "ls", "crowd", *option).exit_code == 2


def test_everything_of_a_task_is_shown(filled: Holdfast, run: Run) -> None:
    """Escape arguments and reason for people; print them unchanged in JSON."""
    shown = run("tasks", "show", "crowd", "dead-1")
    assert shown.exit_code == 0, shown.output
    assert shown.stdout.replace("\n", "").isprintable()
    assert f"reason    failed: ValueError: {VISIBLE}\n" in shown.stdout
    assert 'kwargs    {"number": 1}\n' in shown.stdout
    assert " UTC (" in shown.stdout
    (row,) = rows(run("tasks", "show", "crowd", "dead-1", "--json"))
    instants = [datetime.fromisoformat(row.pop(f"{name}_at")) for name in ("enqueued", "ended")]
    assert all(instant.utcoffset() == timedelta(0) for instant in instants)
    assert all(abs(datetime.now(UTC) - instant) < timedelta(minutes=5) for instant in instants)
    assert row == {
        "queue": "crowd", "task_id": "dead-1", "state": "dead", "task": "fail",
        "priority": "medium", "args": [HOSTILE], "kwargs": {"number": 1}, "attempts": 1,
        "crashes": 0, "reason": f"failed: ValueError: {HOSTILE}", "worker": "", "due_at": None,
        "headers": {}, "snoozes": 0, "unique_key": "", "limit_key": "", "limited": False,
        "progress": None, "suspended": "", "waits_for": "",
    }  # fmt: skip


def test_each_state_is_shown(filled: Holdfast, run: Run) -> None:
    """Show only the outcome of a task that is done."""
    assert "worker    " in run("tasks", "show", "crowd", "running").stdout
    assert "(in 60 min)" in run("tasks", "show", "crowd", "delayed").stdout
    done = run("tasks", "show", "crowd", "ended").stdout
    assert "state     done\n" in done
    assert "args" not in done


def test_an_unknown_task_is_not_found(filled: Holdfast, run: Run) -> None:
    """Exit with 3, also in an unknown queue; an impossible id is wrong usage."""
    for command in ("show", "cancel", "replay"):
        result = run("tasks", command, "crowd", "nosuch")
        assert (result.exit_code, result.stdout) == (3, "")
        assert "queue 'crowd' does not know task 'nosuch'" in result.stderr
        result = run("tasks", command, "crwd", "queued-1")
        assert (result.exit_code, "did you mean 'crowd'?" in result.stderr) == (3, True)
        assert run("tasks", command, "crowd", "a b").exit_code == 2


def test_cancel_asks_first_and_shows_how_many(filled: Holdfast, run: Run) -> None:
    """Stop the running tasks; the waiting ones will not run."""
    names = ["running", "queued-1", HOSTILE_ID, "delayed", "queued-1"]
    refused = run("tasks", "cancel", "crowd", *names)
    assert refused.exit_code == 4
    assert "cancel 4 tasks (1 running, 2 queued, 1 delayed) of queue 'crowd'" in refused.stderr
    assert filled.queue("crowd").handle("delayed").status().state == "delayed"
    cancelled = run("tasks", "cancel", "crowd", *names, "--yes")
    assert (cancelled.exit_code, cancelled.stdout) == (0, "cancelled 4 tasks of queue 'crowd'\n")
    for name in names:
        assert filled.queue("crowd").handle(name).status().state == "cancelled"
    again = run("tasks", "cancel", "crowd", "delayed")
    assert (again.exit_code, "delayed had ended before: cancelled" in again.stdout) == (0, True)


def test_cancel_reports_which_had_ended_before(filled: Holdfast, run: Run) -> None:
    """Exit with code 1 if some of them could not be cancelled."""
    result = run("tasks", "cancel", "crowd", "ended", "queued-1", "dead-1", "--yes")
    assert result.exit_code == 1
    assert result.stdout == (
        "cancelled 1 task of queue 'crowd'\n"
        "  ended had ended before: done\n"
        "  dead-1 had ended before: dead\n"
    )
    result = run("tasks", "cancel", "crowd", "ended", "queued-2", "nosuch", "--yes", "--json")
    assert result.exit_code == 3
    assert rows(result) == [
        {
            "queue": "crowd", "cancelled": ["queued-2"], "ended_before": {"ended": "done"},
            "unknown": ["nosuch"],
        }
    ]  # fmt: skip


def test_dead_tasks_are_replayed_by_name(filled: Holdfast, run: Run) -> None:
    """Ask nothing; name those that were not dead."""
    result = run("tasks", "replay", "crowd", "dead-2", "queued-1")
    assert result.exit_code == 1
    assert result.stdout == "replayed 1 task of queue 'crowd'\n  queued-1 is queued\n"
    assert filled.queue("crowd").handle("dead-2").status().state == "queued"
    result = run("tasks", "replay", "crowd", "dead-1", "ended", "--json")
    assert result.exit_code == 1
    assert rows(result) == [
        {"queue": "crowd", "replayed": ["dead-1"], "not_dead": {"ended": "done"}, "unknown": []}
    ]


def test_all_dead_tasks_are_replayed(hf: Holdfast, run: Run) -> None:
    """Ask first, with the number; replay more than one step can."""
    enqueue_dead(hf, 1005)
    refused = run("tasks", "replay", "crowd")
    assert (refused.exit_code, "replay 1,005 dead tasks" in refused.stderr) == (4, True)
    assert hf.queue("crowd").stats().dead == 1005
    replayed = run("tasks", "replay", "crowd", "--yes")
    assert replayed.stdout == "replayed 1,005 dead tasks of queue 'crowd'\n"
    assert hf.queue("crowd").stats().ready == 1005
    assert rows(run("tasks", "replay", "crowd", "--json")) == [{"queue": "crowd", "replayed": 0}]


def test_a_foreign_envelope_is_shown_as_unreadable(hf: Holdfast, run: Run, home: Site) -> None:
    """List the other tasks as usual."""
    hf.enqueue(note.call("x").options(task_id="good"))
    hf.enqueue(note.call("x").options(task_id="bad"))
    bodies = f"{hf.namespace}:{{queue:crowd}}:bodies"
    home.client.hset(bodies, "bad", b"\xff\x00 garbage")
    listed = run("tasks", "ls", "crowd")
    assert (listed.exit_code, "bad   (unreadable)" in listed.stdout) == (0, True)
    assert "task      (unreadable)\n" in run("tasks", "show", "crowd", "bad").stdout
