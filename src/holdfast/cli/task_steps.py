"""`holdfast tasks steps` and `tasks signal`: show what a task waits for, and send it a signal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from rich.text import Text

from ..inspect.formats import counted, distance, duration
from .connection import argument_errors, fail, storable_values, with_client
from .exit_codes import FAILED, NOT_FOUND
from .options import argument, option
from .output import AsJson, print_block, print_json, print_line, row_table, untrusted
from .task_arguments import json_value

if TYPE_CHECKING:
    from .. import Holdfast, StepStatus

TITLES: Final = ("step", "kind", "state", "ended", "took", "result")

RESULT_BYTES: Final = 200
"""Bytes of each result that a table shows; `--json` prints 64 KiB of each."""

JSON_BYTES: Final = 65_536

STYLES: Final = {"done": "green", "failed": "red", "late": "red"}


@with_client()
def steps(
    hf: Holdfast,
    queue: Annotated[str, argument("QUEUE", "The queue of the task.")],
    task_id: Annotated[str, argument("TASK_ID", "Id of the task.")],
    as_json: AsJson = False,
) -> None:
    """List the steps of a task: how each ended, and what the task waits for.

    Steps are kept until the task is done or cancelled; those of a dead task
    are kept too.
    """
    handle = hf.queue(queue).handle(task_id)
    if (state := handle.status().state) == "unknown":
        fail(f"queue {queue!r} does not know task {task_id!r}", code=NOT_FOUND)
    found = handle.steps(result_bytes=JSON_BYTES if as_json else RESULT_BYTES)
    if as_json:
        for step in found:
            print_json({"queue": queue, "task_id": task_id}, step)
        return
    if found.steps:
        print_block(row_table(TITLES, map(_cells, found), left=TITLES[1:]))
    else:
        print_line(f"task {task_id!r} is {state}, and no steps of it are stored")
    if found.signals:
        names = ", ".join(found.signals)
        print_line(f"{counted(len(found.signals), 'signal')} not taken yet: {names}")


@with_client()
def signal(
    hf: Holdfast,
    queue: Annotated[str, argument("QUEUE", "The queue of the task.")],
    task_id: Annotated[str, argument("TASK_ID", "Id of the task.")],
    name: Annotated[str, argument("NAME", "Name of the signal.")],
    value: Annotated[str, option("JSON", "What wait_for returns, as JSON.")] = "null",
    as_json: AsJson = False,
) -> None:
    """Send a signal to a task, which takes it with wait_for.

    The exit code is 1 if the task has ended or has too many signals, and 3 if
    it is unknown.
    """
    from .. import SignalRefused

    decoded = json_value(value, "--value")
    try:
        with argument_errors(), storable_values():
            hf.queue(queue).handle(task_id).signal(name, decoded)
    except SignalRefused as refused:
        fail(str(refused), code=NOT_FOUND if refused.state == "unknown" else FAILED)
    if as_json:
        print_json({"queue": queue, "task_id": task_id, "signal": name})
    else:
        print_line(f"sent signal {name!r} to task {task_id!r} of queue {queue!r}")


def _cells(step: StepStatus) -> list[str | Text]:
    ended = distance(step.ended_at) if step.ended_at else ""
    if step.state in ("sleeping", "waiting"):
        end = "ends" if step.state == "sleeping" else "times out"
        ended = f"{end} {distance(step.until)}" if step.until else "until a signal"
    took = duration(step.duration) if step.kind == "step" else ""
    style = STYLES.get(step.state, "")
    return [step.name, step.kind, untrusted(step.state, style), ended, took, step.result]
