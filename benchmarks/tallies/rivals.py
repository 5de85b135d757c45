"""Who counts the lines of a log by country, region and city as well, and promises nothing.

They are given the table as arrays, and leave their counts in memory.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any, Final

import polars as pl

from holdfast import GeoTable

KEYS: Final = (["country"], ["country", "region"], ["country", "region", "city"])
"""What is counted: the first so many of them."""


def polars(log: Path, table: GeoTable, dimensions: int = 3) -> Callable[[int], object]:
    """Return one query over the whole file; equal addresses are grouped before the lookup."""
    data = table.data
    ranges = pl.DataFrame({"start": data.ipv4.starts, "location": data.ipv4.locations})
    ranges = ranges.set_sorted("start")
    locations = data.locations.with_row_index("location")
    octets = pl.col("address").str.split_exact(".", 3).struct
    parts = [octets.field(f"field_{i}").cast(pl.UInt32) * 256 ** (3 - i) for i in range(4)]

    def work(lines: int) -> None:
        del lines  # the log has as many
        groups = (
            pl.scan_csv(
                log,
                separator=" ",
                has_header=False,
                quote_char=None,
                schema={"address": pl.String, "day": pl.String},
                extra_columns="ignore",
            )
            .group_by("address", "day")
            .agg(lines=pl.len())
            .with_columns(number=pl.sum_horizontal(parts))
            .sort("number")
            .join_asof(ranges.lazy(), left_on="number", right_on="start")
            .group_by("day", "location")
            .agg(pl.col("lines").sum())
            .join(locations.lazy(), on="location")
            .collect()
        )
        for keys in KEYS[:dimensions]:
            groups.group_by("day", *keys).agg(pl.col("lines").sum())

    return work


def duckdb(log: Path, table: GeoTable, dimensions: int = 3) -> Callable[[int], object] | None:
    """Return the same query for DuckDB, if it is installed."""
    try:
        import duckdb as library
    except ModuleNotFoundError:
        return None
    data = table.data
    folder = log.parent
    pl.DataFrame({"start": data.ipv4.starts, "location": data.ipv4.locations}).write_parquet(
        folder / "ranges.parquet"
    )
    data.locations.with_row_index("location").write_parquet(folder / "locations.parquet")
    connection: Any = library.connect()
    for name in ("ranges", "locations"):
        connection.execute(f"create table {name} as from '{folder / name}.parquet'")

    def work(lines: int) -> None:
        del lines
        connection.execute(
            f"""
            create or replace temp table counts as
            with groups as (
                select address, day, count(*) as lines
                from read_csv('{log}', delim=' ', header=false, quote='', columns={{
                    'address': 'varchar', 'day': 'varchar', 'time': 'varchar', 'event': 'varchar'}})
                group by all
            ), numbers as (
                select day, lines, split_part(address, '.', 1)::uinteger * 16777216
                    + split_part(address, '.', 2)::uinteger * 65536
                    + split_part(address, '.', 3)::uinteger * 256
                    + split_part(address, '.', 4)::uinteger as number
                from groups
            )
            select day, country, region, city, sum(lines) as lines
            from numbers asof join ranges on number >= start join locations using (location)
            group by all
            """
        )
        for keys in KEYS[:dimensions]:
            connection.execute(
                f"select day, {', '.join(keys)}, sum(lines) from counts group by all"
            ).fetchall()

    return work


def textbook(log: Path, table: GeoTable) -> Callable[[int], object]:
    """Return the loop of the textbook, by country only; *log* may be a folder."""
    logs = list(log.iterdir()) if log.is_dir() else [log]
    data = table.data
    starts, numbers = data.ipv4.starts.to_list(), data.ipv4.locations.to_list()
    countries = data.locations["country"].to_list()

    def score_of(address: str) -> int:
        score = 0
        for part in address.split("."):
            score = score * 256 + int(part, 10)
        return score

    def work(lines: int) -> None:
        counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for each in logs:
            with each.open() as file:
                for text in islice(file, lines):
                    line = text.split()
                    number = numbers[bisect_right(starts, score_of(line[0])) - 1]
                    counts[line[1]][countries[number]] += 1

    return work
