"""Show groups and chains: how many members have ended, and their callbacks. Cancel them."""

from __future__ import annotations

from typing import Any, Final

from .... import GroupStatus, MemberResult, NoSuchGroup
from ...problems import Problem
from ..action_request import ActionRequest, ActionResult
from ..displayed_names import in_text
from ..page_request import PageRequest
from ..pagination import page_of
from ..screen import Action, DashboardScreen, Page

MAX_GROUPS: Final = 1000
"""How many groups to read: those that were enqueued last."""

SEARCHED: Final = 2000
"""Members among which failed ones are looked for."""

MEMBERS: Final = 50
"""Failed or waiting members that are listed."""


async def show_groups(view: PageRequest) -> dict[str, Any]:
    """Return a page of the groups, the latest first."""
    known = {each.group_id: each for each in await view.hf.groups(limit=MAX_GROUPS)}
    wanted = view.text("q").lower()
    shown, where = page_of(view, [name for name in known if wanted in name.lower()])
    states = [each.state for each in known.values()]
    return {
        **where,
        "among": MAX_GROUPS if len(known) == MAX_GROUPS else None,
        "running": states.count("running"),
        "failed": states.count("failed"),
        "incomplete": sum(each.state == "running" and not each.complete for each in known.values()),
        "groups": [_fields(known[name]) for name in shown],
    }


async def show_group(view: PageRequest) -> dict[str, Any]:
    """Return one group, and members that have failed or wait."""
    name = view.required("name")
    handle = view.hf.group_handle(name)
    try:
        status = await handle.status()
        failed, waiting = list[MemberResult[Any]](), list[MemberResult[Any]]()
        async for member in handle.results():
            if member.state != "done":
                (waiting if member.state == "waiting" else failed).append(member)
            if len(failed) == MEMBERS or member.index >= SEARCHED - 1:
                break
    except NoSuchGroup:
        return {"name": name, "known": False}
    return {
        **_fields(status),
        "known": True,
        "among": SEARCHED,
        "members": [_member(each) for each in (failed + waiting)[:MEMBERS]],
    }


def _fields(status: GroupStatus) -> dict[str, Any]:
    state = status.state
    return {
        "name": status.group_id,
        "kind": status.kind,
        "state": "incomplete" if state == "running" and not status.complete else state,
        "total": status.total,
        "waiting": status.waiting,
        "done": status.done,
        "dead": status.dead,
        "cancelled": status.cancelled,
        "max_failures": status.max_failures,
        "then": status.then,
        "failure": status.on_failure,
        "queues": status.queues,
        "parent": status.parent,
        "created_at": status.created_at,
        "ended_at": status.ended_at,
        "expires_at": status.expires_at,
    }


def _member(member: MemberResult[Any]) -> dict[str, Any]:
    return {
        "index": member.index,
        "id": member.task_id,
        "queue": member.queue,
        "state": member.state,
        "reason": member.reason,
    }


async def cancel(action: ActionRequest) -> ActionResult:
    """Cancel the group and its members."""
    name = action.text("name")
    if not await action.hf.group_handle(name).cancel():
        raise Problem("not-found", f"{in_text(name)} was done before; nothing was changed")
    return ActionResult(f"{in_text(name)} is cancelled, with the members that had not ended.")


SCREEN: Final = DashboardScreen(
    "Groups",
    "Tasks",
    (Page("groups", show_groups), Page("group", show_group)),
    (Action("group/cancel", cancel),),
)
