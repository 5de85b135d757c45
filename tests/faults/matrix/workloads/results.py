"""A cached function before a database: writers that invalidate by key and by tag, and readers."""

import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar
from zlib import crc32

from faults.history import Operation
from faults.matrix.cell_result import Violation
from faults.matrix.client import Client
from faults.matrix.workloads import rows
from faults.matrix.workloads.base import Workload
from faults.matrix.workloads.rows import ROWS, Table
from faults.nursery import Actor
from holdfast import CacheLoadFailed, CacheTimeout
from holdfast.cache.keys import SHARD, SHARDS, TAG
from holdfast.core.names import Namespace

FUNCTION = "version"
LEASE_S = 1.0
PATIENCE_S = 5.0


def tag_of(row_id: int) -> str:
    """Return the tag of a row."""
    return f"row:{row_id}"


def cached(client: Client, table: Table) -> Any:
    """Return the cached function that all clients use."""
    options: Any = {
        "name": FUNCTION,
        "ttl": 2.0,
        "stale": 30.0,
        "refresh": 0.3,
        "lease": LEASE_S,
        "timeout": PATIENCE_S,
        "tags": lambda row_id: ["rows", tag_of(row_id)],
    }

    def load(row_id: int) -> int:
        return table.load([row_id])[row_id]["version"]

    async def load_async(row_id: int) -> int:
        return load(row_id)

    return client.hf.cached(**options)(load_async if client.half.name == "async" else load)


def write(**about: Any) -> None:
    """Change rows, and say so: by the key of even rows, and by the tag of odd ones."""
    with Client(**about) as client:
        table = Table(about["folder"])
        function = cached(client, table)
        while not client.over:
            row_id = client.dice.randrange(ROWS)
            with suppress(ConnectionError), client.operation("write", str(row_id)) as op:
                op.result = table.raise_version(row_id)
                if row_id % 2:
                    client.read(partial(client.hf.invalidate_tags, tag_of(row_id)), op)
                else:
                    client.read(partial(function.invalidate, row_id), op)
            time.sleep(client.dice.uniform(0, 0.05))


def get(**about: Any) -> None:
    """Call the function."""
    with Client(**about) as client:
        function = cached(client, Table(about["folder"]))
        while not client.over:
            row_id = client.dice.randrange(ROWS)
            with client.operation("get", str(row_id)) as op:
                try:
                    op.result = client.read(partial(function, row_id), op)
                except (CacheLoadFailed, CacheTimeout) as error:
                    op.fail()
                    op.note(reason=str(error))
            time.sleep(client.dice.uniform(0, 0.02))


class Results(Workload):
    """One who writes, and three who call."""

    module: ClassVar[str] = __name__
    kinds: ClassVar[frozenset[str]] = frozenset({"write", "get"})

    def begin(self) -> None:
        Table(str(self.folder)).create()
        super().begin()

    def slots(self) -> list[int]:
        namespace = Namespace.of(self.namespace)
        shards = {crc32(f"1:[{row_id}]".encode()) % SHARDS for row_id in range(ROWS)}
        units = [namespace.unit(SHARD, f"{FUNCTION}/{shard}") for shard in sorted(shards)]
        units += [namespace.unit(TAG, tag_of(row_id)) for row_id in range(ROWS)]
        return [unit.slot for unit in units]

    def actors(self) -> list[Actor]:
        return [
            self.actor("write", "writer", "sync"),
            self.actor("get", "caller-1", "sync"),
            self.actor("get", "caller-2", "async"),
            self.actor("get", "caller-3", "async"),
        ]

    def judge(self, history: Sequence[Operation]) -> list[Violation]:
        return judge(history)


def judge(history: Sequence[Operation]) -> list[Violation]:
    """Check that a result was computed after the last invalidation before the call."""
    return rows.judge(history)
