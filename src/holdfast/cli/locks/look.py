"""`holdfast locks ls` and `show`: who has what, and who waits for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import typer
from rich.table import Table
from rich.text import Text

from ..codes import NOT_FOUND
from ..connection import Embedded, Namespace, Url, connected
from ..found import like
from ..listing import LISTED
from ..output import AsJson, fields, say, show, show_json, stranger, warn
from .places import IsSemaphore, Name, Places, in_use, told, who

if TYPE_CHECKING:
    from ... import Holdfast

GLIMPSE: Final = 10
"""Holders and waiters that `show` names; JSON has all."""

NAME_COLUMNS: Final = 40
"""What is left for names on a screen of 80 columns."""


def ls(
    url: Url = None,
    embedded: Embedded = None,
    namespace: Namespace = "holdfast",
    as_json: AsJson = False,
) -> None:
    """List the locks and semaphores in use: places held, and how many wait for one.

    One that nobody has held for half a second may be missing.
    """
    with connected(url, embedded, namespace, create=False) as hf:
        found = in_use(hf)
    if as_json:
        for each in found:
            numbers = {"holders": len(each.holders), "waiters": len(each.waiters)}
            show_json({"name": each.name, "kind": each.kind, "limit": each.limit}, numbers)
    elif found:
        show(_table(found))
    else:
        say(f"no locks or semaphores in use in namespace {namespace}")
    for kind in ("lock", "semaphore"):
        if sum(each.kind == kind for each in found) == LISTED:
            warn(f"these are {LISTED:,} {kind}s; there may be more")


def show_one(
    name: Name,
    url: Url = None,
    embedded: Embedded = None,
    namespace: Namespace = "holdfast",
    semaphore: IsSemaphore = False,
    as_json: AsJson = False,
) -> None:
    """Show one lock: who holds it, for how long, under which fence, and who is next.

    The exit code is 0 if anybody holds it or waits for it, and 3 if nobody does.
    """
    with connected(url, embedded, namespace, create=False) as hf:
        places = Places.now(hf, name, semaphore=semaphore)
        hint = "" if places.in_use else _hint(hf, places)
    if as_json:
        _show_json(places)
    else:
        show(fields(_rows(places)))
    if not places.in_use:
        warn(f"nobody holds {places} or waits for it in namespace {namespace!r}{hint}")
        raise typer.Exit(NOT_FOUND)


def _hint(hf: Holdfast, free: Places) -> str:
    """What may have been meant, when nobody uses what was asked for."""
    found = in_use(hf)
    if any(each.name == free.name for each in found):  # then it is of the other kind
        return "; a lock of that name is in use" * (free.kind == "semaphore") or (
            "; a semaphore of that name is in use: add --semaphore"
        )
    return like(free.name, [each.name for each in found if each.kind == free.kind])


def _table(found: list[Places]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    longest = max(len(each.name) for each in found)
    table.add_column("name", overflow="fold", min_width=min(NAME_COLUMNS, longest))
    for column in ("kind", "held", "waiters"):
        table.add_column(column, justify="left" if column == "kind" else "right")
    for each in found:
        waiters = f"{len(each.waiters):,}"
        table.add_row(stranger(each.name), each.kind, each.taken, waiters)
    return table


def _rows(places: Places) -> Iterator[tuple[str, str | Text]]:
    yield places.kind, places.name
    if places.kind == "semaphore":
        yield "limit", "not known" if places.limit is None else f"{places.limit:,}"
    yield "held", "no: it is free" if places.kind == "lock" and places.free else places.taken
    holders = [f"{told(each.name)}, {each.remaining:.1f} s left" for each in places.holders]
    yield from _listed("holder", holders)
    if places.fence is not None:
        yield "fence", str(places.fence)
    yield from _listed("waiter", [told(name) for name in places.waiters])


def _listed(noun: str, lines: list[str]) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(lines[:GLIMPSE], 1):
        yield (noun if len(lines) == 1 else f"{noun} {number}"), line
    if len(lines) > GLIMPSE:
        yield "", f"… and {len(lines) - GLIMPSE:,} more {noun}s"


def _show_json(places: Places) -> None:
    fence = {"fence": places.fence} if places.kind == "lock" else {}
    show_json(
        {"name": places.name, "kind": places.kind, "limit": places.limit},
        fence,
        {"holders": [{**who(h.name), "remaining": h.remaining} for h in places.holders]},
        {"waiters": [who(name) for name in places.waiters]},
    )
