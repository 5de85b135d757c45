# Generated from _async/first_attempts.py by tools/unasync.py: edit that, then run `make sync`.
"""The first sending of many calls, and whether a server can take durable ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..names import Unit
from ..script import Script
from ..transport.barrier import is_for_good, mark
from ..transport.outcome import Busy, Lost, Outcome, Refused, Replied, Unable, Unsent
from ..transport.request import CallKind, Request
from ..transport.settings import Address, Settings
from .router import Router

Argument = str | bytes | int
Step = tuple[Unit, Sequence[str | bytes], Sequence[Argument]]

_PENDING: Final = Busy("")


def first_outcomes(
    settings: Settings, routes: Router, script: Script, steps: Sequence[Step], *, durable: bool
) -> list[Outcome]:
    """The first outcome of each of *steps*, which travel together where they can."""
    requests: list[Request] = []
    outcomes: list[Outcome] = [_PENDING] * len(steps)
    by_node: dict[Address, list[int]] = {}
    problems: dict[Address, Outcome | None] = {}
    for i, (unit, keys, args) in enumerate(steps):
        request = Request.of_script(script.sha1, keys, args)
        requests.append(request.marked(mark(unit)) if durable else request)
        address = routes.known(unit) or routes.address(unit)
        if address is None:
            outcomes[i] = Busy(settings.nowhere)
            continue
        if durable and address not in problems:
            problems[address] = problem_at(settings, routes, address)
        if problem := problems.get(address):
            outcomes[i] = problem
        else:
            by_node.setdefault(address, []).append(i)
    sent = [
        (
            numbers,
            routes.lane(address, CallKind.ORDINARY, durable=durable).submit_all(
                requests[i] for i in numbers
            ),
        )
        for address, numbers in by_node.items()
    ]
    for numbers, pending in sent:
        for i, outcome in zip(numbers, pending, strict=True):
            outcomes[i] = outcome
    return outcomes


def problem_at(settings: Settings, routes: Router, address: Address) -> Outcome | None:
    """Why no durable call can be made at *address* now; None: one can."""
    seal = routes.seal
    if seal is None or address in routes.sealing:
        return None
    outcome = routes.lane(address, CallKind.ORDINARY).submit(seal.probe)
    match outcome:
        case Replied():
            routes.sealing.add(address)
        case Refused(reason) if is_for_good(reason):
            cannot = f"no {settings.durability} to be had: {reason.rstrip('.')}"
            return Unable(settings.explained(address, cannot))
        case Unsent(reason) | Lost(reason):
            return Unsent(reason)
    return None
