"""The traffic demo: players open pages, search guild mates while they type, and write to them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final

from rich.table import Table
from rich.text import Text

from holdfast import Samples

from .context import DemoContext
from .demo import Demo, Figures, Grid, Invariant, until
from .guild_names import everybody
from .options import Seed, number
from .players import PAGES, Players, misdelivered, misfound, missed

SECONDS: Final = 30
"""Number of seconds that each chart shows."""

NAMES: Final = 4


@dataclass
class TrafficDemo(Demo):
    """Count page hits, and complete the names of players as they are typed.

    Hits are collected in a buffer and counted in seven precisions at once.
    Meanwhile players join and leave the guild, search for members letter by
    letter in several scripts, and write to them. Mail to players who are not
    members is refused.

    At the end everything is compared with the notes of the players. The exit
    code is 1 if a precision misses a hit, a search finds wrong names, or a mail
    went to the wrong player.
    """

    name: ClassVar = "traffic"
    seed: Seed = None
    players: Annotated[int, number("--players", "Number of players", 1, 64)] = 8
    seconds: Annotated[float, number("--seconds", "Seconds of play", 1, 60)] = 15.0
    thinks_s: float = 0.02
    samples: int = 120

    def start(self, context: DemoContext) -> None:
        """Start the players."""
        self._hf = context.hf
        self._playing = Players(
            context.hf,
            count=self.players,
            seed=context.seed,
            thinks_s=self.thinks_s,
            samples=self.samples,
        )
        self.opened.callback(self._playing.stop)
        self._playing.start()
        self._began_s = time.monotonic()

    def poll(self) -> bool:
        if self._playing.failures:
            raise RuntimeError(f"a player failed: {self._playing.failures[0]!r}")
        return time.monotonic() - self._began_s < self.seconds

    def finish(self) -> Iterator[None]:
        """Wait for the first mail, and stop the players."""
        yield from until(lambda: sum(self._playing.mails.values()) > 0)
        self.end()

    def line(self) -> str:
        sums = self.results()
        return (
            f"{sum(self._playing.hits.values()):,} hits, {sums['searches']:,} searches, "
            f"{sums['members']:,} members, {sums['mails']:,} mails, {sums['refused']:,} refused"
        )

    def figures(self) -> Figures:
        pages = Table.grid(padding=(0, 2))
        for column in ({"style": "dim", "width": 14}, {"style": "cyan", "width": SECONDS}, {}):
            pages.add_column(**column)  # type: ignore[arg-type]
        for page in PAGES:
            # Leave out the last sample, because its second has not ended.
            whole = Samples(self._hf.counter(page).samples(1)[-SECONDS - 1 : -1])
            rate = f"{sum(sample.value for sample in whole[-5:]) / 5:,.0f} hits/s"
            pages.add_row(page, whole.sparkline(), rate)
        rows = []
        for search in list(self._playing.searches):
            names = ", ".join(search.found[:NAMES]) + (", …" if search.found[NAMES:] else "")
            rows.append([search.player, search.typed, names or "no member"])
        searches = Grid(("player", "typed", "found"), rows, left=("typed", "found"))
        return Figures(notes=[("so far", self.line())], grids=[searches], extra=[pages])

    def final_figures(self) -> Figures:
        return Figures(extra=[Text(self.line())])

    def invariants(self) -> Iterator[Invariant]:
        """Compare counters, completions and mailboxes with the players' records."""
        playing = self._playing
        precisions = len(playing.reaching)
        problems = tuple(missed(playing.hits, playing.counted()))
        hits = sum(playing.hits.values())
        promise = f"all {precisions} precisions agree with what was added"
        yield Invariant("counters", promise, hits, "hits", problems)

        found = playing.found()
        problems = tuple(misfound(playing.members, found))
        promise = "exactly the names of that beginning"
        yield Invariant("autocomplete", promise, len(found), "prefixes", problems)

        problems = tuple(misdelivered(playing.mails, playing.received()))
        promise = f"each mail once, to {len(everybody())} players"
        yield Invariant("mailboxes", promise, sum(playing.mails.values()), "mails", problems)

    def results(self) -> dict[str, Any]:
        playing = self._playing
        return {
            "hits": dict(playing.hits),
            "searches": playing.searched,
            "members": len(playing.members),
            "mails": sum(playing.mails.values()),
            "refused": playing.refused,
        }

    def introduction(self) -> str:
        return f"{self.players} players open pages and look for their guild mates."
