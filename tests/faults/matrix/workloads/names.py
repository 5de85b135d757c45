"""Autocomplete: clients that add, remove and look for names of their own."""

import time
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

from faults.history import Operation
from faults.matrix.cell_result import Violation
from faults.matrix.client import Client
from faults.matrix.workloads.base import Workload
from faults.nursery import Actor
from holdfast.completions.keys import COMPLETIONS
from holdfast.core.names import Namespace

LIST = "guild"
TOGETHER = 8
"""So many names begin alike."""

REMOVED = 0.3
CLIENTS = {"lister-1": "sync", "lister-2": "async", "lister-3": "async"}


def play(**about: Any) -> None:
    """Add names, remove some, and look."""
    with Client(**about) as client:
        client.share(_play)


def _play(client: Client, me: str) -> None:
    names = client.hf.completions(LIST)
    number = client.number
    while not client.over:
        start = f"{me} {number // TOGETHER}"
        name = f"{start} n{number}"
        with client.operation("add", name, number=number) as op:
            op.result = client.write(partial(_add, names, name), op)
        if client.dice.random() < REMOVED:
            with client.operation("remove", name) as op:
                op.result = client.write(partial(_remove, names, name), op)
        with client.operation("search", start) as op:
            found = client.read(partial(names.search, f"{start} ", limit=1000), op)
            op.result = [match.name for match in found]
        number += 1
        time.sleep(client.dice.uniform(0, 0.02))


def _add(names: Any, name: str, op_id: str) -> Any:
    return names.add(name, op_id=op_id)


def _remove(names: Any, name: str, op_id: str) -> Any:
    return names.remove(name, op_id=op_id)


class Names(Workload):
    """Three clients that share one list."""

    module: ClassVar[str] = __name__
    kinds: ClassVar[frozenset[str]] = frozenset({"add", "remove", "search"})

    def slots(self) -> list[int]:
        return [Namespace.of(self.namespace).unit(COMPLETIONS, LIST).slot]

    def actors(self) -> list[Actor]:
        return [self.actor("play", name, half) for name, half in CLIENTS.items()]

    def end(self) -> None:
        """Search for everything at the end with another client."""
        super().end()
        with Client(**self._looker()) as client:
            names = client.hf.completions(LIST)
            for start in sorted({_start(op) for op in self.history() if op.kind == "add"}):
                with client.operation("search", start) as op:
                    found = client.read(partial(names.search, f"{start} ", limit=1000), op)
                    op.result = [match.name for match in found]

    def _looker(self) -> dict[str, Any]:
        about = {"url": self.url, "namespace": self.namespace, "folder": str(self.folder)}
        return {**about, "name": "looker", "half": "sync"}

    def judge(self, history: Sequence[Operation]) -> list[Violation]:
        return judge(history)


def judge(history: Sequence[Operation]) -> list[Violation]:
    """Check that a search finds what was there all the time, and nothing that never was."""
    written: dict[str, list[Operation]] = defaultdict(list)
    by_start: dict[str, set[str]] = defaultdict(set)
    for op in history:
        if op.kind in {"add", "remove"}:
            written[op.key].append(op)
            by_start[_start(op)].add(op.key)
    found = []
    for search in history:
        if search.kind != "search" or search.outcome != "ok":
            continue
        if len(search.value) != len(set(search.value)):
            found.append(Violation("doubled", f"a name twice: {search}"))
        if search.value != sorted(search.value, key=str.casefold):
            found.append(Violation("disordered", f"{search}"))
        for name in by_start[search.key] | set(search.value):
            found += _contradiction(search, name, written[name])
    return found


def _contradiction(search: Operation, name: str, written: list[Operation]) -> list[Violation]:
    """Names are added once and removed once, so that it is plain when they are there."""
    adds = [op for op in written if op.kind == "add"]
    removals = [op for op in written if op.kind == "remove"]
    added_ns = min((op.return_ns for op in adds if op.outcome == "ok" and op.return_ns), default=0)
    asked = [op for op in adds if op.invoke_ns < _end(search)]
    unasked = all(op.invoke_ns > _end(search) for op in removals)
    removed = [op for op in removals if op.outcome == "ok" and _end(op) < search.invoke_ns]
    if name in search.value:
        if not asked:
            return [Violation("doubled", f"{name!r} from nowhere: {search}")]
        return [Violation("stale", f"{name!r} was removed: {search}")] if removed else []
    if added_ns and added_ns < search.invoke_ns and unasked:
        return [Violation("lost", f"{name!r} is not found: {search}", added_ns)]
    return []


def _start(op: Operation) -> str:
    """Return the beginning of the name of an operation."""
    return op.key.rpartition(" ")[0]


def _end(op: Operation) -> int:
    assert op.return_ns is not None
    return op.return_ns
