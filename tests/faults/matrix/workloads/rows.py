"""A row cache before a database of its own: writers that invalidate, refreshers, readers."""

import sqlite3
import threading
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from faults.halves import Interrupted
from faults.history import Operation
from faults.matrix.cell_result import Violation
from faults.matrix.client import Client
from faults.matrix.workloads.base import POISON, Workload
from faults.nursery import Actor
from holdfast import Holdfast, LoadFailed
from holdfast.core.names import Namespace
from holdfast.rows.keys import SHARD

CACHE = "stock"
ROWS = 4
SCHEDULED = ROWS // 2
"""The first of them are refreshed all the time, the others loaded by who misses them."""

SPOILT = {0, ROWS - 1}
"""One of each cannot be loaded while there is poison."""

INDIGESTIBLE = "of poison"

EVERY_S = 0.2
LEASE_S = 1.0
PATIENCE_S = 5.0
FROM_MEMORY_NS = 10**9
"""By so much, a row from memory may be older than what was invalidated."""

DATABASE = "stock.db"
AWAY = "away"
"""A file beside the histories."""


class Table:
    """Rows with versions, in a database that cannot be reached while there is a file `AWAY`."""

    def __init__(self, folder: str) -> None:
        self._path = Path(folder) / DATABASE
        self._away = Path(folder).parent / AWAY
        self._poison = Path(folder).parent / POISON

    def create(self) -> None:
        with self._open() as database, database:
            database.execute("PRAGMA journal_mode=WAL")
            database.execute("CREATE TABLE stock (id INTEGER PRIMARY KEY, version INTEGER)")
            database.executemany("INSERT INTO stock VALUES (?, 0)", [(n,) for n in range(ROWS)])

    def load(self, ids: Sequence[int]) -> dict[int, dict[str, int]]:
        """Return the rows that a cache asks for."""
        if SPOILT.intersection(ids) and self._poison.exists():
            raise ValueError(INDIGESTIBLE)
        with self._open() as database:
            marks = ",".join("?" * len(ids))
            query = f"SELECT id, version FROM stock WHERE id IN ({marks})"
            return {n: {"version": version} for n, version in database.execute(query, list(ids))}

    def raise_version(self, row_id: int) -> int:
        """Write a row; its new version."""
        with self._open() as database, database:
            database.execute("UPDATE stock SET version = version + 1 WHERE id = ?", [row_id])
            found = database.execute("SELECT version FROM stock WHERE id = ?", [row_id])
            return int(found.fetchone()[0])

    def _open(self) -> closing[sqlite3.Connection]:
        if self._away.exists():
            raise ConnectionError("the database is away")
        return closing(sqlite3.connect(self._path, timeout=10))


def cache_of(hf: Any, source: Table, *, near: bool = False) -> Any:
    """Return the cache that all clients use."""
    return hf.row_cache(CACHE, source=source, lease=LEASE_S, near=near)


def write(**about: Any) -> None:
    """Change rows, and say so."""
    with Client(**about) as client:
        table = Table(about["folder"])
        cache = cache_of(client.hf, table)
        while not client.over:
            row_id = client.dice.randrange(ROWS)
            with suppress(ConnectionError), client.operation("write", str(row_id)) as op:
                op.result = table.raise_version(row_id)
                client.read(partial(cache.invalidate, row_id), op)
            time.sleep(client.dice.uniform(0, 0.05))


def get(**about: Any) -> None:
    """Read rows."""
    _read("get", about)


def near(**about: Any) -> None:
    """Read rows, from the memory of the process where that is possible."""
    _read("near", about)


def _read(kind: str, about: dict[str, Any]) -> None:
    with Client(**about) as client:
        cache = cache_of(client.hf, Table(about["folder"]), near=kind == "near")
        while not client.over:
            row_id = client.dice.randrange(ROWS)
            before = cache.near_stats().hits
            with client.operation(kind, str(row_id)) as op:
                try:
                    row = client.read(partial(cache.get, row_id, timeout=PATIENCE_S), op)
                except LoadFailed as error:
                    op.fail()
                    op.note(reason=str(error))
                else:
                    op.result = row.value and row.value["version"]
                    op.note(state=row.state, memory=cache.near_stats().hits > before)
            time.sleep(client.dice.uniform(0, 0.02))


def refresh(**about: Any) -> None:
    """Keep the scheduled rows fresh."""
    with Client(**about) as client:
        cache = cache_of(client.hf, Table(about["folder"]))
        thread = threading.Thread(target=_run, args=[client, cache])
        thread.start()
        while not client.over:
            with client.operation("refresh", CACHE) as op:
                op.result = client.read(cache.status, op) is not None
            time.sleep(0.1)
        cache.stop()
        thread.join()


def _run(client: Client, cache: Any) -> None:
    while not client.over:
        try:
            client.half.do(cache.run())
        except Interrupted:
            continue


class Rows(Workload):
    """One who writes, two who read, one who reads from memory, one or two who refresh."""

    module: ClassVar[str] = __name__
    kinds: ClassVar[frozenset[str]] = frozenset({"write", "get", "near", "refresh"})

    def begin(self) -> None:
        table = Table(str(self.folder))
        table.create()
        with Holdfast.from_url(self.url, namespace=self.namespace) as hf:
            cache_of(hf, table).schedule_many(dict.fromkeys(range(SCHEDULED), EVERY_S))
        super().begin()

    def slots(self) -> list[int]:
        return [Namespace.of(self.namespace).unit(SHARD, f"{CACHE}/0").slot]

    def actors(self) -> list[Actor]:
        refreshers = [
            self.actor("refresh", "refresher-1", "sync"),
            self.actor("refresh", "refresher-2", "async"),
        ]
        return [
            self.actor("write", "writer", "sync"),
            self.actor("get", "reader-1", "sync"),
            self.actor("get", "reader-2", "async"),
            self.actor("near", "reader-3", "sync"),
            *(refreshers[:1] if self.alone else refreshers),
        ]

    def judge(self, history: Sequence[Operation]) -> list[Violation]:
        return judge(history)


def judge(history: Sequence[Operation]) -> list[Violation]:
    """Check that a row shown was read after the last `invalidate` before the request.

    A row from memory may be a second older.
    """
    found = []
    writes = [op for op in history if op.kind == "write" and op.outcome == "ok"]
    begun = [op for op in history if op.kind == "write"]
    spoilt = set(map(str, SPOILT))
    for get in history:
        if INDIGESTIBLE in get.fields.get("reason", "") and get.key not in spoilt:
            found.append(Violation("lost", f"another row is of poison, and so is this one: {get}"))
        if get.kind not in ("get", "near") or get.outcome != "ok":
            continue
        assert get.return_ns is not None
        if get.value is None:
            found.append(Violation("lost", f"the row is there, but {get}"))
            continue
        until_ns = get.invoke_ns - (FROM_MEMORY_NS if get.fields.get("memory") else 0)
        before = [op.value for op in writes if op.key == get.key and _end(op) < until_ns]
        if get.value < max(before, default=0):
            found.append(Violation("stale", f"version {max(before)} was invalidated before {get}"))
        if get.value > sum(op.key == get.key and op.invoke_ns < get.return_ns for op in begun):
            found.append(Violation("disordered", f"a version that was never written: {get}"))
    return found


def _end(op: Operation) -> int:
    assert op.return_ns is not None
    return op.return_ns
