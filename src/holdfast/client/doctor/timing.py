"""Find problems of clocks, and slowness."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

from ..finding import Finding, Severity
from .snapshots import ServerSnapshot

STEP_S: Final = 0.1
"""Seconds by which the server's clock and the local clock may differ in how much time passed. A
larger difference within a few readings proves that a clock was set."""

OFFSET_S: Final = 1.0
FAR_OFFSET_S: Final = 60.0
DRIFT_S: Final = 1.0

FAR_S: Final = 0.02
TOO_FAR_S: Final = 0.25

SLOW_S: Final = 0.1
"""Seconds above which a command counts as slow, because other clients wait meanwhile."""

LONG_FORK_S: Final = 0.5
RECENTLY: Final = timedelta(hours=1)


def timing(one: ServerSnapshot) -> Iterator[Finding]:
    """Yield findings about clock, distance and slowness of one server."""
    yield from _clock(one)
    yield from _distance(one)
    yield from _slowness(one)


def drift(found: Sequence[ServerSnapshot]) -> Iterator[Finding]:
    """Yield a finding if the clocks of several servers differ."""
    if not found:
        return
    ahead = sorted(found, key=lambda one: one.best_reading.ahead_s)
    first, last = ahead[0], ahead[-1]
    apart_s = last.best_reading.ahead_s - first.best_reading.ahead_s
    if apart_s - first.best_reading.took_s - last.best_reading.took_s > DRIFT_S:
        yield Finding(
            Severity.WARNING,
            f"the clocks of {first.address} and {last.address} are {apart_s:.1f} s apart",
            "when a unit moves between them, its leases end early or late by that time",
            "timedatectl set-ntp true, on both machines",
        )


def _clock(one: ServerSnapshot) -> Iterator[Finding]:
    first, last = one.clock[0], one.clock[-1]
    server_passed_s, passed_s = last.server_s - first.server_s, last.sent_s - first.sent_s
    slack_s = STEP_S + max(reading.took_s for reading in one.clock)
    if abs(server_passed_s - passed_s) > slack_s:
        yield Finding(
            Severity.ERROR,
            f"its clock advanced {server_passed_s:.2f} s while {passed_s:.2f} s passed",
            "leases end by that clock: a lock may be granted to another holder too early",
            "slew the clock instead of setting it: chronyd with makestep 1 3",
            one.address,
        )
    ahead_s = one.best_reading.ahead_s
    if abs(ahead_s) > OFFSET_S + one.best_reading.took_s:
        far = abs(ahead_s) > FAR_OFFSET_S
        side = "ahead of" if ahead_s > 0 else "behind"
        yield Finding(
            Severity.WARNING if far else Severity.NOTE,
            f"its clock is {abs(ahead_s):.1f} s {side} this machine",
            "absolute times (at=…) are off by that much; leases and delays are not affected"
            + ("; counts with a time of this machine are refused or late" if far else ""),
            "timedatectl set-ntp true, on both machines",
            one.address,
        )


def _distance(one: ServerSnapshot) -> Iterator[Finding]:
    if one.round_trip_s > FAR_S:
        yield Finding(
            Severity.WARNING if one.round_trip_s > TOO_FAR_S else Severity.NOTE,
            f"a reply takes {1000 * one.round_trip_s:.0f} ms",
            "a lock takes at least one such round trip, a task three",
            "run it nearer to its clients, or find what keeps it busy: SLOWLOG GET",
            one.address,
        )


def _slowness(one: ServerSnapshot) -> Iterator[Finding]:
    at, now = one.address, one.best_reading.server_s
    slow = [
        each
        for each in one.facts.slow or ()
        if each.took > SLOW_S and now - each.at.timestamp() < RECENTLY.total_seconds()
    ]
    if slow:
        often = "once" if len(slow) == 1 else f"{len(slow)} times"
        worst = max(slow, key=lambda each: each.took)
        yield Finding(
            Severity.WARNING,
            f"{worst.command} took {1000 * worst.took:.0f} ms"
            + (f", on {worst.key}" if worst.key else ""),
            f"other clients waited meanwhile; this happened {often} within an hour",
            "SLOWLOG GET 32 shows the commands; find the client that sends them",
            at,
        )
    fork_s = int(one.info.get("latest_fork_usec", 0)) / 1e6
    if fork_s > LONG_FORK_S:
        yield Finding(
            Severity.WARNING,
            f"it was blocked for {fork_s:.1f} s when it began its last copy",
            "leases shorter than that may end meanwhile",
            "echo never > /sys/kernel/mm/transparent_hugepage/enabled, or spread the data",
            at,
        )
    for each in one.delays or ():
        if each.longest_s > LONG_FORK_S and now - each.at.timestamp() < RECENTLY.total_seconds():
            yield Finding(
                Severity.WARNING,
                f"{each.event} took {each.longest_s:.1f} s",
                "other clients waited meanwhile",
                f"LATENCY DOCTOR; then LATENCY RESET {each.event}",
                at,
            )
    unknown = ["slow log"] * (one.facts.slow is None) + ["latency monitor"] * (one.delays is None)
    if unknown:
        yield Finding(
            Severity.NOTE,
            f"this user may not read the {' and the '.join(unknown)}",
            "causes of recent delays are unknown",
            f"ACL SETUSER {one.login.user} +slowlog|get +latency|latest, or ask an administrator",
            at,
        )
