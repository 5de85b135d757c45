"""Prints one evening of Fake Game's market as JSON lines, the same at every run.

    python make_events.py > events.jsonl

Most offers find a buyer; the others expire unsold a day after they were made. Some sellers announce
a sale that starts later, and some players forget their passwords. A few players trade much and most
trade little, business is best at half past eight, and cheap things go more often.
"""

import json
import random
import sys
import unicodedata
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

EVENTS = 3_000
PLAYERS = 700
SHARES = {"sold": 0.55, "expired": 0.30, "sale": 0.10, "reset": 0.05}
FIRST_ID = 8_204_117  # the market has a past
OPENING = datetime(2026, 3, 14, 17, 0, tzinfo=UTC)
EVENING_S = 6 * 3600
RUSH_S = 3.5 * 3600  # after the opening
NOTICE_MIN = (10, 80)  # from the announcement of a sale to its start

NAMES = """
    amara anouk aziz benedikt björn brigid carmen chidi chloé dagny darius elif emeka enzo esther
    farid fiona gael greta hana hugo ingrid isla jack jason jeff jenny jill jürgen kamal kenji
    lakshmi leif łucja magda malik marisol mateo mei mira nadia niamh noor oksana olu oscar paloma
    petra quentin rafael renée rosa samir saoirse sinead sofía tariq tomáš uma vera wanjiru
    xiadani yara yusuf zoë
"""
TRADERS = ("jason22", "jeff24", "jack451", "jenny530")  # the busiest

ITEMS = {  # typical price in gold
    "Healing Potion": 12,
    "Bundle of Arrows": 8,
    "Iron Ingot": 15,
    "Moonpetal": 22,
    "Oak Staff": 60,
    "Wolf Pelt Cloak": 97,
    "Scroll of Return": 140,
    "Silver Compass": 210,
    "Dwarven Hammer": 380,
    "Elven Longbow": 520,
    "Griffin Saddle": 900,
    "Ember Blade": 1_450,
    "Crown of the Drowned King": 6_800,
    "Dragon Egg": 12_000,
}


def players(rng: random.Random) -> list[tuple[str, str]]:
    """Distinct names, busiest first, each with an ASCII address at a reserved domain."""
    names = NAMES.split()
    crowd = (f"{rng.choice(names)}{rng.randrange(10, 1000)}" for _ in range(2 * PLAYERS))
    distinct = dict.fromkeys([*TRADERS, *crowd])
    return [(name, f"{plain(name)}@players.example") for name in distinct][:PLAYERS]


def plain(name: str) -> str:
    letters = unicodedata.normalize("NFKD", name.replace("ł", "l"))
    return letters.encode("ascii", "ignore").decode()


def events(rng: random.Random) -> Iterator[dict[str, object]]:
    """Yield the events of the evening, oldest first; their ids have gaps."""
    everybody = players(rng)
    zeal = [1 / rank for rank in range(1, len(everybody) + 1)]  # Zipf's law
    seconds = sorted(rng.triangular(0, EVENING_S, RUSH_S) for _ in range(EVENTS))
    event_id = FIRST_ID
    for second in seconds:
        event_id += rng.randrange(1, 10)
        kind = rng.choices(list(SHARES), list(SHARES.values()))[0]
        at = OPENING + timedelta(seconds=int(second))
        player, other = distinct_pair(rng, everybody, zeal)
        yield {
            "event": kind,
            "id": event_id,
            "at": at.isoformat(),
            **details(rng, kind, at, player, other[0]),
        }


def details(
    rng: random.Random, kind: str, at: datetime, player: tuple[str, str], other: str
) -> dict[str, object]:
    """Return the details in the mail to *player* (name and address); *other* is its subject."""
    name, email = player
    if kind == "reset":
        return {"player": name, "email": email, "code": f"{rng.randrange(1_000_000):06}"}
    if kind == "sale":
        starts_at = at + timedelta(minutes=rng.randint(*NOTICE_MIN))
        follower = {"player": name, "email": email, "seller": other}
        return follower | offer(rng) | {"starts_at": starts_at.isoformat()}
    offered = {"seller": name, "email": email, **offer(rng)}
    return offered | {"buyer": other} if kind == "sold" else offered


def offer(rng: random.Random) -> dict[str, object]:
    """Return an item and its price in gold."""
    item = rng.choices(list(ITEMS), [price**-0.4 for price in ITEMS.values()])[0]
    return {"item": item, "price": max(1, round(ITEMS[item] * rng.lognormvariate(0, 0.25)))}


def distinct_pair(
    rng: random.Random, everybody: list[tuple[str, str]], zeal: list[float]
) -> list[tuple[str, str]]:
    while True:
        pair = rng.choices(everybody, zeal, k=2)
        if pair[0] != pair[1]:
            return pair


if __name__ == "__main__":
    for event in events(random.Random(451)):
        json.dump(event, sys.stdout, ensure_ascii=False)
        sys.stdout.write("\n")
