"""`holdfast tasks`: list the tasks of a queue, cancel and replay them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Final, Literal, NoReturn

import typer

from ..inspect.formats import counted
from .commands import Commands
from .confirm import Yes, confirm
from .connection import fail, with_client
from .exit_codes import FAILED, NOT_FOUND
from .options import argument, option
from .output import AsJson, field_table, print_block, print_json, print_line
from .queues import QUEUES, used_stats
from .task_text import print_tasks, task_rows

if TYPE_CHECKING:
    from .. import Holdfast, QueueStats, TaskStatus

State = Literal["running", "queued", "delayed", "dead"]

STATES: Final[tuple[State, ...]] = ("running", "queued", "delayed", "dead")

CANCELLABLE: Final = ("running", "queued", "delayed")

AT_ONCE: Final = 1000
"""Tasks that one call lists or replays at most."""

QueueName = Annotated[str, argument("QUEUE", "The queue of the task.")]
TaskIds = Annotated[list[str], argument("TASK_ID", "Which tasks.")]

app = Commands(
    name="tasks",
    help="List the tasks of a queue; cancel them, and replay the dead.",
    no_args_is_help=True,
)


@app.command()
@with_client()
def ls(
    hf: Holdfast,
    queue: QueueName,
    state: Annotated[
        State | None, option("STATE", "Only tasks that are running, queued, delayed or dead.")
    ] = None,
    limit: Annotated[
        int, option("N", f"Tasks of each state at most, up to {AT_ONCE:,}.", min=1, max=AT_ONCE)
    ] = 10,
    as_json: AsJson = False,
) -> None:
    """List tasks: running, next, delayed, and the latest dead with their reasons.

    Tasks that are done or cancelled are no longer in the queue: see `tasks show`.
    """
    stats = QUEUES.find(hf, queue)
    states = STATES if state is None else (state,)
    found = {each: hf.queue(queue).tasks(each, limit) for each in states}
    totals = _totals(stats, found, limit)
    if as_json:
        for tasks in found.values():
            for task in tasks:
                print_json({"queue": queue}, task)
        for each, tasks in found.items():
            _print_more(totals[each] - len(tasks), each, stderr=True)
    elif any(totals.values()):
        _print_states(found, totals)
    else:
        print_line(f"queue {queue!r} has no tasks{f' that are {state}' if state else ''}")


@app.command("show")
@with_client()
def show_task(
    hf: Holdfast,
    queue: QueueName,
    task_id: Annotated[str, argument("TASK_ID", "Which task.")],
    as_json: AsJson = False,
) -> None:
    """Show one task: its state, its arguments, and why it is dead."""
    task = hf.queue(queue).handle(task_id).status()
    if task.state == "unknown":
        _unknown(hf, queue, [task_id])
    if as_json:
        print_json({"queue": queue}, task)
    else:
        print_block(field_table(task_rows(task, queue)))


@app.command()
@with_client()
def cancel(
    hf: Holdfast, queue: QueueName, task_ids: TaskIds, yes: Yes = False, as_json: AsJson = False
) -> None:
    """Cancel tasks; running ones are stopped. It prints how many, and asks.

    The exit code is 0 if all of them are cancelled now, 1 if some had ended
    otherwise before, and 3 if some are unknown.
    """
    states = _states(hf, queue, task_ids)
    going = [state for state in states.values() if state in CANCELLABLE]
    if going:
        kinds = ", ".join(f"{number:,} {state}" for state, number in Counter(going).items())
        confirm(f"cancel {counted(len(going), 'task')} ({kinds}) of queue {queue!r}", yes=yes)
    done = [name for name in states if hf.queue(queue).handle(name).cancel()]
    left = _states(hf, queue, [name for name in states if name not in done])
    _print_result(queue, "cancelled", done, left, as_json=as_json)
    _exit(left, fine="cancelled")


@app.command()
@with_client()
def replay(
    hf: Holdfast,
    queue: QueueName,
    task_ids: Annotated[
        list[str] | None, argument("TASK_ID", "Which tasks; without any, all dead ones.")
    ] = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Queue dead tasks again, with all their attempts.

    For all dead tasks it prints how many, and asks. With ids the exit code is
    0 if all of them were dead, 1 if some were not, and 3 if some are unknown.
    """
    if not task_ids:
        _replay_all(hf, queue, yes=yes, as_json=as_json)
        return
    states = _states(hf, queue, task_ids)
    done = [name for name in states if hf.queue(queue).replay([name])]
    left = _states(hf, queue, [name for name in states if name not in done])
    _print_result(queue, "replayed", done, left, as_json=as_json)
    _exit(left)


