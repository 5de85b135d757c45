"""Many holders of one name in processes that may be struck, and what their histories must show."""

import secrets
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from faults.checkers import interval_overlap, rising_fences
from faults.history import Operation, read
from faults.processes import Process
from faults.waiting import eventually
from locks.faults.holder import Plan

OVERTAKING_S = 0.5
"""Who came so much earlier was first in line, whatever the network did."""


class Contest:
    """Processes with holders of one lock or semaphore; `with` starts and ends them.

    Args:
        url: of the server.
        folder: for the histories.
        processes: how many; every other one is of the asyncio half.
        plan: fields of their `Plan`.
    """

    def __init__(self, url: str, folder: Path, processes: int, **plan: Any) -> None:
        self.folder = folder
        self.namespace = f"contest-{secrets.token_hex(4)}"
        self.limit = plan.get("limit", 1)
        halves = ["sync"] if plan.get("kind", "").startswith("seed") else ["sync", "async"]
        self.plans = [
            Plan(
                url=url,
                namespace=self.namespace,
                folder=str(folder),
                name=f"holder-{n}",
                half=halves[n % len(halves)],
                **plan,
            )
            for n in range(processes)
        ]
        self.processes = self._of_plans()

    def _of_plans(self) -> list[Process]:
        return [
            Process.python(
                "-m", "locks.faults.holder", msgspec.json.encode(plan).decode(), name=plan.name
            )
            for plan in self.plans
        ]

    def set_clocks(self, *off_s: float) -> None:
        """Let the clocks on the walls of the processes be wrong by so much. Before they start."""
        for plan, seconds in zip(self.plans, off_s, strict=True):
            plan.clock_off_s = seconds
        self.processes = self._of_plans()

    def __enter__(self) -> Self:
        for process in self.processes:
            process.start()
        for process in self.processes:
            process.wait_for_output("ready", 90)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for process in self.processes:
            process.close()

    def stop(self) -> list[Operation]:
        """Let everybody finish: the whole history."""
        (self.folder / "stop").touch()
        for process in self.processes:
            process.resume()
            assert process.wait(60) == 0, process.output[-2000:]
        return self.history()

    def history(self) -> list[Operation]:
        """What was done so far."""
        return read(self.folder.glob("holder-*.jsonl"))

    def goes_on(self) -> None:
        """Wait until as many got a place as there are holders, from now on."""
        so_far, everybody = len(self.grants()), sum(plan.holders for plan in self.plans)
        eventually(lambda: len(self.grants()) >= so_far + everybody, reason="places are given")

    def grants(self) -> list[Operation]:
        """The acquisitions that got a place, so far, in the order of their returns."""
        return granted(self.history())


def granted(history: list[Operation]) -> list[Operation]:
    """The acquisitions that got a place, in the order of their returns."""
    found = [op for op in history if op.kind == "acquire" and op.outcome == "ok"]
    return sorted(found, key=lambda op: op.return_ns or 0)


def check(history: list[Operation], limit: int = 1) -> None:
    """What a lock, or a semaphore, promises about every history."""
    assert granted(history), "nobody ever held it"
    interval_overlap(history, lease=60.0, limit=limit)
    rising_fences(history)
    no_stale_write(history)


def no_stale_write(history: list[Operation]) -> None:
    """Nothing was stored after something that has the higher fence."""
    for write in history:
        if write.kind == "write" and write.outcome == "ok":
            later = [
                other
                for other in history
                if other.kind == "write"
                and other.outcome == "ok"
                and other.fields["fence"] > write.fields["fence"]
                and (other.return_ns or 0) < write.invoke_ns
            ]
            assert not later, f"a stale write was stored:\n  {later[0]}\n  {write}"


def first_come_first_served(history: list[Operation]) -> None:
    """Nobody who came half a second later has the lower fence.

    This holds as long as all are alive: who was paused is taken for dead, and overtaken. One in
    fifty may be: a busy machine holds up some on their way to the server; all, for as long as the
    slowest of those calls took that wait for nobody, and as nothing was heard of a process. Who
    comes for the first time connects first.
    """
    latest: Operation | None = None
    overtaken: list[str] = []
    releases = (op for op in history if op.kind == "release" and op.return_ns)
    slowest_ns = max((op.return_ns or 0) - op.invoke_ns for op in releases)
    margin_ns = OVERTAKING_S * 1e9 + slowest_ns + longest_silence_ns(history)
    known: set[str] = set()
    experienced: list[Operation] = []
    for op in sorted(granted(history), key=lambda op: op.invoke_ns):
        if op.fields["holder"] in known:
            experienced.append(op)
        known.add(op.fields["holder"])
    by_fence = sorted(experienced, key=lambda op: op.value)
    for op in by_fence:
        if latest is not None and latest.invoke_ns - op.invoke_ns > margin_ns:
            overtaken.append(f"{op}\n  by {latest}")
        if latest is None or op.invoke_ns > latest.invoke_ns:
            latest = op
    if len(overtaken) > len(by_fence) / 50:
        raise AssertionError("overtaken:\n  " + "\n  ".join(overtaken))


def longest_silence_ns(history: list[Operation]) -> int:
    """For how long nothing was heard of one of the processes, at most, while it was there."""
    times: dict[str, list[int]] = {}
    for op in history:
        heard = times.setdefault(op.process, [])
        heard += [at for at in (op.invoke_ns, op.return_ns) if at is not None]
    pairs = (pair for heard in times.values() for pair in pairwise(sorted(heard)))
    return max((later - earlier for earlier, later in pairs), default=0)
