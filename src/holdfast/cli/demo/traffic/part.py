"""Players at play as a part of the world: counters, completions, and mail to guild mates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, Final

from ..examples import example_file, load_example
from ..world.ground import Ground
from ..world.part import Part, Verdict, until
from .check import misdelivered, misfound, missed
from .evening import Evening
from .names import everybody
from .picture import told

PLAYERS: Final = 3
THINKS_S: Final = 0.25
KEEP: Final = 1_000


class Players(Part):
    """An evening that lasts as long as the world does."""

    name: ClassVar = "traffic"

    def __init__(self, ground: Ground) -> None:
        super().__init__()
        self._evening = Evening(
            ground.hf,
            load_example(example_file("guild.py")),
            players=PLAYERS,
            seed=ground.seed,
            thinks_s=THINKS_S,
            keep=KEEP,
        )

    def begin(self) -> None:
        """Let them play."""
        self.opened.callback(self._evening.stop)
        self._evening.start()

    def look(self) -> None:
        """See whether all play on.

        Raises:
            Exception: what one of them failed of.
        """
        if self._evening.failures:
            raise self._evening.failures[0]

    def told(self) -> str:
        """What they did."""
        return told(self._evening)

    def pids(self) -> Mapping[str, int]:
        """Its processes at the moment, by name: none, the players are threads."""
        return {}

    def finish(self) -> Iterator[None]:
        """Let them go home."""
        yield from until(lambda: sum(self._evening.mails.values()) > 0)  # on a slow machine
        self.end()

    def verdicts(self) -> Iterator[Verdict]:
        """From what the players noted themselves."""
        evening = self._evening
        precisions = len(evening.reaching)
        problems = tuple(missed(evening.hits, evening.counted()))
        hits = sum(evening.hits.values())
        promise = f"all {precisions} precisions agree, with what was added"
        yield Verdict("counters", promise, hits, "hits", problems)

        found = evening.found()
        problems = tuple(misfound(evening.members, found))
        promise = "exactly the names of that beginning"
        yield Verdict("autocomplete", promise, len(found), "prefixes", problems)

        problems = tuple(misdelivered(evening.mails, evening.received()))
        promise = f"each mail once, to {len(everybody())} players"
        yield Verdict("mailboxes", promise, sum(evening.mails.values()), "mails", problems)
