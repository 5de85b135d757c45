"""`holdfast schedules`: what it shows, what it changes, and when it refuses."""

from __future__ import annotations

import sys

import pytest

from cli.filled_queue import Run, rows
from holdfast import Cron, Every, Holdfast, TaskRegistry

tasks = TaskRegistry()
ran: list[int] = []


@tasks.task(queue="reports")
def digest(customer: int = 0) -> None:
    ran.append(customer)


def test_a_schedule_is_added_and_shown(hf: Holdfast, run: Run) -> None:
    """Store what the command line gives; `show` prints the next instants."""
    added = run(
        *("schedules", "add", "digest-42", "reports", "digest", "customer=42"),
        *("--cron", "0 3 * * *", "--tz", "Europe/Berlin", "--missed", "all", "--overlap", "skip"),
    )
    assert added.exit_code == 0, added.output
    assert added.stdout.startswith("schedule 'digest-42' fires next at ")
    status = hf.schedule_handle("digest-42").status()
    assert (status.timing, status.task) == (Cron("0 3 * * *", "Europe/Berlin"), "digest")
    assert (status.missed_policy, status.overlap) == ("all", "skip")
    (row,) = rows(run("schedules", "show", "digest-42", "--json"))
    assert (row["schedule"], row["queue"], len(row["next"])) == ("digest-42", "reports", 5)
    assert row["timing"] == "0 3 * * * (Europe/Berlin)"
    shown = run("schedules", "show", "digest-42").stdout
    assert shown.count("next") == 5
    assert "no: it is stored on the server" in shown


def test_schedules_are_listed(hf: Holdfast, run: Run) -> None:
    """List them by name; without a command as well."""
    assert "no schedules" in run("schedules").stdout
    hf.schedule("b", digest.call(1), Every(60))
    hf.schedule("a", digest.call(1), Every(minutes=2))
    title, first, second = run("schedules", "ls").stdout.splitlines()
    assert title.split()[:3] == ["schedule", "next", "timing"]
    assert (first.split()[0], second.split()[0]) == ("a", "b")
    assert "every 120 s" in first
    assert [row["schedule"] for row in rows(run("schedules", "--json"))] == ["a", "b"]


def test_pause_and_resume(hf: Holdfast, run: Run) -> None:
    """Print whether anything changed."""
    hf.schedule("a", digest.call(1), Every(60))
    assert "was not paused" in run("schedules", "resume", "a").stdout
    paused = rows(run("schedules", "pause", "a", "--json"))
    assert paused == [{"schedule": "a", "paused": True, "changed": True}]
    assert "is still paused" in run("schedules", "pause", "a").stdout
    assert "paused" in run("schedules", "ls").stdout
    assert "until `resume`" in run("schedules", "show", "a").stdout
    assert "is resumed" in run("schedules", "resume", "a").stdout
    assert not hf.schedule_handle("a").status().paused


def test_trigger_enqueues_a_task(hf: Holdfast, run: Run) -> None:
    """Print its id, and nothing else."""
    ran.clear()
    hf.schedule("a", digest.call(7), Every(3600))
    triggered = run("schedules", "trigger", "a")
    assert hf.queue("reports").handle(triggered.stdout.strip()).status().state == "queued"
    hf.worker(tasks).run(until_idle=True)
    assert ran == [7]


def test_rm_asks_first(hf: Holdfast, run: Run) -> None:
    """Refuse without a terminal, because no user can answer."""
    hf.schedule("a", digest.call(1), Every(60))
    refused = run("schedules", "rm", "a")
    assert (refused.exit_code, refused.stdout) == (4, "")
    assert "remove schedule 'a'" in refused.stderr
    assert run("schedules", "rm", "a", "--yes").stdout == "removed schedule 'a'\n"
    assert hf.schedules() == []


@pytest.mark.parametrize("command", ["show", "pause", "resume", "trigger", "rm"])
def test_an_unknown_schedule_is_not_found(hf: Holdfast, run: Run, command: str) -> None:
    """Exit with code 3, and offer a similar name."""
    hf.schedule("nightly", digest.call(1), Every(60))
    result = run("schedules", command, "nightl")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "did you mean 'nightly'?" in result.stderr


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ((), "give one of"),
        (("--every", "60", "--cron", "* * * * *"), "give one of"),
        (("--every", "0.5"), "at least 1 second"),
        (("--cron", "61 * * * *"), "is no cron expression"),
        (("--cron", "* * * * *", "--tz", "Mars/Base"), "unknown time zone"),
        (("--at", "tomorrow"), "tomorrow"),
    ],
)
def test_wrong_timings_are_refused(
    hf: Holdfast, run: Run, options: tuple[str, ...], reason: str
) -> None:
    result = run("schedules", "add", "a", "reports", "digest", *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert reason in result.stderr
    assert hf.schedules() == []


def test_without_cronsim_only_new_instants_are_refused(
    hf: Holdfast, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others need no instant that is not stored; the error names the extra."""
    hf.schedule("a", digest.call(1), Cron("0 3 * * *"))
    monkeypatch.setitem(sys.modules, "cronsim", None)
    assert "0 3 * * *" in run("schedules", "ls").stdout
    assert "is paused" in run("schedules", "pause", "a").stdout
    hf.schedule_handle("a").trigger()
    for command in (
        ("resume", "a"),
        ("add", "b", "reports", "digest", "--cron", "0 3 * * *"),
    ):
        result = run("schedules", *command)
        assert (result.exit_code, result.stdout) == (1, "")
        assert "install `holdfast[cron]`" in result.stderr.replace("\n", " ")
    assert run("schedules", "rm", "a", "--yes").exit_code == 0
