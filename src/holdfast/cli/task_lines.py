"""Tasks as a person reads them: some lines each in a list, or one task with all there is."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from .instants import distance, instant
from .output import columns, counted, printable, show, stranger

if TYPE_CHECKING:
    from .. import TaskStatus

WIDEST: Final = 32
"""Columns are aligned up to here: one overlong name must not push all others off the screen."""

NOTE_INDENT: Final = 6
"""Of the lines under a task."""

PIPE_COLUMNS: Final = 120
"""For arguments, where no screen has an edge: they may be a megabyte, which JSON has whole."""

UNREADABLE: Final = "(unreadable)"

STYLES: Final = {"dead": "red", "running": "green", "done": "green"}


def section(title: str, tasks: Sequence[TaskStatus]) -> None:
    """Print a heading, and each task on one line, its arguments and its reason or worker below.

    On a line of its own a reason can be read on any screen. Arguments are cut to fit on theirs.
    """
    room = columns(PIPE_COLUMNS) - NOTE_INDENT
    rows = [_cells(task) for task in tasks]
    widths = [min(WIDEST, max(map(cell_len, column))) for column in zip(*rows, strict=True)]
    lines: list[RenderableType] = [Text(title, "bold")]
    for task, row in zip(tasks, rows, strict=True):
        padded = [_padded(cell, width) for cell, width in zip(row, widths, strict=True) if width]
        lines.append(_indented(2, "  ".join(padded).rstrip()))
        if arguments := _arguments(task):
            text = stranger(arguments)
            text.truncate(room, overflow="ellipsis")
            lines.append(_indented(NOTE_INDENT, text.plain))
        if note := task.reason or task.worker:
            lines.append(_indented(NOTE_INDENT, note, "red" if task.state == "dead" else "dim"))
    show(Group(*lines))


def _padded(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))


def _indented(columns: int, text: str, style: str = "") -> Padding:
    return Padding(stranger(text, style), (0, 0, 0, columns), expand=False)


def _cells(task: TaskStatus) -> list[str]:
    began = counted(task.attempts, "attempt") if task.attempts else ""
    name = task.task or UNREADABLE
    return [printable(task.task_id), printable(name), task.priority or "", began, _since(task)]


def _arguments(task: TaskStatus) -> str:
    """What it is called with, as in `("17", price=97)`; empty for nothing, and if it is unknown."""
    named = (f"{name}={_json(value)}" for name, value in task.kwargs.items())
    said = ", ".join([*map(_json, task.args), *named])
    return said and f"({said})"


def _since(task: TaskStatus) -> str:
    """The instant that matters most in its state."""
    match task.state:
        case "delayed":
            return f"due {distance(task.due_at)}"
        case "dead":
            return f"died {distance(task.ended_at)}"
        case _:
            return f"enqueued {distance(task.enqueued_at)}"


def details(task: TaskStatus, queue: str) -> Iterator[tuple[str, str | Text]]:
    """Everything that is known of a task, for `fields`."""
    yield "task id", task.task_id
    yield "queue", queue
    yield "state", Text(task.state, STYLES.get(task.state, ""))
    if task.state not in ("done", "cancelled"):  # of those no more than the end is kept
        yield "task", task.task or UNREADABLE
        yield "args", _json(list(task.args))
        yield "kwargs", _json(dict(task.kwargs))
        yield "priority", task.priority or ""
    yield "attempts", str(task.attempts)
    yield "crashes", str(task.crashes)
    if task.worker:
        yield "worker", task.worker
    if task.reason:
        yield "reason", stranger(task.reason, STYLES.get(task.state, ""))
    for name in ("enqueued", "due", "ended"):
        if at := getattr(task, f"{name}_at"):
            yield name, instant(at)


def _json(value: object) -> str:
    """Arguments as they travelled: what another language wrote may be no Python."""
    return json.dumps(value, ensure_ascii=False, default=str)
