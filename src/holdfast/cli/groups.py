"""`holdfast groups`: list groups of tasks, show how their members ended, and cancel them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Final

from rich.text import Text

from ..inspect.formats import instant
from .confirm import Yes, confirm
from .connection import with_client
from .options import argument, option
from .output import AsJson, field_table, print_block, print_json, print_line
from .resources import LISTED, Resource, Row, group, list_command

if TYPE_CHECKING:
    from .. import GroupStatus, Holdfast, MemberResult

FAILED_MEMBERS: Final = 20
"""Failed members that `show` prints by default."""

SEARCHED: Final = 10_000
"""Members among which `show` looks for those that failed."""

_COLOURS: Final = {"done": "green", "failed": "red", "cancelled": "yellow"}

Name = Annotated[str, argument("GROUP", "The id of the group.")]


def _status(hf: Holdfast, name: str) -> GroupStatus | None:
    from .. import NoSuchGroup

    try:
        return hf.group_handle(name).status()
    except NoSuchGroup:
        return None


def _every(hf: Holdfast) -> dict[str, GroupStatus]:
    return {each.group_id: each for each in hf.groups(limit=LISTED)}


def _as_json(status: GroupStatus) -> dict[str, Any]:
    fields = asdict(status)
    del fields["group_id"]
    return fields


def _state(status: GroupStatus) -> Text:
    if status.state == "running" and not status.complete:
        return Text("incomplete", "yellow")
    return Text(status.state, _COLOURS.get(status.state, ""))


def _rows(status: GroupStatus) -> Iterator[Row]:
    yield "kind", status.kind
    yield "state", _state(status)
    for name in ("total", "waiting", "done", "dead", "cancelled"):
        yield name, f"{getattr(status, name):,}"
    yield "may fail", f"{status.max_failures:,}"
    yield "then", status.then or "none"
    yield "on failure", status.on_failure or "none"
    yield "queues", ", ".join(status.queues) or "none"
    if status.parent:
        yield "member of", status.parent
    yield "created", instant(status.created_at)
    if status.ended_at:
        yield "ended", instant(status.ended_at)
    yield "expires", instant(status.expires_at)


GROUPS: Final = Resource["GroupStatus"](
    noun="group",
    key="group",
    names=_every,
    read=_status,
    every=_every,
    columns={
        "state": _state,
        "total": lambda status: f"{status.total:,}",
        "waiting": lambda status: f"{status.waiting:,}",
        "done": lambda status: f"{status.done:,}",
        "dead": lambda status: f"{status.dead:,}",
        "cancelled": lambda status: f"{status.cancelled:,}",
        "then": lambda status: status.then or "none",
        "on failure": lambda status: status.on_failure or "none",
    },
    left=("state", "then", "on failure"),
    as_json=_as_json,
    rows=_rows,
    recent="enqueued last",
)

app: Final = group(
    "groups",
    "List groups and chains of tasks, show their members, and cancel them.",
    list_command("List the groups: how many members have ended, and their callbacks.", GROUPS),
)


@app.command("show", example="holdfast groups show nightly-7")
@with_client()
def show_group(
    hf: Holdfast,
    name: Name,
    members: Annotated[
        int, option("N", "Show so many failed members, of the first 10,000 members.", min=0)
    ] = FAILED_MEMBERS,
    as_json: AsJson = False,
) -> None:
    """Show one group: its counts, its callbacks, and which members have failed."""
    status = GROUPS.find(hf, name)
    failed = list(islice(_failed(hf, name), members))
    if as_json:
        print_json(GROUPS.json_of(name, status), {"failed": [asdict(each) for each in failed]})
        return
    lines: list[Row] = [(f"member {each.index}", _failure(each)) for each in failed]
    print_block(field_table([("group", name), *_rows(status), *lines]))


@app.command(example="holdfast groups cancel nightly-7")
@with_client()
def cancel(hf: Holdfast, name: Name, yes: Yes = False, as_json: AsJson = False) -> None:
    """Cancel a group and its members. Its callbacks are not called any more."""
    GROUPS.find(hf, name)
    confirm(f"cancel group {name!r} and its members", yes=yes)
    cancelled = hf.group_handle(name).cancel()
    if as_json:
        print_json({"group": name, "cancelled": cancelled})
    else:
        print_line(f"group {name!r} {'is cancelled' if cancelled else 'was done before'}")


def _failed(hf: Holdfast, name: str) -> Iterator[MemberResult[Any]]:
    for member in islice(hf.group_handle(name).results(), SEARCHED):
        if member.state in ("dead", "cancelled"):
            yield member


def _failure(member: MemberResult[Any]) -> str:
    where = f" in {member.queue}" if member.queue else ""
    return f"{member.state}, {member.task_id}{where}{member.reason and ': '}{member.reason}"
