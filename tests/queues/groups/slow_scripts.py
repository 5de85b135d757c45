"""Counts the calls of each script of the queues, and reads from the server which were slow."""

import os
import re
import threading
from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from importlib import resources
from pathlib import Path
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

BUSY_NOISE = 20
"""The same on a busy machine, where all processes share the execution units of few cores."""

BUSY = 0.05
"""Share of the machine that other processes take on a busy one."""

_NAME = re.compile(rb"^-- (\w+/\w+):", re.MULTILINE)

LOGGED = 100_000
OPTIONS = ("--slowlog-log-slower-than", str(SLOW_US), "--slowlog-max-len", str(LOGGED))
"""Options of a server that remembers each command above `SLOW_US`."""


class ScriptCalls:
    """The telemetry of a client that counts how often it calls each script.

    Attributes:
        counts: `block/verb` of a script → its calls.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
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
        if verb == "call":
            script = str(facts["script"])
            calls = CANCELS if script.endswith("/cancel") else 1  # a page of members at once
            with self._lock:
                self.counts[script] += calls
        return during(None, verb, unit, amount=amount, trace=trace, facts=facts)

    def count(self, what: What, unit: Unit, amount: int, result: str) -> None:
        """Do nothing."""

    def delayed(self, what: Delay, unit: Unit, seconds: float) -> None:
        """Do nothing."""


def run_first(server: Server) -> None:
    """Let the server take its core from all other processes, where this test may do that.

    So the times are those of the scripts. Without it they have those of other processes in them.
    """
    with suppress(PermissionError):
        os.sched_setscheduler(server.pid, os.SCHED_FIFO, os.sched_param(1))


class OtherProcesses:
    """Measures which share of the machine is taken by others than this process and *server*."""

    def __init__(self, server: Server) -> None:
        self._pids = (os.getpid(), server.pid)
        self._ticks = self._read()

    def share(self) -> float:
        """Return the share since the start."""
        (busy, total), (busy_before, total_before) = self._read(), self._ticks
        return (busy - busy_before) / max(1, total - total_before)

    def _read(self) -> tuple[int, int]:
        """Return the ticks that others were busy, and all ticks; nothing is known elsewhere."""
        try:
            machine = [int(each) for each in Path("/proc/stat").read_text().split()[1:9]]
            own = 0
            for pid in self._pids:
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                own += int(fields[11]) + int(fields[12])
        except OSError:
            return 0, 0
        idle = machine[3] + machine[4]
        return sum(machine) - idle - own, sum(machine)


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


def too_slow(times: Mapping[str, list[int]], calls: Counter[str], *, busy: bool) -> dict[str, str]:
    """Return the scripts that are above `SLOW_US` more often than noise explains, and how often.

    A script that is slow by itself is slow whenever it has as much to do. Noise hits any script,
    seldom: one call in `NOISE`, or one call of a script that is called less often.
    """
    noise = BUSY_NOISE if busy else NOISE
    return {
        name: f"{len(found)} of {calls[name]} calls, up to {max(found)} µs"
        for name, found in times.items()
        if len(found) > max(1, calls[name] // noise)
    }


def scripts() -> list[Script]:
    """Return the scripts of the queues."""
    folder = resources.files("holdfast.queues") / "lua"
    verbs = [file.name.removesuffix(".lua") for file in folder.iterdir() if file.is_file()]
    return [Script.load("holdfast.queues", verb) for verb in verbs]


def _called(name: str) -> str:
    """Return the name of a script in telemetry, where both scripts that enqueue have one name."""
    return name.removesuffix("_plain")
