"""Fake Game's event logs: sent to those who count them, and counted by where the players are.

    python logs.py          # three small days and two consumers, on a Valkey of its own
    holdfast demo logs      # a week and four processes; one is killed

The servers of the game write a line for each event: who (by address), when, what. A day has a log
of each realm. The feed takes them to the consumers, each log to one of them, and they count into
one tally; each line counts once, even if processes are killed.
"""

import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

from holdfast import GeoKey, GeoTable, Holdfast

NEEDED: Final = ("maxminddb", "polars")
INSTALL: Final = "pip install '.[geo,server]'"

FEED: Final = "logs"
TALLY: Final = "daily"

FIRST_DAY: Final = date(2011, 10, 10)
REALMS: Final = ("america", "asia", "europe", "oceania")
EVENTS: Final = ("login", "logout", "trade", "chat", *(f"achievement-{n}" for n in range(1, 999)))
PLAYERS: Final = 20_000
RESTART: Final = "-- server restarted --"
"""A line that is no event; there are a few in every log."""


class City(NamedTuple):
    """Where players live; its networks are made up."""

    country: str
    region: str
    name: str

    @property
    def values(self) -> tuple[str, ...]:
        """Return the values in a tally, in each of `DIMENSIONS`."""
        return tuple("/".join(self[:depth]) for depth in (1, 2, 3))


CITIES: Final = (
    City("US", "California", "Mountain View"),
    City("US", "California", "Los Angeles"),
    City("US", "New York", "New York"),
    City("US", "Texas", "Austin"),
    City("DE", "Bavaria", "Munich"),
    City("DE", "Land Berlin", "Berlin"),
    City("FR", "Île-de-France", "Paris"),
    City("JP", "Tokyo", "Tokyo"),
    City("JP", "Osaka", "Osaka"),
    City("KR", "Seoul", "Seoul"),
    City("BR", "São Paulo", "São Paulo"),
    City("AU", "Queensland", "Brisbane"),
    City("AU", "Victoria", "Melbourne"),
    City("NZ", "Auckland", "Auckland"),
    City("PL", "Łódź Voivodeship", "Łódź"),
    City("IN", "Karnataka", "Bengaluru"),
)
DIMENSIONS: Final = ("country", "region", "city")

FOUR: Final = {f"{20 + n}.{20 + n}": city for n, city in enumerate(CITIES)}
"""The first half of IPv4 addresses; all others but 10.* are in no network."""

SIX: Final = {f"2a02:{100 + n}": city for n, city in enumerate(CITIES)}
"""The beginning of IPv6 addresses."""


def write_table(folder: Path) -> tuple[Path, Path]:
    """Write the CSV files of GeoLite2: networks, and locations."""
    networks, places = folder / "networks.csv", folder / "places.csv"
    rows = [f"{network}.0.0/16,{n}" for n, network in enumerate(FOUR)]
    rows += [f"{network}::/32,{n}" for n, network in enumerate(SIX)]
    networks.write_text("\n".join(["network,geoname_id", *rows, ""]))
    names = [f"{n},{','.join(city)}" for n, city in enumerate(CITIES)]
    head = "geoname_id,country_iso_code,subdivision_1_name,city_name"
    places.write_text("\n".join([head, *names, ""]), encoding="utf-8")
    return networks, places


def write_days(folder: Path, *, days: int, lines: int, seed: int) -> None:
    """Write a folder for each day, with a log of each realm and as many *lines* a day."""
    dice = random.Random(seed)
    players = [_address(dice) for _ in range(PLAYERS)]
    for n in range(days):
        day = FIRST_DAY + timedelta(days=n)
        inside = folder / day.isoformat()
        inside.mkdir(parents=True)
        for number, realm in enumerate(REALMS):
            part = (lines + number) // len(REALMS)
            log = "\n".join(_events(dice, players, day.isoformat(), part))
            (inside / f"{realm}.log").write_text(f"{log}\n" if log else "")


def _address(dice: random.Random) -> str:
    """Return the address of a player: most have IPv4, some IPv6, a few a private one."""
    kind = dice.choices(("four", "six", "private", "unknown"), (90, 6, 2, 2))[0]
    host = f"{dice.randrange(256)}.{dice.randrange(256)}"
    match kind:
        case "four":
            return f"{dice.choice(list(FOUR))}.{host}"
        case "six":
            return f"{dice.choice(list(SIX))}::{dice.randrange(1, 2**16):x}"
        case "private":
            return f"10.0.{host}"
    return f"99.99.{host}"


