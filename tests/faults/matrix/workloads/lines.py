"""A tally of local files: several who count the same files at once, and look at the sums."""

import random
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from faults.history import Operation
from faults.matrix.cell_result import Violation
from faults.matrix.client import Client
from faults.matrix.workloads.base import Workload
from faults.nursery import Actor
from holdfast import AsyncLocalFiles, Counted, LocalFiles
from holdfast.core.names import Namespace
from holdfast.tallies.keys import KIND

DAILY = "daily"
DAYS = ["2011-10-10", "2011-10-11"]
WORDS = ["sold", "bought", "traded", "dropped"]
NONSENSE = b"nonsense"
LINES = 300
LOGS = "logs"
OTHERS = 3
"""Files of others that are counted with each new one: for most of them others are faster."""

LONGER = 20
"""A storm strikes the counting of several files, which takes so much longer than a call."""

CLIENTS = {"counter-1": "sync", "counter-2": "async", "counter-3": "async"}
FILES = {"sync": LocalFiles, "async": AsyncLocalFiles}


def lines_of(name: str) -> list[bytes]:
    """Return the lines of the file with this name; the first line is unique."""
    dice = random.Random(name)
    lines = [f"{DAYS[0]} {name}".encode()]
    for _ in range(dice.randint(1, LINES)):
        line = f"{dice.choice(DAYS)} {dice.choice(WORDS)}".encode()
        lines.append(NONSENSE if dice.random() < 0.1 else line)
    return lines


def by_word(line: bytes) -> Counted | None:
    """Return what a line counts for; nonsense counts for nothing."""
    if line == NONSENSE:
        return None
    day, word = line.decode().split()
    return Counted(day, {"word": word})


def play(**about: Any) -> None:
    """Write a file, count it and some others, and look at the sums."""
    with Client(**about) as client:
        logs = Path(about["folder"]) / LOGS
        tally = client.hf.tally(DAILY)
        number = client.number
        while not client.over:
            name = f"{client.name}-{number}"
            with client.operation("write", name, number=number):
                _write(logs / name)
            written = sorted(path.name for path in logs.glob("*[0-9]"))
            some = client.dice.sample(written, min(OTHERS, len(written)))
            count(client, logs, {name, *some})
            with client.operation("total", DAYS[0]) as op:
                op.result = client.read(partial(tally.total, DAYS[0]), op)
            number += 1
            time.sleep(client.dice.uniform(0, 0.05))


def _write(path: Path) -> None:
    """Let it be there as a whole."""
    new = path.with_suffix(".new")
    new.write_bytes(b"".join(line + b"\n" for line in lines_of(path.name)))
    new.replace(path)


def count(client: Client, logs: Path, names: Iterable[str]) -> None:
    """Count the files, even if another client has counted them."""
    names = sorted(names)
    # A file is known by its name, which must not depend on the process or on other files.
    paths = [logs / name for name in names] + [logs / "none"]
    tally, source = client.hf.tally(DAILY), FILES[client.half.name](paths)
    with client.operation("count", DAILY, names=names) as op:
        report = client.read(partial(tally.aggregate, source, key=by_word), op)
        op.result = report.lines


class Sums(NamedTuple):
    """What a tally says.

    Attributes:
        days: lines by day.
        words: lines by day and word.
        rejected: lines that count for nothing.
    """

    days: Mapping[str, int]
    words: Mapping[tuple[str, str], int]
    rejected: int


def sums_of(names: Iterable[str]) -> Sums:
    """Return the counts that a tally must have for these files."""
    lines = [line for name in names for line in lines_of(name)]
    counted = [tuple(line.decode().split()) for line in lines if line != NONSENSE]
    words = Counter((day, word) for day, word in counted)
    days = Counter(day for day, _ in counted)
    return Sums(days, words, len(lines) - len(counted))


class Tallies(Workload):
    """Three clients that share one tally."""

    module: ClassVar[str] = __name__
    kinds: ClassVar[frozenset[str]] = frozenset({"write", "count", "total"})

    def begin(self) -> None:
        (self.folder / LOGS).mkdir()
        (self.folder / LOGS / "none").touch()
        super().begin()

    def slots(self) -> list[int]:
        return [Namespace.of(self.namespace).unit(KIND, DAILY).slot]

    def actors(self) -> list[Actor]:
        storm = {"storm_s": LONGER * self.how["storm_s"]} if "storm_s" in self.how else {}
        return [self.actor("play", name, half, **storm) for name, half in CLIENTS.items()]

    def end(self) -> None:
        """Count everything once more at the end."""
        super().end()
        about = {"url": self.url, "namespace": self.namespace, "folder": str(self.folder)}
        with Client(**about, name="closer", half="sync") as client:
            logs = self.folder / LOGS
            count(client, logs, (path.name for path in logs.glob("*[0-9]")))

    def repeated(self, history: Sequence[Operation]) -> int:
        """Files that were given to be counted more than once."""
        given = Counter(name for op in history if op.kind == "count" for name in _names(op))
        return sum(times > 1 for times in given.values())

    def judge(self, history: Sequence[Operation]) -> list[Violation]:
        with self.open() as hf:
            tally = hf.tally(DAILY)
            words = {
                (day, word): lines
                for day in DAYS
                for word, lines in tally.top("word", day=day, limit=10_000)
            }
            sums = Sums(tally.days(), words, tally.rejected().lines)
        return judge(history, sums)


def judge(history: Sequence[Operation], sums: Sums) -> list[Violation]:
    """Check that each line is counted once, and that counts read meanwhile were in bounds.

    Args:
        history: of counters.
        sums: what the tally says at the end.
    """
    counts = [op for op in history if op.kind == "count"]
    expected = sums_of({name for op in counts for name in _names(op)})
    found = []
    for what, has, wants in zip(Sums._fields, _flat(sums), _flat(expected), strict=True):
        for name in sorted(has.keys() | wants.keys()):
            text = f"{has[name]} of {wants[name]}: {what} {name}"
            if has[name] != wants[name]:
                found.append(Violation("lost" if has[name] < wants[name] else "doubled", text))
    of_day = {name: sums_of([name]).days[DAYS[0]] for op in counts for name in _names(op)}
    for read in history:
        if read.kind == "total" and read.outcome == "ok":
            found += _bounded(read, counts, of_day)
    return found


def _flat(sums: Sums) -> list[Counter[Any]]:
    return [Counter(sums.days), Counter(sums.words), Counter(lines=sums.rejected)]


def _bounded(read: Operation, counts: list[Operation], lines: dict[str, int]) -> list[Violation]:
    """Compare a count that was read with its lower and upper bound."""
    assert read.return_ns is not None
    sure = {name for op in counts if _end(op) < read.invoke_ns for name in _names(op)}
    perhaps = {name for op in counts if op.invoke_ns < read.return_ns for name in _names(op)}
    low, high = (sum(lines[name] for name in names) for names in (sure, perhaps))
    if read.value < low:
        return [Violation("stale", f"{low} lines were counted before {read}")]
    if read.value > high:
        return [Violation("doubled", f"{high} lines could be counted at {read}")]
    return []


def _names(op: Operation) -> list[str]:
    names: list[str] = op.fields["names"]
    return names


def _end(op: Operation) -> float:
    return op.return_ns if op.outcome == "ok" and op.return_ns else float("inf")
