"""`holdfast tasks`: look at the tasks of a queue, cancel and replay them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Final, Literal, NoReturn

import typer

from .codes import FAILED, NOT_FOUND
from .confirm import Yes, confirm
from .connection import Embedded, Namespace, Url, connected, fail
from .found import found_stats, is_used, not_found
from .help import Commands
from .output import AsJson, counted, fields, say, show, show_json
from .task_lines import details, section

if TYPE_CHECKING:
    from .. import Holdfast, QueueStats, TaskStatus

State = Literal["running", "queued", "delayed", "dead"]

STATES: Final[tuple[State, ...]] = ("running", "queued", "delayed", "dead")

UNENDED: Final = ("running", "queued", "delayed")
"""In these a task can be cancelled."""

AT_ONCE: Final = 1000
"""Tasks that one call lists or replays at most."""

QueueName = Annotated[str, typer.Argument(metavar="QUEUE", help="The queue that it was put into.")]
Ids = Annotated[list[str], typer.Argument(metavar="TASK_ID", help="Which tasks.")]

app = Commands(
    name="tasks",
    help="Look at the tasks of a queue; cancel them, and replay the dead.",
    no_args_is_help=True,
)


@app.command()
def ls(
    queue: QueueName,
    url: Url = None,
    embedded: Embedded = None,
    namespace: Namespace = "holdfast",
    state: Annotated[
        State | None,
        typer.Option(
            "--state",
            metavar="STATE",
            help="Only tasks that are running, queued, delayed or dead.",
        ),
    ] = None,
    limit: Annotated[
        int,
        typer.Option(
            "--limit",
            metavar="N",
            min=1,
            max=AT_ONCE,
            help=f"Tasks of each state at most, up to {AT_ONCE:,}.",
        ),
    ] = 10,
    as_json: AsJson = False,
) -> None:
    """List tasks: what runs, what is next, what waits for its time, the latest dead and why.

    Tasks that are done or cancelled are no longer in the queue: see `tasks show`.
    """
    with connected(url, embedded, namespace, create=False) as hf:
        stats = found_stats(hf, queue)
        states = STATES if state is None else (state,)
        found = {each: hf.queue(queue).tasks(each, limit) for each in states}
    totals = _totals(stats, found, limit)
    if as_json:
        for tasks in found.values():
            for task in tasks:
                show_json({"queue": queue}, task)
        for each, tasks in found.items():
            _say_more(totals[each] - len(tasks), each, stderr=True)
    elif any(totals.values()):
        _show_all(found, totals)
    else:
        say(f"queue {queue!r} has no tasks{f' that are {state}' if state else ''}")


@app.command("show")
def show_task(
    queue: QueueName,
    task_id: Annotated[str, typer.Argument(metavar="TASK_ID", help="Which task.")],
    url: Url = None,
    embedded: Embedded = None,
    namespace: Namespace = "holdfast",
    as_json: AsJson = False,
) -> None:
    """Show one task: where it is, its arguments, and why it is dead."""
    with connected(url, embedded, namespace, create=False) as hf:
        task = hf.queue(queue).handle(task_id).status()
        if task.state == "unknown":
            _unknown(hf, queue, [task_id])
    if as_json:
        show_json({"queue": queue}, task)
    else:
        show(fields(details(task, queue)))


@app.command()
def cancel(
    queue: QueueName,
    task_ids: Ids,
    url: Url = None,
    embedded: Embedded = None,
    namespace: Namespace = "holdfast",
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Let tasks not run; those that run are stopped. It says how many, and asks.

    The exit code is 0 if all of them are cancelled now, 1 if some had ended
    otherwise before, and 3 if some are unknown.
    """
    with connected(url, embedded, namespace, create=False) as hf:
        states = _states(hf, queue, task_ids)
        going = [state for state in states.values() if state in UNENDED]
        if going:
            confirm(f"cancel {_told(going)} of queue {queue!r}", yes=yes)
        done = [name for name in states if hf.queue(queue).handle(name).cancel()]
        left = _states(hf, queue, [name for name in states if name not in done])
    _tell(queue, "cancelled", done, left, as_json=as_json)
    _leave(left, fine="cancelled")


