"""`holdfast tasks`: list the tasks of a queue, enqueue, cancel and replay them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Final, Literal, NoReturn

import typer

from ..inspect.formats import counted
from .commands import Commands
from .confirm import Yes, confirm
from .connection import argument_errors, fail, storable_values, with_client
from .exit_codes import FAILED, NOT_FOUND
from .options import argument, option
from .output import AsJson, field_table, print_block, print_json, print_line
from .queues import QUEUES, used_stats
from .task_arguments import headers_in, keyword_arguments, positional_arguments
from .task_follow import follow
from .task_history import history
from .task_steps import signal, steps
from .task_text import print_tasks, task_rows

if TYPE_CHECKING:
    from .. import Holdfast, QueueStats, TaskStatus

State = Literal["running", "queued", "delayed", "dead"]
Priority = Literal["high", "medium", "low"]

STATES: Final[tuple[State, ...]] = ("running", "queued", "delayed", "dead")

CANCELLABLE: Final = ("running", "queued", "delayed")

AT_ONCE: Final = 1000
"""Tasks that one call lists or replays at most."""

QueueName = Annotated[str, argument("QUEUE", "The queue of the task.")]
TaskIds = Annotated[list[str], argument("TASK_ID", "Ids of the tasks.")]

app: Final = Commands(
    name="tasks",
    help="List the tasks of a queue; enqueue and cancel tasks, and replay the dead.",
    no_args_is_help=True,
)


@app.command(example="holdfast tasks ls email --state dead")
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

    Tasks that are done or cancelled are no longer in the queue: see `tasks history`.
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


@app.command("show", example="holdfast tasks show email 4f2a-7")
@with_client()
def show_task(
    hf: Holdfast,
    queue: QueueName,
    task_id: Annotated[str, argument("TASK_ID", "Id of the task.")],
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


@app.command(example="holdfast tasks enqueue email send_mail to=jill --delay 60")
@with_client()
def enqueue(
    hf: Holdfast,
    queue: Annotated[str, argument("QUEUE", "The queue that gets it.")],
    task: Annotated[str, argument("TASK", "The name under which workers know it.")],
    pairs: Annotated[
        list[str] | None,
        argument("ARG=VALUE", "Keyword arguments. A VALUE is JSON; otherwise it is text."),
    ] = None,
    args: Annotated[str | None, option("ARRAY", "Positional arguments, as JSON.")] = None,
    kwargs: Annotated[str | None, option("OBJECT", "Keyword arguments, as JSON.")] = None,
    delay: Annotated[
        float, option("SECONDS", "Wait so many seconds before it may start.", min=0)
    ] = 0.0,
    expires: Annotated[
        float | None, option("SECONDS", "Do not start it after so many seconds; then it is dead.")
    ] = None,
    priority: Annotated[Priority, option("PRIORITY", "Use high, medium or low.")] = "medium",
    task_id: Annotated[
        str | None, option("ID", "Id of the task; a known id changes nothing.", "--id")
    ] = None,
    headers: Annotated[
        list[str] | None, option("NAME=VALUE", "Add a header. Repeatable.", "--header")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Enqueue a task, and print its id. Nothing checks the name or the arguments here.

    If the queue has a task of this id already, nothing changes, and a line on
    standard error says so (with --json, "enqueued" is "existing").

    A VALUE that is JSON, such as 97, true or "97", is that value; any other
    one, such as jill, is text.
    """
    from .. import Call

    named = keyword_arguments(pairs or (), kwargs)
    call: Call[object] = Call(task, queue, priority, tuple(positional_arguments(args)), named)
    with argument_errors():
        call = call.options(
            delay=delay, expires=expires, task_id=task_id, headers=headers_in(headers or ())
        )
    with storable_values():
        handle = hf.enqueue(call)
    if as_json:
        facts = {"queue": queue, "task": task, "task_id": handle.task_id}
        print_json({**facts, "enqueued": handle.enqueued})
    else:
        print_line(handle.task_id)
        if handle.enqueued == "existing":
            print_line("the queue had a task of this id already; nothing was changed", stderr=True)


app.command("follow", example="holdfast tasks follow reports 4f2a-7")(follow)
app.command("history", example="holdfast tasks history email --outcome dead")(history)
app.command("steps", example="holdfast tasks steps orders 4f2a-7")(steps)
app.command("signal", example="holdfast tasks signal orders 4f2a-7 approved --value true")(signal)


@app.command(example="holdfast tasks cancel email 4f2a-7 4f2a-8")
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


@app.command(example="holdfast tasks replay email")
@with_client()
def replay(
    hf: Holdfast,
    queue: QueueName,
    task_ids: Annotated[
        list[str] | None, argument("TASK_ID", "Ids of the tasks; without any, all dead tasks.")
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
    """Print how many more tasks there are: on standard error if standard output has JSON."""
    if number:
        print_line(f"  … and {number:,} more {state}", stderr=stderr)


def _replay_all(hf: Holdfast, queue: str, *, yes: bool, as_json: bool) -> None:
    dead, replayed = QUEUES.find(hf, queue).dead, 0
    if dead:
        confirm(f"replay {counted(dead, 'dead task')} of queue {queue!r}", yes=yes)
    # Bound the number of steps, because replayed tasks may die again at once.
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
        # The statistics count a task as delayed until it is claimed, a list only until it is due.
        overdue = max(0, stats.delayed - len(found["delayed"]))
    totals: dict[State, int] = {
        "running": stats.running,
        "queued": stats.ready + overdue,
        "delayed": stats.delayed - overdue,
        "dead": stats.dead,
    }
    return {state: max(totals[state], len(tasks)) for state, tasks in found.items()}


def _states(hf: Holdfast, queue: str, task_ids: Iterable[str]) -> dict[str, str]:
    """Return the state of each task. End the command if none of the tasks is known."""
    states: dict[str, str] = {
        task_id: hf.queue(queue).handle(task_id).status().state
        for task_id in dict.fromkeys(task_ids)
    }
    if states and set(states.values()) == {"unknown"}:
        _unknown(hf, queue, list(states))
    return states


def _unknown(hf: Holdfast, queue: str, task_ids: Sequence[str]) -> NoReturn:
    """End the command with the message that the tasks, or even the queue, are unknown."""
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
    """Print how many tasks are now *action* (such as `cancelled`), and the states of the others."""
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
    """Exit with an error code if tasks are *left* (id → state) that are not in the state *fine*."""
    if "unknown" in left.values():
        raise typer.Exit(NOT_FOUND)
    if any(state != fine for state in left.values()):
        raise typer.Exit(FAILED)
