"""Many holders of one lock, in processes that faults hit, and the checks of their history."""

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
from locks.faults.holder import HolderOptions

OVERTAKING_S = 0.5
"""A holder that asked so much earlier must be served earlier, whatever the network does."""


class Contest:
    """Processes with holders of one lock or semaphore; `with` starts and stops them.

    Args:
        url: URL of the server.
        folder: folder for the histories.
        processes: how many; every other one uses the asyncio half.
        fields: fields of their `HolderOptions`.
    """

    def __init__(self, url: str, folder: Path, processes: int, **fields: Any) -> None:
        self.folder = folder
        self.namespace = f"contest-{secrets.token_hex(4)}"
        self.limit = fields.get("limit", 1)
        halves = ["sync"] if fields.get("kind", "").startswith("seed") else ["sync", "async"]
        self.options = [
            HolderOptions(
                url=url,
                namespace=self.namespace,
                folder=str(folder),
                name=f"holder-{n}",
                half=halves[n % len(halves)],
                **fields,
            )
            for n in range(processes)
        ]
        self.processes = self._of_options()

    def _of_options(self) -> list[Process]:
        return [
            Process.python(
                "-m",
                "locks.faults.holder",
                msgspec.json.encode(options).decode(),
                name=options.name,
            )
            for options in self.options
        ]

    def set_clocks(self, *off_s: float) -> None:
        """Set how wrong the wall clocks of the processes are, before they start."""
        for options, seconds in zip(self.options, off_s, strict=True):
            options.clock_off_s = seconds
        self.processes = self._of_options()

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
        """Let all holders finish; return the whole history."""
        (self.folder / "stop").touch()
        for process in self.processes:
            process.resume()
            assert process.wait(60) == 0, process.output[-2000:]
        return self.history()

    def history(self) -> list[Operation]:
        """Return the operations so far."""
        return read(self.folder.glob("holder-*.jsonl"))

    def goes_on(self) -> None:
        """Wait until as many permits were granted, from now on, as there are holders."""
        so_far, holders = len(self.grants()), sum(each.holders for each in self.options)
        eventually(lambda: len(self.grants()) >= so_far + holders, reason="permits are granted")

    def grants(self) -> list[Operation]:
        """Return the acquisitions that got a permit so far, in the order of their returns."""
        return granted(self.history())


def granted(history: list[Operation]) -> list[Operation]:
    """Return the acquisitions that got a permit, in the order of their returns."""
    found = [op for op in history if op.kind == "acquire" and op.outcome == "ok"]
    return sorted(found, key=lambda op: op.return_ns or 0)


def check(history: list[Operation], limit: int = 1) -> None:
    """Check what a lock or semaphore promises about every history."""
    assert granted(history), "it was never held"
    interval_overlap(history, lease=60.0, limit=limit)
    rising_fences(history)
    no_stale_write(history)


def no_stale_write(history: list[Operation]) -> None:
    """Check that no write was stored after a write with a higher fence."""
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
    """Check that an acquisition that began half a second later does not get a lower fence.

    This holds while all holders are alive: a paused waiter is skipped. A busy machine needs a
    margin: the longest release, and the longest silence of a process. It also delays single calls,
    so one in fifty may be overtaken. The first acquisition of a holder is left out: it connects.
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
    """Return the longest time in which a running process recorded nothing."""
    times: dict[str, list[int]] = {}
    for op in history:
        instants = times.setdefault(op.process, [])
        instants += [at for at in (op.invoke_ns, op.return_ns) if at is not None]
    pairs = (pair for instants in times.values() for pair in pairwise(sorted(instants)))
    return max((later - earlier for earlier, later in pairs), default=0)
