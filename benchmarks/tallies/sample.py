"""A table of 3 million networks in 350,000 cities, and the log of 100,000 players."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import polars as pl

NETWORKS: Final = 3_000_000
CITIES: Final = 350_000
PLAYERS: Final = 100_000
EVENTS: Final = 10
"""Of each player on a day."""

FIRST: Final = 2**24
"""The first network is 1.0.0.0/24, the others follow without gaps."""


def write_table(folder: Path) -> tuple[Path, Path]:
    """GeoLite2's CSV files: networks, and places."""
    blocks, locations = folder / "blocks.csv", folder / "locations.csv"
    number = pl.int_range(NETWORKS, eager=True)
    start = FIRST + number * 256
    pl.DataFrame({"start": start, "place": number.hash(1) % CITIES + 1}).select(
        network=pl.format("{}/24", _dotted(pl.col("start"))), geoname_id="place"
    ).write_csv(blocks)
    city = pl.int_range(1, CITIES + 1, eager=True)
    pl.DataFrame({"geoname_id": city}).with_columns(
        country_iso_code=pl.format("C{}", pl.col("geoname_id") % 250),
        subdivision_1_name=pl.format("Region {}", pl.col("geoname_id") % 4000),
        city_name=pl.format("City {}", pl.col("geoname_id")),
    ).write_csv(locations)
    return blocks, locations


def write_log(path: Path, lines: int) -> None:
    """Write a log in order of time: each player has about ten lines a day."""
    players = FIRST + pl.int_range(PLAYERS, eager=True).hash(2) % (NETWORKS * 256)
    a_day = PLAYERS * EVENTS
    with path.open("wb") as log:
        for day, first in enumerate(range(0, lines, a_day)):
            number = pl.int_range(min(a_day, lines - first), eager=True)
            frame = pl.DataFrame({"address": players.gather(number.hash(day) % PLAYERS)})
            second = number * 86_400 // a_day
            rows = frame.with_columns(second=second, number=number).select(
                pl.format(
                    "{} 2011-10-{} {}:{}:{} achievement-{}",
                    _dotted(pl.col("address")),
                    pl.lit(f"{day + 1:02}"),
                    *(_two_digits(pl.col("second"), size) for size in (3600, 60, 1)),
                    pl.col("number") % 1000,
                )
            )
            rows.write_csv(log, include_header=False, quote_style="never")


def _dotted(address: pl.Expr) -> pl.Expr:
    return pl.format("{}.{}.{}.{}", *(address // 256**i % 256 for i in (3, 2, 1, 0)))


def _two_digits(second: pl.Expr, size: int) -> pl.Expr:
    return (second // size % 60).cast(pl.String).str.zfill(2)
