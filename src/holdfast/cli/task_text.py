"""Format tasks as text: each with a few lines in a list, or one task with all its fields."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from ..inspect.formats import counted, distance, duration, instant
from .output import line_width, print_block, printable, untrusted

if TYPE_CHECKING:
    from datetime import datetime

    from .. import EndedTask, Progress, TaskStatus
    from .resources import Row

WIDEST: Final = 32
"""Characters to which columns are padded at most: an overlong name must not widen all rows."""

NOTE_INDENT: Final = 6
"""Spaces before the further lines of a task."""

PIPE_COLUMNS: Final = 120
"""Characters of a line in a pipe. Longer arguments are cut; `--json` prints them whole."""

UNREADABLE: Final = "(unreadable)"

STYLES: Final = {"dead": "red", "running": "green", "done": "green"}


def print_tasks(title: str, tasks: Sequence[TaskStatus]) -> None:
    """Print a title and all tasks. Print arguments and the reason or worker on further lines."""
    width = line_width(PIPE_COLUMNS) - NOTE_INDENT
    rows = [_cells(task) for task in tasks]
    widths = [min(WIDEST, max(map(cell_len, column))) for column in zip(*rows, strict=True)]
    lines: list[RenderableType] = [Text(title, "bold")]
    for task, row in zip(tasks, rows, strict=True):
        padded = [_padded(cell, width) for cell, width in zip(row, widths, strict=True) if width]
        lines.append(_indented(2, "  ".join(padded).rstrip()))
        if arguments := _arguments(task):
            text = untrusted(arguments)
            text.truncate(width, overflow="ellipsis")
            lines.append(_indented(NOTE_INDENT, text.plain))
        if task.progress is not None and task.state == "running":
            lines.append(_indented(NOTE_INDENT, progress_text(task.progress)))
        if note := task.reason or task.worker:
            lines.append(_indented(NOTE_INDENT, note, "red" if task.state == "dead" else "dim"))
    print_block(Group(*lines))


def ended_tasks(tasks: Sequence[EndedTask], titles: Sequence[str]) -> RenderableType:
    """Return a list of ended tasks for a terminal, with each reason on a further line."""
    rows = [titles, *map(ended_cells, tasks)]
    widths = [min(WIDEST, max(map(cell_len, column))) for column in zip(*rows, strict=True)]
    heading, *texts = (
        "  ".join(map(_padded, map(printable, row), widths)).rstrip() for row in rows
    )
    lines: list[RenderableType] = [Text(heading, "bold")]
    for task, text in zip(tasks, texts, strict=True):
        style = STYLES.get(task.state, "")
        lines.append(Text(text, style))
        if task.reason:
            lines.append(_indented(NOTE_INDENT, task.reason, style))
    return Group(*lines)


def ended_cells(task: EndedTask) -> list[str]:
    """Return the cells of an ended task, without its reason."""
    return [
        task.task_id,
        task.task or "(unknown)",
        task.outcome,
        distance(task.ended_at),
        "" if task.duration is None else duration(task.duration),
        counted(task.attempts, "attempt"),
    ]


def _padded(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))


def _indented(columns: int, text: str, style: str = "") -> Padding:
    return Padding(untrusted(text, style), (0, 0, 0, columns), expand=False)


def _cells(task: TaskStatus) -> list[str]:
    attempts = counted(task.attempts, "attempt") if task.attempts else ""
    name = task.task or UNREADABLE
    cells = [task.task_id, name, task.priority or "", attempts, _since(task)]
    return list(map(printable, cells))


def _arguments(task: TaskStatus) -> str:
    """Return the arguments, such as `("17", price=97)`; empty if there are none."""
    named = (f"{name}={_json(value)}" for name, value in task.kwargs.items())
    arguments = ", ".join([*map(_json, task.args), *named])
    return arguments and f"({arguments})"


def _since(task: TaskStatus) -> str:
    """Return the time that matters most in the state of *task*: due, died or enqueued."""
    match task.state:
        case "delayed":
            if task.suspended and task.due_at is None:
                return f"waits for {task.waits_for}"
            return f"due {_distance(task.due_at)}"
        case "dead":
            return f"died {_distance(task.ended_at)}"
        case _:
            return f"enqueued {_distance(task.enqueued_at)}"


def _distance(at: datetime | None) -> str:
    return distance(at) if at else "some time ago"


def task_rows(task: TaskStatus, queue: str) -> Iterator[Row]:
    """Yield the names and values of all fields of a task."""
    yield "task id", task.task_id
    yield "queue", queue
    yield "state", Text(task.state + _suspension(task), STYLES.get(task.state, ""))
    if task.state not in ("done", "cancelled"):  # the server keeps only the outcome of these
        yield "task", task.task or UNREADABLE
        yield "args", _json(list(task.args))
        yield "kwargs", _json(dict(task.kwargs))
        if task.headers:
            yield "headers", _json(dict(task.headers))
        if task.limit_key:
            yield "limit key", task.limit_key + " (it has no room yet)" * task.limited
        if task.unique_key:
            yield "unique key", task.unique_key
        yield "priority", task.priority or ""
    if task.progress is not None:
        yield "progress", progress_text(task.progress)
    yield "attempts", str(task.attempts)
    yield "crashes", str(task.crashes)
    facts = (("snoozes", str(task.snoozes or "")), ("worker", task.worker))
    yield from (fact for fact in facts if fact[1])
    if task.reason:
        yield "reason", untrusted(task.reason, STYLES.get(task.state, ""))
    for name in ("enqueued", "due", "ended"):
        if at := getattr(task, f"{name}_at"):
            yield name, instant(at)


def progress_text(progress: Progress) -> str:
    """Return a progress, such as `40%, 4 of 10: rendering`."""
    part = "" if progress.fraction is None else f"{progress.fraction:.0%}, "
    total = "" if progress.total is None else f" of {progress.total:g}"
    message = f": {progress.message}" if progress.message else ""
    return f"{part}{progress.done:g}{total}{message}"


def _suspension(task: TaskStatus) -> str:
    """Return what a suspended task waits for; empty for other tasks."""
    signal = f" for {task.waits_for}" if task.waits_for else ""
    return f" ({task.suspended}{signal})" if task.suspended else ""


def _json(value: object) -> str:
    """Return *value* as JSON, not as Python: producers may be written in another language."""
    return json.dumps(value, ensure_ascii=False, default=str)
