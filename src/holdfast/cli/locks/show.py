"""`holdfast locks ls` and `show`: who holds locks and semaphores, and who waits for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.text import Text

from ...inspect.permits import PermitList, process_name, process_of
from ..connection import with_client
from ..exit_codes import NOT_FOUND
from ..options import argument, flag
from ..output import AsJson, field_table, print_block, print_json, warn
from ..resources import Resource, list_command, similar

if TYPE_CHECKING:
    from ... import Holdfast

SHOWN: Final = 10
"""Holders and waiters that `show` prints; `--json` has all."""

Name = Annotated[str, argument("NAME", "The lock.")]
IsSemaphore = Annotated[bool, flag("NAME is a semaphore.", "--semaphore")]
IsRwLock = Annotated[bool, flag("NAME is a reader-writer lock.", "--rw")]


def _rows(permits: PermitList) -> Iterator[tuple[str, str | Text]]:
    if permits.kind == "semaphore":
        yield "limit", "not known" if permits.limit is None else f"{permits.limit:,}"
    is_free = permits.kind != "semaphore" and permits.free
    yield "held", "no: it is free" if is_free else permits.held_of_limit
    holders = [f"{process_name(h.name)}, {h.remaining:.1f} s left" for h in permits.holders]
    yield from _numbered("holder", holders)
    if permits.fence is not None:
        yield "fence", str(permits.fence)
    yield from _numbered("waiter", [process_name(name) for name in permits.waiters])


def _numbered(noun: str, lines: list[str]) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(lines[:SHOWN], 1):
        yield (noun if len(lines) == 1 else f"{noun} {number}"), line
    if len(lines) > SHOWN:
        yield "", f"… and {len(lines) - SHOWN:,} more {noun}s"


def _counts(permits: PermitList) -> dict[str, Any]:
    numbers = {"holders": len(permits.holders), "waiters": len(permits.waiters)}
    return {"kind": permits.kind, "limit": permits.limit, **numbers}


def _json(permits: PermitList) -> dict[str, Any]:
    return {
        "name": permits.name,
        "kind": permits.kind,
        "limit": permits.limit,
        **({} if permits.kind == "semaphore" else {"fence": permits.fence}),
        "holders": [{**process_of(h.name), "remaining": h.remaining} for h in permits.holders],
        "waiters": [process_of(name) for name in permits.waiters],
    }


def _locks(hf: Holdfast) -> dict[str, PermitList]:
    return {name: PermitList.of_lock(name, state) for name, state in hf.locks().items()}


def _rw_locks(hf: Holdfast) -> dict[str, PermitList]:
    return {name: PermitList.of_rw_lock(name, state) for name, state in hf.rw_locks().items()}


def _semaphores(hf: Holdfast) -> dict[str, PermitList]:
    return {name: PermitList.of_semaphore(name, state) for name, state in hf.semaphores().items()}


COLUMNS: Final[dict[str, Callable[[PermitList], str]]] = {
    "kind": lambda permits: permits.kind,
    "held": lambda permits: permits.held_of_limit,
    "waiters": lambda permits: f"{len(permits.waiters):,}",
}


def _resource(
    noun: str,
    every: Callable[[Holdfast], dict[str, PermitList]],
    read: Callable[[Holdfast, str], PermitList],
) -> Resource[PermitList]:
    return Resource(
        noun=noun,
        key="name",
        names=every,
        read=read,
        every=every,
        columns=COLUMNS,
        left=("kind",),
        rows=_rows,
        as_json=_counts,
        recent="acquired last",
    )


LOCKS: Final = _resource(
    "lock", _locks, lambda hf, name: PermitList.of_lock(name, hf.lock(name).inspect())
)
RW_LOCKS: Final = _resource(
    "reader-writer lock",
    _rw_locks,
    lambda hf, name: PermitList.of_rw_lock(name, hf.rw_lock(name).inspect()),
)
SEMAPHORES: Final = _resource(
    "semaphore",
    _semaphores,
    lambda hf, name: PermitList.of_semaphore(name, hf.semaphore(name).inspect()),
)

ls: Final = list_command(
    """List the locks of all kinds in use: permits held, and how many wait for one.

    A lock that was not held for half a second may be missing.
    """,
    LOCKS,
    RW_LOCKS,
    SEMAPHORES,
    nothing="locks or semaphores in use",
)


@with_client()
def show_lock(
    hf: Holdfast,
    name: Name,
    semaphore: IsSemaphore = False,
    rw: IsRwLock = False,
    as_json: AsJson = False,
) -> None:
    """Show one lock: who holds it, for how long, under which fence, and who is next.

    The exit code is 0 if it is held or waited for, and 3 if it is not.
    """
    if semaphore and rw:
        raise typer.BadParameter("--semaphore and --rw exclude each other")
    resource = SEMAPHORES if semaphore else RW_LOCKS if rw else LOCKS
    permits = resource.find(hf, name)
    if as_json:
        print_json(_json(permits))
    else:
        print_block(field_table([(permits.kind, permits.name), *_rows(permits)]))
    if not permits.in_use:
        hint = _hint(hf, name, resource)
        warn(f"{permits} is neither held nor waited for in namespace {hf.namespace!r}{hint}")
        raise typer.Exit(NOT_FOUND)


OPTIONS: Final = {"lock": "", "reader-writer lock": "--rw", "semaphore": "--semaphore"}


def _hint(hf: Holdfast, name: str, asked: Resource[PermitList]) -> str:
    """Return a hint with the lock that the user may have meant by *name*, of any kind."""
    for other in (LOCKS, RW_LOCKS, SEMAPHORES):
        if other is not asked and name in other.names(hf):
            option = OPTIONS[other.noun]
            how = f"add {option}" if option else f"leave out {OPTIONS[asked.noun]}"
            return f"; a {other.noun} of that name is in use: {how}"
    return similar(name, asked.names(hf))
