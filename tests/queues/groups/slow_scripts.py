"""Counts the calls of each script of the queues, and how many of them were slow."""

import os
import re
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from ctypes.util import find_library
from importlib import resources
from typing import Any

from faults.servers import Server
from holdfast.core.names import Unit
from holdfast.core.script import Script
from holdfast.core.telemetry import NO_FACTS, Activity, Delay, Fact, Verb, What, during
from holdfast.core.trace import TraceContext
from holdfast.queues.groups._async.group_delivery import CANCELS

SLOW_US = 5_000
NOISE = 1_000
"""One call of a script in so many may be slow, because the machine interrupts the server."""
NOISE_OF_LIBC = 50
"""The same for a server with the allocator of the C library. It slows down all commands while the
memory is fragmented: RPUSH alone takes up to 28 ms, and one call of a large step in 150 above 5."""

_NAME = re.compile(rb"^-- (\w+/\w+):", re.MULTILINE)

LOGGED = 100_000
OPTIONS = ("--slowlog-log-slower-than", str(SLOW_US), "--slowlog-max-len", str(LOGGED))
"""Options of a server that remembers each command above `SLOW_US`."""


class ScriptCalls:
    """The telemetry of a client that counts how often it calls each script.

    Args:
        server: runs the scripts.

    Attributes:
        counts: `block/verb` of a script → its calls.
        slow: the same for calls with more than `SLOW_US` of processor time of the server between
            request and reply. It does not grow while another process has the core. Calls that the
            server answers meanwhile are contained, so it is never less than that of the script.
    """

    def __init__(self, server: Server) -> None:
        self.counts: Counter[str] = Counter()
        self.slow: Counter[str] = Counter()
        self._clock = _processor_clock(server.pid)
        self._lock = threading.Lock()

    def during(
        self,
        verb: Verb,
        unit: Unit,
        *,
        amount: int = 1,
        trace: TraceContext | None = None,
        facts: Mapping[str, Fact] = NO_FACTS,
    ) -> AbstractContextManager[Activity]:
        activity = during(None, verb, unit, amount=amount, trace=trace, facts=facts)
        return self._measured(str(facts["script"]), activity) if verb == "call" else activity

    @contextmanager
    def _measured(
        self, script: str, activity: AbstractContextManager[Activity]
    ) -> Iterator[Activity]:
        calls = CANCELS if script.endswith("/cancel") else 1  # a page of members at once
        begun = time.clock_gettime(self._clock)
        try:
            with activity as entered:
                yield entered
        finally:
            is_slow = time.clock_gettime(self._clock) - begun > SLOW_US / 1e6
            with self._lock:
                self.counts[script] += calls
                self.slow[script] += calls if is_slow else 0

    def count(self, what: What, unit: Unit, amount: int, result: str) -> None:
        """Do nothing."""

    def delayed(self, what: Delay, unit: Unit, seconds: float) -> None:
        """Do nothing."""


def allocator() -> Mapping[str, str]:
    """Return the environment in which a server without jemalloc uses it, where it is found."""
    library = find_library("jemalloc")
    return {"LD_PRELOAD": library} if library else {}


def noise(server: Server) -> int:
    """Return one call in how many may be slow with the allocator of *server*."""
    built_with = str(server.execute("INFO", "memory")["mem_allocator"])
    is_jemalloc = built_with.startswith("jemalloc") or bool(allocator())
    return NOISE if is_jemalloc else NOISE_OF_LIBC


def run_first(server: Server) -> None:
    """Let the server take its core from all other processes, where this test may do that.

    So the times are those of the scripts. Without it they have those of other processes in them.
    """
    with suppress(PermissionError):
        os.sched_setscheduler(server.pid, os.SCHED_FIFO, os.sched_param(1))


def _processor_clock(pid: int) -> int:
    """Return the clock of the processor time of a process, as `clock_getcpuclockid` does."""
    return (~pid << 3) | 2


def slow_times(server: Server) -> dict[str, list[int]]:
    """Return script → µs of its calls above `SLOW_US`, by the clock of the server."""
    names = {script.sha1.encode(): _called(script.name) for script in scripts()}
    found = defaultdict(list)
    log: list[Any] = server.execute("SLOWLOG", "GET", LOGGED)
    for _, _, lasted_us, words, *_ in log:
        if words[0].upper().startswith(b"EVALSHA"):
            found[names.get(words[1], "another block")].append(lasted_us)
        elif words[0].upper() == b"EVAL" and (name := _NAME.search(words[1])):
            found[_called(name[1].decode())].append(lasted_us)
    return dict(found)


def too_slow(
    times: Mapping[str, list[int]], calls: ScriptCalls, one_call_in: int
) -> dict[str, str]:
    """Return the scripts that are above `SLOW_US` more often than noise explains, and how often.

    A script that is slow by itself is slow whenever it has as much to do, by the clock (*times*)
    and by the processor time of the server. So the smaller number of slow calls is the one that
    counts. Noise hits any script, seldom: *one_call_in* so many, or one of a script that is called
    less often.
    """
    slow = {
        name: min(len(found), calls.slow[name]) if name in calls.counts else len(found)
        for name, found in times.items()
    }
    return {
        name: f"{number} of {calls.counts[name]} calls, up to {max(times[name])} µs by the clock"
        for name, number in slow.items()
        if number > max(1, calls.counts[name] // one_call_in)
    }


def scripts() -> list[Script]:
    """Return the scripts of the queues."""
    folder = resources.files("holdfast.queues") / "lua"
    verbs = [file.name.removesuffix(".lua") for file in folder.iterdir() if file.is_file()]
    return [Script.load("holdfast.queues", verb) for verb in verbs]


def _called(name: str) -> str:
    """Return the name of a script in telemetry, where both scripts that enqueue have one name."""
    return name.removesuffix("_plain")
