"""`holdfast tasks follow`: print the events of a task while it runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

from .connection import argument_errors, fail, with_client
from .exit_codes import NOT_FOUND
from .options import argument, option
from .output import AsJson, print_json, print_line
from .task_text import progress_text

if TYPE_CHECKING:
    from .. import Gap, Holdfast, TaskEvent


@with_client()
def follow(
    hf: Holdfast,
    queue: Annotated[str, argument("QUEUE", "The queue of the task.")],
    task_id: Annotated[str, argument("TASK_ID", "Id of the task.")],
    after: Annotated[int, option("NUMBER", "Only events after the one of this number.", min=0)] = 0,
    timeout: Annotated[
        float | None, option("SECONDS", "Follow it so many seconds at most.", min=0)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print what a task reports, until it has ended.

    The exit code is 0 if the task is done or has not ended yet, 1 if it is
    dead or cancelled, and 3 if it is unknown.
    """
    from .. import Gap

    handle, events = hf.queue(queue).handle(task_id), 0
    with argument_errors():
        for event in handle.events(after=after, timeout=timeout):
            events += 1
            if as_json:
                facts = _facts_of_gap(event) if isinstance(event, Gap) else _facts(event)
                print_json({"queue": queue, "task_id": task_id}, facts)
            else:
                print_line(_gap_line(event) if isinstance(event, Gap) else _line(event))
    state = handle.status().state
    if state == "unknown" and not events:
        what = f"queue {queue!r} does not know task {task_id!r} any more, or never did"
        fail(what, code=NOT_FOUND)
    if state in ("dead", "cancelled"):
        fail(f"task {task_id!r} is {state}")
    if not as_json:
        print_line(f"task {task_id!r} is {'done' if state == 'unknown' else state}", stderr=True)


def _facts(event: TaskEvent) -> dict[str, Any]:
    """Return an event as a JSON object."""
    facts = {"number": event.number, "kind": event.kind, "attempt": event.attempt}
    return facts | {"at": event.at, "data": event.data}


def _facts_of_gap(gap: Gap) -> dict[str, Any]:
    """Return a gap as a JSON object."""
    return {"gap": {"first": gap.first, "last": gap.last, "reason": gap.reason}}


def _gap_line(gap: Gap) -> str:
    return f"{gap.first}-{gap.last}  missing ({gap.reason})"


def _line(event: TaskEvent) -> str:
    if event.progress is None:
        return f"{event.number}  {json.dumps(event.data, ensure_ascii=False)}"
    return f"{event.number}  {progress_text(event.progress)}"
