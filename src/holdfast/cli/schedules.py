"""`holdfast schedules`: list, add, pause, trigger and remove schedules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from rich.text import Text

from ..inspect.formats import distance, instant
from .confirm import Yes, confirm
from .connection import argument_errors, fail, storable_values, with_client
from .exit_codes import WRONG_USAGE
from .options import argument, option
from .output import AsJson, field_table, print_block, print_json, print_line
from .resources import Resource, Row, group, list_command
from .task_arguments import keyword_arguments, positional_arguments

if TYPE_CHECKING:
    from .. import Cron, Every, Holdfast, Once, ScheduleStatus

NEXT: Final = 5
"""Instants that `show` prints."""

OVERDUE_S: Final = 60.0
"""Seconds by which a schedule is late before its instant is highlighted."""

Name = Annotated[str, argument("NAME", "The schedule.")]


def _status(hf: Holdfast, name: str) -> ScheduleStatus | None:
    from .. import NoSuchSchedule

    try:
        return hf.schedule_handle(name).status()
    except NoSuchSchedule:
        return None


def _every(hf: Holdfast) -> dict[str, ScheduleStatus]:
    return {schedule.name: schedule for schedule in hf.schedules()}


def _as_json(schedule: ScheduleStatus) -> dict[str, Any]:
    fields = asdict(schedule) | {"timing": str(schedule.timing)}
    del fields["name"]
    return fields


def _next(schedule: ScheduleStatus) -> Text:
    if schedule.next_at is None:
        return Text("paused", "yellow")
    late_s = (datetime.now(UTC) - schedule.next_at).total_seconds()
    return Text(distance(schedule.next_at), "yellow" if late_s > OVERDUE_S else "")


def _rows(schedule: ScheduleStatus) -> Iterator[Row]:
    yield "queue", schedule.queue
    yield "task", schedule.task
    yield "timing", str(schedule.timing)
    if schedule.paused:
        yield "paused", Text("yes: nothing is fired until `resume`", "yellow")
    yield "last", instant(schedule.last_at) if schedule.last_at else "never"
    if schedule.last_task_id:
        yield "last task", schedule.last_task_id
    if schedule.declared:
        seen = schedule.declared_at
        yield "declared", f"in code, last {instant(seen)}" if seen else "in code"
    else:
        yield "declared", "no: it is stored on the server"
    yield "if missed", schedule.missed_policy
    yield "overlap", schedule.overlap
    for name in ("fired", "missed", "skipped"):
        yield name, f"{getattr(schedule, name):,}"


SCHEDULES: Final = Resource["ScheduleStatus"](
    noun="schedule",
    key="schedule",
    names=_every,
    read=_status,
    every=_every,
    columns={
        "next": _next,
        "timing": lambda schedule: str(schedule.timing),
        "queue": lambda schedule: schedule.queue,
        "task": lambda schedule: schedule.task,
        "fired": lambda schedule: f"{schedule.fired:,}",
        "missed": lambda schedule: f"{schedule.missed:,}",
    },
    left=("timing", "queue", "task"),
    as_json=_as_json,
    rows=_rows,
    recent="to fire first",
)

app: Final = group(
    "schedules",
    "List schedules; add, pause, trigger and remove them.",
    list_command("List the schedules: when they fire next, and what they have done.", SCHEDULES),
)


@app.command("show", example="holdfast schedules show nightly")
@with_client()
def show_schedule(hf: Holdfast, name: Name, as_json: AsJson = False) -> None:
    """Show one schedule: its next instants, its task, and what it has done."""
    schedule = SCHEDULES.find(hf, name)
    with argument_errors():
        coming = hf.schedule_handle(name).next(NEXT)
    if as_json:
        print_json(SCHEDULES.json_of(name, schedule), {"next": coming})
        return
    instants: list[Row] = [("next", instant(at)) for at in coming]
    print_block(field_table([("schedule", name), *instants, *_rows(schedule)]))


@app.command(example="holdfast schedules add nightly reports make_report --cron '0 3 * * *'")
@with_client()
def add(
    hf: Holdfast,
    name: Name,
    queue: Annotated[str, argument("QUEUE", "The queue that gets its tasks.")],
    task: Annotated[str, argument("TASK", "The name under which workers know the task.")],
    pairs: Annotated[
        list[str] | None,
        argument("ARG=VALUE", "Keyword arguments. A VALUE is JSON; otherwise it is text."),
    ] = None,
    cron: Annotated[str | None, option("EXPRESSION", "Fire by a cron expression.")] = None,
    tz: Annotated[str, option("ZONE", "Time zone of --cron, such as Europe/Berlin.")] = "UTC",
    every: Annotated[float | None, option("SECONDS", "Fire at this interval, at least 1.")] = None,
    at: Annotated[
        str | None, option("INSTANT", "Fire once, such as at 2027-01-01T00:00:00+00:00.")
    ] = None,
    args: Annotated[str | None, option("ARRAY", "Positional arguments, as JSON.")] = None,
    missed: Annotated[
        Literal["once", "skip", "all"],
        option("POLICY", "Enqueue missed occurrences: once, skip or all."),
    ] = "once",
    overlap: Annotated[
        Literal["allow", "skip"],
        option("POLICY", "Fire while the last task has not ended: allow or skip."),
    ] = "allow",
    as_json: AsJson = False,
) -> None:
    """Store a schedule, or change the one of this name. Give --cron, --every or --at.

    Nothing checks the name of the task or its arguments here.
    """
    from .. import Call

    if sum(each is not None for each in (cron, every, at)) != 1:
        fail("give one of --cron, --every and --at", code=WRONG_USAGE)
    named = keyword_arguments(pairs or (), None)
    call: Call[object] = Call(task, queue, "medium", tuple(positional_arguments(args)), named)
    with argument_errors(), storable_values():
        timing = _timing(cron, tz, every, at)
        hf.schedule(name, call, timing, missed=missed, overlap=overlap)
    schedule = SCHEDULES.find(hf, name)
    if as_json:
        print_json(SCHEDULES.json_of(name, schedule))
    elif schedule.next_at is None:
        print_line(f"schedule {name!r} is stored; it is paused")
    else:
        print_line(f"schedule {name!r} fires next at {instant(schedule.next_at)}")


@app.command(example="holdfast schedules pause nightly")
@with_client()
def pause(hf: Holdfast, name: Name, as_json: AsJson = False) -> None:
    """Pause a schedule: it fires no more until `resume`."""
    was_paused = SCHEDULES.find(hf, name).paused
    hf.schedule_handle(name).pause()
    if as_json:
        print_json({"schedule": name, "paused": True, "changed": not was_paused})
    else:
        print_line(f"schedule {name!r} is {'still ' * was_paused}paused")


@app.command(example="holdfast schedules resume nightly")
@with_client()
def resume(hf: Holdfast, name: Name, as_json: AsJson = False) -> None:
    """Resume a paused schedule, from its next instant on."""
    was_paused = SCHEDULES.find(hf, name).paused
    if was_paused:
        with argument_errors():
            hf.schedule_handle(name).resume()
    if as_json:
        print_json({"schedule": name, "paused": False, "changed": was_paused})
    else:
        print_line(f"schedule {name!r} {'is resumed' if was_paused else 'was not paused'}")


@app.command(example="holdfast schedules trigger nightly")
@with_client()
def trigger(hf: Holdfast, name: Name, as_json: AsJson = False) -> None:
    """Enqueue a task of the schedule now, in addition to its instants, and print the task's id."""
    schedule = SCHEDULES.find(hf, name)
    task_id = hf.schedule_handle(name).trigger().task_id
    if as_json:
        print_json({"schedule": name, "queue": schedule.queue, "task_id": task_id})
    else:
        print_line(task_id)


@app.command(example="holdfast schedules rm nightly")
@with_client()
def rm(hf: Holdfast, name: Name, yes: Yes = False, as_json: AsJson = False) -> None:
    """Remove a schedule. Tasks that it has enqueued stay.

    A worker that declares the schedule in code stores it again when it starts.
    """
    SCHEDULES.find(hf, name)
    confirm(f"remove schedule {name!r}", yes=yes)
    hf.schedule_handle(name).remove()
    if as_json:
        print_json({"schedule": name, "removed": True})
    else:
        print_line(f"removed schedule {name!r}")


def _timing(cron: str | None, tz: str, every: float | None, at: str | None) -> Cron | Every | Once:
    """Return the timing that the command line gives.

    Raises:
        ValueError: the timing is not valid; the message says why.
    """
    from .. import Cron, Every, Once

    if cron is not None:
        return Cron(cron, tz)
    if every is not None:
        return Every(every)
    return Once(datetime.fromisoformat(at or ""))