@app.command()
def replay(
    queue: QueueName,
    task_ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="TASK_ID", help="Which tasks; without any, all dead ones."),
    ] = None,
    url: Url = None,
    embedded: Embedded = None,
    namespace: Namespace = "holdfast",
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Put dead tasks in line again, with all their attempts.

    For all dead tasks it says how many, and asks. With ids the exit code is 0
    if all of them were dead, 1 if some were not, and 3 if some are unknown.
    """
    with connected(url, embedded, namespace, create=False) as hf:
        if not task_ids:
            _replay_all(hf, queue, yes=yes, as_json=as_json)
            return
        states = _states(hf, queue, task_ids)
        done = [name for name in states if hf.queue(queue).replay([name])]
        left = _states(hf, queue, [name for name in states if name not in done])
    _tell(queue, "replayed", done, left, as_json=as_json)
    _leave(left)


def _show_all(found: Mapping[State, Sequence[TaskStatus]], totals: Mapping[State, int]) -> None:
    first = True
    for state, tasks in found.items():
        if not totals[state]:
            continue
        if not first:
            say("")
        first = False
        section(f"{state}: {totals[state]:,}", tasks)
        _say_more(totals[state] - len(tasks), state)


def _say_more(number: int, state: State, *, stderr: bool = False) -> None:
    """Say how many tasks are not listed; beside JSON, which has no place for it."""
    if number:
        say(f"  … and {number:,} more {state}", stderr=stderr)


def _replay_all(hf: Holdfast, queue: str, *, yes: bool, as_json: bool) -> None:
    dead, replayed = found_stats(hf, queue).dead, 0
    if dead:
        confirm(f"replay {counted(dead, 'dead task')} of queue {queue!r}", yes=yes)
    # In as many steps as were asked for: those that die again meanwhile must not keep it going.
    for _ in range(0, dead, AT_ONCE):
        replayed += hf.queue(queue).replay()
    if as_json:
        show_json({"queue": queue, "replayed": replayed})
    else:
        say(f"replayed {counted(replayed, 'dead task')} of queue {queue!r}")


def _totals(
    stats: QueueStats, found: Mapping[State, Sequence[TaskStatus]], limit: int
) -> dict[State, int]:
    """How many tasks there are in each of the listed states."""
    overdue = 0
    if len(found.get("delayed", range(limit))) < limit:
        # In the numbers a task is delayed until it is claimed, in a list until its time has come.
        overdue = max(0, stats.delayed - len(found["delayed"]))
    totals: dict[State, int] = {
        "running": stats.running,
        "queued": stats.ready + overdue,
        "delayed": stats.delayed - overdue,
        "dead": stats.dead,
    }
    return {state: max(totals[state], len(tasks)) for state, tasks in found.items()}


def _states(hf: Holdfast, queue: str, task_ids: Iterable[str]) -> dict[str, str]:
    """Where tasks are now, each once; ends the command if none of them is known."""
    line = hf.queue(queue)
    states: dict[str, str] = {
        task_id: line.handle(task_id).status().state for task_id in dict.fromkeys(task_ids)
    }
    if states and set(states.values()) == {"unknown"}:
        _unknown(hf, queue, list(states))
    return states


def _unknown(hf: Holdfast, queue: str, task_ids: Sequence[str]) -> NoReturn:
    """End the command: of these tasks nothing is known, and maybe not even of their queue."""
    if not is_used(hf, queue, hf.queue(queue).stats()):
        not_found(hf, queue)
    what = f"task {task_ids[0]!r}" if len(task_ids) == 1 else f"any of these {len(task_ids)} tasks"
    fail(
        f"queue {queue!r} does not know {what}: never enqueued, purged, "
        "or ended longer ago than its status is kept",
        code=NOT_FOUND,
    )


def _told(states: Sequence[str]) -> str:
    """As in `3 tasks (1 running, 2 queued)`."""
    kinds = ", ".join(f"{number:,} {state}" for state, number in Counter(states).items())
    return f"{counted(len(states), 'task')} ({kinds})"


def _tell(
    queue: str, deed: str, done: Sequence[str], left: Mapping[str, str], *, as_json: bool
) -> None:
    """Say what was done, and which tasks it could not be done to, as they had ended or not died."""
    if not as_json:
        say(f"{deed} {counted(len(done), 'task')} of queue {queue!r}")
        for task_id, state in left.items():
            ended = state not in (*UNENDED, "unknown")
            say(f"  {task_id} {'had ended before:' if ended else 'is'} {state}")
        return
    known = {task_id: state for task_id, state in left.items() if state != "unknown"}
    unknown = [task_id for task_id in left if task_id not in known]
    why = "ended_before" if deed == "cancelled" else "not_dead"
    show_json({"queue": queue, deed: done, why: known, "unknown": unknown})


def _leave(left: Mapping[str, str], *, fine: str = "") -> None:
    """Leave with the exit code for tasks that it could not be done to."""
    if "unknown" in left.values():
        raise typer.Exit(NOT_FOUND)
    if any(state != fine for state in left.values()):
        raise typer.Exit(FAILED)
