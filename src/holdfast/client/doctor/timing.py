"""Clocks, and what takes long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

from .finding import Finding
from .snapshots import Examined

STEP_S: Final = 0.1
"""A clock that goes so much faster or slower than ours, within some pings, was set."""

OFFSET_S: Final = 1.0
FAR_OFFSET_S: Final = 60.0
DRIFT_S: Final = 1.0

FAR_S: Final = 0.02
TOO_FAR_S: Final = 0.25

SLOW_S: Final = 0.1
"""A command that holds up everybody for so long."""

LONG_FORK_S: Final = 0.5
LATELY: Final = timedelta(hours=1)


def timing(one: Examined) -> Iterator[Finding]:
    """Of one server."""
    yield from _clock(one)
    yield from _distance(one)
    yield from _slowness(one)


def drift(found: Sequence[Examined]) -> Iterator[Finding]:
    """Of the clocks of several servers."""
    if not found:
        return
    ahead = sorted(found, key=lambda one: one.best_ping.ahead_s)
    first, last = ahead[0], ahead[-1]
    apart_s = last.best_ping.ahead_s - first.best_ping.ahead_s
    if apart_s - first.best_ping.took_s - last.best_ping.took_s > DRIFT_S:
        yield Finding(
            "warning",
            f"the clocks of {first.address} and {last.address} are {apart_s:.1f} s apart",
            "a unit that moves from one to the other has its leases end early or late by as much",
            "timedatectl set-ntp true, on both machines",
        )


def _clock(one: Examined) -> Iterator[Finding]:
    first, last = one.pings[0], one.pings[-1]
    by_server_s, by_us_s = last.server_s - first.server_s, last.sent_s - first.sent_s
    slack_s = STEP_S + max(ping.took_s for ping in one.pings)
    if abs(by_server_s - by_us_s) > slack_s:
        yield Finding(
            "error",
            f"its clock went {by_server_s:.2f} s while {by_us_s:.2f} s went by",
            "leases end by that clock: a lock may be given away too early",
            "slew the clock instead of setting it: chronyd with makestep 1 3",
            one.address,
        )
    ahead_s = one.best_ping.ahead_s
    if abs(ahead_s) > OFFSET_S + one.best_ping.took_s:
        far = abs(ahead_s) > FAR_OFFSET_S
        yield Finding(
            "warning" if far else "note",
            f"its clock is {abs(ahead_s):.1f} s {'ahead of' if ahead_s > 0 else 'behind'} this one",
            "instants given here (at=…) mean other ones there; leases and delays are not concerned"
            + ("; counts with an instant of ours are refused or late" if far else ""),
            "timedatectl set-ntp true, on both machines",
            one.address,
        )


def _distance(one: Examined) -> Iterator[Finding]:
    if one.round_trip_s > FAR_S:
        yield Finding(
            "warning" if one.round_trip_s > TOO_FAR_S else "note",
            f"an answer takes {1000 * one.round_trip_s:.0f} ms",
            "every call takes so long at least: a lock one, a task three",
            "run it nearer to its clients, or see what keeps it busy: SLOWLOG GET",
            one.address,
        )


def _slowness(one: Examined) -> Iterator[Finding]:
    at, now = one.address, one.best_ping.server_s
    slow = [
        each
        for each in one.facts.slow or ()
        if each.took > SLOW_S and now - each.at.timestamp() < LATELY.total_seconds()
    ]
    if slow:
        worst = max(slow, key=lambda each: each.took)
        yield Finding(
            "warning",
            f"{worst.command} took {1000 * worst.took:.0f} ms"
            + (f", on {worst.key}" if worst.key else ""),
            f"nobody else was answered meanwhile; so it went {len(slow)} times within an hour",
            "SLOWLOG GET 32 tells which commands; find who sends them",
            at,
        )
    fork_s = int(one.info.get("latest_fork_usec", 0)) / 1e6
    if fork_s > LONG_FORK_S:
        yield Finding(
            "warning",
            f"it stood still for {fork_s:.1f} s to begin its last copy",
            "leases shorter than that may end meanwhile",
            "echo never > /sys/kernel/mm/transparent_hugepage/enabled, or spread the data",
            at,
        )
    for each in one.delays or ():
        if each.longest_s > LONG_FORK_S and now - each.at.timestamp() < LATELY.total_seconds():
            yield Finding(
                "warning",
                f"{each.event} took {each.longest_s:.1f} s",
                "nobody was answered meanwhile",
                f"LATENCY DOCTOR; then LATENCY RESET {each.event}",
                at,
            )
    unasked = ["slow log"] * (one.facts.slow is None) + ["latency monitor"] * (one.delays is None)
    if unasked:
        yield Finding(
            "note",
            f"this user may not look at the {' and the '.join(unasked)}",
            "what held up everybody lately stays unknown here",
            f"ACL SETUSER {one.login.user} +slowlog|get +latency|latest, or ask an administrator",
            at,
        )
