"""Prints one evening of Fake Game's market as JSON lines, the same at every run.

    python make_events.py > events.jsonl

Most offers find a buyer; the others expire unsold a day after they were made. A few players trade
much and most trade little, business is best at half past eight, and cheap things go more often.
"""

import json
import random
import sys
import unicodedata
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

EVENTS = 3_000
PLAYERS = 700
SOLD_SHARE = 0.65
FIRST_ID = 8_204_117  # the market has a past
OPENING = datetime(2026, 3, 14, 17, 0, tzinfo=UTC)
EVENING_S = 6 * 3600
RUSH_S = 3.5 * 3600  # after the opening

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
    """Distinct names, busiest first, each with a plain ASCII address at a domain nobody can own."""
    names = NAMES.split()
    crowd = (f"{rng.choice(names)}{rng.randrange(10, 1000)}" for _ in range(2 * PLAYERS))
    distinct = dict.fromkeys([*TRADERS, *crowd])
    return [(name, f"{plain(name)}@players.example") for name in distinct][:PLAYERS]


def plain(name: str) -> str:
    letters = unicodedata.normalize("NFKD", name.replace("ł", "l"))
    return letters.encode("ascii", "ignore").decode()


def events(rng: random.Random) -> Iterator[dict[str, object]]:
    """The evening's events, oldest first; their ids leave gaps, other things happen too."""
    everybody = players(rng)
    zeal = [1 / rank for rank in range(1, len(everybody) + 1)]  # Zipf's law
    demand = [price**-0.4 for price in ITEMS.values()]
    seconds = sorted(rng.triangular(0, EVENING_S, RUSH_S) for _ in range(EVENTS))
    event_id = FIRST_ID
    for second in seconds:
        event_id += rng.randrange(1, 10)
        (seller, email), (buyer, _) = distinct_pair(rng, everybody, zeal)
        item = rng.choices(list(ITEMS), demand)[0]
        sold = rng.random() < SOLD_SHARE
        event: dict[str, object] = {
            "event": "sold" if sold else "expired",
            "id": event_id,
            "at": (OPENING + timedelta(seconds=int(second))).isoformat(),
            "seller": seller,
            "email": email,
            "item": item,
            "price": max(1, round(ITEMS[item] * rng.lognormvariate(0, 0.25))),
        }
        yield event | {"buyer": buyer} if sold else event


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
