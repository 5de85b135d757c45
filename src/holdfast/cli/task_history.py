"""`holdfast tasks history`: list the tasks of a queue that ended last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final

from .connection import with_client
from .options import argument, option
from .output import (
    UNFOLDED,
    AsJson,
    line_width,
    print_block,
    print_json,
    print_line,
    row_table,
)
from .queues import QUEUES
from .task_text import ended_cells, ended_tasks

if TYPE_CHECKING:
    from .. import EndedTask, Holdfast

AT_ONCE: Final = 1000
"""Tasks that one call lists at most."""

TITLES: Final = ("task id", "task", "outcome", "ended", "took", "attempts", "reason")


@with_client()
def history(
    hf: Holdfast,
    queue: Annotated[str, argument("QUEUE", "The queue of the tasks.")],
    name: Annotated[str | None, option("NAME", "Only tasks with this name.")] = None,
    outcome: Annotated[
        str | None,
        option(
            "OUTCOME", "Only done, cancelled or dead ones, or dead ones by kind: failed, expired …"
        ),
    ] = None,
    search: Annotated[
        str | None, option("TEXT", "Only tasks with this text in the id or the reason.")
    ] = None,
    before: Annotated[
        int | None, option("NUMBER", "Only tasks that ended before the one of this number.", min=1)
    ] = None,
    limit: Annotated[
        int, option("N", f"Tasks at most, up to {AT_ONCE:,}.", min=1, max=AT_ONCE)
    ] = 20,
    as_json: AsJson = False,
) -> None:
    """List the tasks that ended last: how, when, after how long, and why.

    A queue keeps its last 1,000, for a week.
    """
    QUEUES.find(hf, queue)
    filters = {"name": name, "outcome": outcome, "search": search}
    found = hf.queue(queue).history(limit, before=before, **filters)
    if as_json:
        for task in found:
            print_json({"queue": queue}, task)
    elif found:
        _print(found)
    if len(found) == limit and not as_json:
        print_line(f"  older ones: --before {found[-1].number}")
    elif not found and not as_json:
        which = " that fit" if any(filters.values()) else ""
        print_line(f"the history of queue {queue!r} has no tasks{which}")


def _print(tasks: Sequence[EndedTask]) -> None:
    """Print each task: on one line in a pipe, and with the reason on a further line otherwise."""
    if line_width(UNFOLDED) < UNFOLDED:
        print_block(ended_tasks(tasks, TITLES[:-1]))
    else:
        cells = ([*ended_cells(task), task.reason] for task in tasks)
        print_block(row_table(TITLES, cells, left=TITLES[1:]))