def _events(dice: random.Random, players: list[str], day: str, lines: int) -> Iterator[str]:
    """Lines in order of time."""
    seconds = sorted(dice.choices(range(86_400), k=lines))
    who, what = dice.choices(players, k=lines), dice.choices(EVENTS, k=lines)
    for n, (second, player, event) in enumerate(zip(seconds, who, what, strict=True), 1):
        if n % 1_000 == 0:
            yield RESTART
        else:
            minute = second // 60
            yield f"{player} {day} {minute // 60:02}:{minute % 60:02}:{second % 60:02} {event}"


def send(hf: Holdfast, folder: Path, consumers: list[str]) -> None:
    """Publish all logs; consumers may count them meanwhile, each log is for one of them."""
    feed = hf.file_feed(FEED, consumers=consumers, mode="share")
    feed.publish_dir(folder)
    feed.seal()


def count(hf: Holdfast, consumer: str, table: GeoTable) -> None:
    """Count what the feed has for this consumer, until there is no more."""
    hf.tally(TALLY).aggregate(hf.file_feed(FEED).consumer(consumer), key=GeoKey(table))


@dataclass
class DirectCount:
    """What the logs say, by the simplest program: a line at a time, no server, no table.

    Attributes:
        lines: by day.
        values: by day and dimension: value → lines.
        rejected: lines that are no events.
    """

    lines: Counter[str] = field(default_factory=Counter)
    values: dict[tuple[str, str], Counter[str]] = field(default_factory=dict)
    rejected: int = 0

    @classmethod
    def of(cls, folder: Path) -> "DirectCount":
        """Count all logs in a folder and in those within."""
        direct = cls()
        seen: Counter[tuple[str, str]] = Counter()
        for log in sorted(folder.rglob("*.log")):
            with log.open(encoding="utf-8") as lines:
                for line in lines:
                    address, day, _ = line.split(" ", 2)
                    seen[address, day] += 1
        for (address, day), number in seen.items():
            direct._add(address, day, number)
        return direct

    def _add(self, address: str, day: str, number: int) -> None:
        if address == "--":
            self.rejected += number
            return
        self.lines[day] += number
        for dimension, value in zip(DIMENSIONS, home(address), strict=True):
            self.values.setdefault((day, dimension), Counter())[value] += number


def home(address: str) -> tuple[str, ...]:
    """Return where a player with this address lives, in each of `DIMENSIONS`."""
    if address.startswith("10."):
        return ("private",) * 3
    four, six = ".".join(address.split(".")[:2]), address.partition("::")[0]
    city = FOUR.get(four) or SIX.get(six)
    return city.values if city else ("??",) * 3


def check_packages() -> None:
    """End the program with the command that installs what is missing."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise SystemExit(f"the example needs {', '.join(missing)}: {INSTALL}")


def main() -> None:
    """Three days, two consumers; and what a direct count says."""
    check_packages()
    with tempfile.TemporaryDirectory() as name, Holdfast.embedded() as hf:
        days = Path(name, "days")
        table = GeoTable.from_geolite2_csv(*write_table(Path(name)))
        write_days(days, days=3, lines=20_000, seed=1)
        with ThreadPoolExecutor() as threads:  # each a process of its own, usually
            work = [threads.submit(send, hf, days, ["geo-1", "geo-2"])]
            work += [threads.submit(count, hf, name, table) for name in ("geo-1", "geo-2")]
        for each in work:
            each.result()
        tally, direct = hf.tally(TALLY), DirectCount.of(days)
        for day, lines in tally.days().items():
            best = tally.top("country", day=day, limit=5)
            print(f"{day}: {lines:,} events;", ", ".join(f"{at} {n:,}" for at, n in best))
        for change in tally.compare("2011-10-10", "2011-10-11", dimension="city", limit=3):
            print(f"{change.value}: {change.before:,} → {change.after:,}")
        if tally.days() != direct.lines or tally.rejected().lines != direct.rejected:
            sys.exit("a direct count says something else")


if __name__ == "__main__":
    main()
