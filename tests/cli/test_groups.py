"""`holdfast groups`: what it shows, and how it cancels."""

from __future__ import annotations

from cli.filled_queue import Run, rows
from holdfast import RESULT, Holdfast, Retry, TaskRegistry, chain

tasks = TaskRegistry()


@tasks.task(queue="parts", retry=Retry(attempts=1))
def load(part: int) -> int:
    if part < 0:
        raise ValueError("no such part")
    return part


def test_groups_are_listed_and_shown(hf: Holdfast, run: Run) -> None:
    assert "no groups" in run("groups").stdout
    hf.enqueue_group([load.call(1), load.call(-1)], on_failure=load.call(5), group_id="nightly")
    hf.worker(tasks).run(until_idle=True)
    hf.enqueue_group(chain(load.call(1), load), group_id="steps")
    title, first, second = run("groups", "ls").stdout.splitlines()
    assert title.split()[:4] == ["group", "state", "total", "waiting"]
    assert first.split() == ["nightly", "failed", "2", "0", "1", "1", "0", "none", "done"]
    assert second.split()[:4] == ["steps", "running", "2", "2"]
    shown = run("groups", "show", "nightly").stdout
    assert "member 1" in shown
    assert "no such part" in shown
    (row,) = rows(run("groups", "show", "nightly", "--json"))
    assert (row["group"], row["dead"], row["on_failure"]) == ("nightly", 1, "done")
    assert [member["index"] for member in row["failed"]] == [1]
    result = run("groups", "show", "nightl")
    assert "did you mean 'nightly'" in result.stderr


def test_a_group_is_cancelled(hf: Holdfast, run: Run) -> None:
    handle = hf.enqueue_group([load.call(1)], then=load.call(RESULT), group_id="nightly")
    assert run("groups", "cancel", "nightly").exit_code != 0
    assert "is cancelled" in run("groups", "cancel", "nightly", "--yes").stdout
    assert handle.status().state == "cancelled"
    (row,) = rows(run("groups", "cancel", "nightly", "--yes", "--json"))
    assert row == {"group": "nightly", "cancelled": True}
