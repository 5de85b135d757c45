"""What a table of 3 million networks takes of a process, and how long it takes to read.

In a process of its own: its memory with the table and the names of its places, less what it had
with the libraries loaded. What reading took by itself the allocator gives back within seconds.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ..harness import BenchmarkRun
from ..report import Table, Target
from .sample import write_table

MIB_TARGET: Final = 200

LOAD = """
import gc, json, os, sys, time
import polars as pl
from holdfast import GeoTable
def mib():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20
pl.DataFrame({"a": [2, 1]}).sort("a").group_by("a").len()
before, begun = mib(), time.perf_counter()
table = GeoTable.from_geolite2_csv(sys.argv[1], sys.argv[2])
taken = time.perf_counter() - begun
most = mib() - before
data = table.data
assert len(data.names) == 3
gc.collect()
time.sleep(5)
ranges = [data.ipv4, data.ipv6]
columns = [data.locations, *(each.starts for each in ranges), *(each.locations for each in ranges)]
own = sum(column.estimated_size() for column in columns) / 2**20
measured = {"mib": mib() - before, "most": most, "own": own, "s": taken, "ranges": len(table)}
print(json.dumps(measured))
"""


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Once: this hardly varies."""
    del bench
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as name:
        blocks, locations = write_table(Path(name))
        done = subprocess.run(
            [sys.executable, "-c", LOAD, blocks, locations],
            capture_output=True,
            text=True,
            check=True,
        )
    measured = json.loads(done.stdout)
    rows = [
        ["MiB of the process", measured["mib"]],
        ["MiB when it has just been read", measured["most"]],
        ["MiB of the columns", measured["own"]],
        ["seconds to read it from CSV", measured["s"]],
        ["ranges", measured["ranges"]],
    ]
    target = Target("MiB of the process", measured["mib"], MIB_TARGET, at_least=False)
    yield Table("a table of 3,000,000 networks in 350,000 cities", ("what", ""), rows, [target])