def _print_states(found: Mapping[State, Sequence[TaskStatus]], totals: Mapping[State, int]) -> None:
    for number, state in enumerate(state for state in found if totals[state]):
        if number:
            print_line("")
        print_tasks(f"{state}: {totals[state]:,}", found[state])
        _print_more(totals[state] - len(found[state]), state)


def _print_more(number: int, state: State, *, stderr: bool = False) -> None:
    """Print how many tasks are not listed; on standard error beside JSON."""
    if number:
        print_line(f"  … and {number:,} more {state}", stderr=stderr)


def _replay_all(hf: Holdfast, queue: str, *, yes: bool, as_json: bool) -> None:
    dead, replayed = QUEUES.find(hf, queue).dead, 0
    if dead:
        confirm(f"replay {counted(dead, 'dead task')} of queue {queue!r}", yes=yes)
    # A bounded number of steps: tasks that die again in between must not keep this going.
    for _ in range(0, dead, AT_ONCE):
        replayed += hf.queue(queue).replay()
    if as_json:
        print_json({"queue": queue, "replayed": replayed})
    else:
        print_line(f"replayed {counted(replayed, 'dead task')} of queue {queue!r}")


def _totals(
    stats: QueueStats, found: Mapping[State, Sequence[TaskStatus]], limit: int
) -> dict[State, int]:
    """Return how many tasks are in each of the listed states."""
    overdue = 0
    if len(found.get("delayed", range(limit))) < limit:
        # The numbers count a task as delayed until it is claimed, a list until it is due.
        overdue = max(0, stats.delayed - len(found["delayed"]))
    totals: dict[State, int] = {
        "running": stats.running,
        "queued": stats.ready + overdue,
        "delayed": stats.delayed - overdue,
        "dead": stats.dead,
    }
    return {state: max(totals[state], len(tasks)) for state, tasks in found.items()}


def _states(hf: Holdfast, queue: str, task_ids: Iterable[str]) -> dict[str, str]:
    """Return the state of each task, once; end the command if none of them is known."""
    states: dict[str, str] = {
        task_id: hf.queue(queue).handle(task_id).status().state
        for task_id in dict.fromkeys(task_ids)
    }
    if states and set(states.values()) == {"unknown"}:
        _unknown(hf, queue, list(states))
    return states


def _unknown(hf: Holdfast, queue: str, task_ids: Sequence[str]) -> NoReturn:
    """End the command: these tasks are unknown, and maybe their queue too."""
    if used_stats(hf, queue) is None:
        QUEUES.not_found(hf, queue)
    what = f"task {task_ids[0]!r}" if len(task_ids) == 1 else f"any of these {len(task_ids)} tasks"
    fail(
        f"queue {queue!r} does not know {what}: never enqueued, purged, "
        "or ended longer ago than its status is kept",
        code=NOT_FOUND,
    )


def _print_result(
    queue: str, action: str, done: Sequence[str], left: Mapping[str, str], *, as_json: bool
) -> None:
    """Print how many tasks are *action* now, and the state of the others."""
    if not as_json:
        print_line(f"{action} {counted(len(done), 'task')} of queue {queue!r}")
        for task_id, state in left.items():
            ended = state not in (*CANCELLABLE, "unknown")
            print_line(f"  {task_id} {'had ended before:' if ended else 'is'} {state}")
        return
    known = {task_id: state for task_id, state in left.items() if state != "unknown"}
    unknown = [task_id for task_id in left if task_id not in known]
    why = "ended_before" if action == "cancelled" else "not_dead"
    print_json({"queue": queue, action: done, why: known, "unknown": unknown})


def _exit(left: Mapping[str, str], *, fine: str = "") -> None:
    """Exit with the code for the tasks that were *left*; those in the state *fine* are none."""
    if "unknown" in left.values():
        raise typer.Exit(NOT_FOUND)
    if any(state != fine for state in left.values()):
        raise typer.Exit(FAILED)
