"""Simulate the players of Fake Game.

The players record their actions in plain Python objects. The demo compares the records with what
the server returns.
"""

from __future__ import annotations

import random
import secrets
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from holdfast import CounterBuffer, Holdfast, OutcomeUnknown

from .example_files import example
from .guild_names import PREFIXES, everybody, starting
from .retries import retried

PAGES: Final = ("/", "/market", "/guild", "/map", "/shop")
WEIGHTS: Final = (8, 5, 4, 2, 1)
MOST_HITS: Final = 40
"""Maximum number of hits of one page view, as a page loads other files."""

READS: Final = 0.5
"""Number of mails that are read for each mail that is written."""

PRECISIONS: Final = (1, 5, 60, 300, 3600, 18_000, 86_400)
GUILD: Final = "3"
FOUNDERS: Final = 40
MOST_FOUND: Final = 1_000

Counts = dict[tuple[str, int], int]
"""(page, precision) → number of hits."""


@dataclass(frozen=True, slots=True)
class NameSearch:
    """Hold what a player typed, and the names that were found."""

    player: str
    typed: str
    found: tuple[str, ...]


class Players:
    """Run a thread for each player from `start` to `stop`.

    Args:
        hf: client of all players.
        count: number of players.
        seed: seed of all random choices.
        thinks_s: seconds between two pages of a player.
        samples: number of samples of each precision that are kept, at most 1,000.

    Attributes:
        searches: the latest searches.
        searched: number of searches.
        mails: receiver → number of mails that were sent.
        refused: number of mails that were refused because the receiver was no member.
        members: current members of the guild.
        hits: page → number of hits.
        failures: exceptions that ended threads.
    """

    def __init__(
        self, hf: Holdfast, *, count: int, seed: int, thinks_s: float, samples: int
    ) -> None:
        self.searches: deque[NameSearch] = deque(maxlen=6)
        self.searched = 0
        self.refused = 0
        self.mails: Counter[str] = Counter()
        self.hits: Counter[str] = Counter()
        self.members: set[str] = set()
        self.failures: list[Exception] = []
        self._hf = hf
        self._example = example("guild.py")
        self._guild = self._example.Guild(hf, GUILD)
        self._thinks_s = thinks_s
        self._samples = samples
        self._dice = random.Random(seed)
        self._guard = threading.Lock()  # protects the records
        self._over = threading.Event()
        self._began_s = time.monotonic()
        self._buffer: CounterBuffer = hf.counter_buffer(flush_every=0.25)
        self._threads = [
            threading.Thread(target=self._play, args=(number, random.Random(f"{seed} {number}")))
            for number in range(count)
        ]

    def start(self) -> None:
        """Create the guild and start the threads."""
        for page in PAGES:
            self._hf.counter(page, precisions=PRECISIONS, keep=self._samples).add(1)
            self.hits[page] += 1
        for name in self._dice.sample(everybody(), FOUNDERS):
            self._join(name)
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Wait until all threads have ended, and flush the buffer. Idempotent."""
        self._over.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()
        self._buffer.close()

    @property
    def reaching(self) -> list[int]:
        """Return the precisions for which the kept samples cover the whole run."""
        lasted_s = time.monotonic() - self._began_s
        return [precision for precision in PRECISIONS if precision * self._samples > lasted_s]

    def counted(self) -> Counts:
        """Return the sums of all samples on the server, for the precisions `reaching`."""
        counters = {page: self._hf.counter(page) for page in self.hits}
        return {
            (page, precision): sum(sample.value for sample in counter.samples(precision))
            for page, counter in counters.items()
            for precision in self.reaching
        }

    def found(self) -> dict[str, list[str]]:
        """Return prefix → the names that the server finds."""
        names = self._hf.completions(f"guild:{GUILD}")
        prefixes = sorted({*(name[:1] for name in everybody()), *PREFIXES})
        return {
            prefix: [match.name for match in names.search(prefix, limit=MOST_FOUND)]
            for prefix in prefixes
        }

    def received(self) -> dict[str, int]:
        """Return name → number of mails in the mailbox, read and unread."""
        boxes = {name: self._hf.mailbox(name).status() for name in everybody()}
        return {name: box.read_seq + box.unread for name, box in boxes.items()}

    def _play(self, number: int, dice: random.Random) -> None:
        player = f"player {number + 1}"
        try:
            while not self._over.wait(self._thinks_s):
                page, hits = dice.choices(PAGES, WEIGHTS)[0], dice.randint(1, MOST_HITS)
                for _ in range(hits):
                    self._buffer.add(page)
                with self._guard:
                    self.hits[page] += hits
                if page == "/guild":
                    self._change_members(dice)
                self._search(player, dice)
        except Exception as error:  # noqa: BLE001  (the demo raises it)
            self.failures.append(error)

    def _change_members(self, dice: random.Random) -> None:
        """Let a random player join the guild, or leave it."""
        name = dice.choice(everybody())
        with self._guard:  # so that the records have the order of the calls
            if name in self.members:
                retried(partial(self._guild.leave, name))
                self.members.remove(name)
            else:
                self._join(name)

    def _join(self, name: str) -> None:
        retried(partial(self._guild.join, name))
        self.members.add(name)

    def _search(self, player: str, dice: random.Random) -> None:
        """Type the beginning of a name, letter by letter. Write to the first match, and sometimes
        read a mailbox."""
        name = dice.choice(everybody())
        found: list[str] = []
        for end in range(1, dice.randint(2, 5)):
            found = retried(partial(self._guild.mates, name[:end]))
            with self._guard:
                self.searched += 1
                self.searches.append(NameSearch(player, name[:end], tuple(found)))
        self._write(player, found[0] if found else name)
        if dice.random() < READS:
            box = self._hf.mailbox(dice.choice(everybody()))
            retried(lambda: box.ack(box.fetch()), whole=True)

    def _write(self, player: str, name: str) -> None:
        op_id = secrets.token_hex(8)

        def write() -> None:
            try:
                self._guild.write(player, name, "raid at eight", op_id=op_id)
            except OutcomeUnknown as error:
                if error.op_id != op_id:
                    raise
                retried(error.repeat)  # not the check: the receiver may have left meanwhile

        try:
            retried(write, whole=True)
        except self._example.NoSuchMate:
            with self._guard:
                self.refused += 1
        else:
            with self._guard:
                self.mails[name] += 1


def missed(hits: Mapping[str, int], counted: Counts) -> Iterator[str]:
    """Yield a sentence for each count on the server that differs from the recorded hits."""
    for (page, precision), count in counted.items():
        if count != hits[page]:
            yield f"{page} had {hits[page]:,} hits; in samples of {precision} s are {count:,}"


def misfound(members: set[str], found: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield a sentence for each prefix for which a search does not find exactly the members with a
    name that begins with it."""
    for prefix, names in found.items():
        if sorted(names) != sorted(starting(members, prefix)):
            yield f"a search for {prefix!r} does not find exactly the members with this prefix"


def misdelivered(mails: Mapping[str, int], received: Mapping[str, int]) -> Iterator[str]:
    """Yield a sentence for each player with a number of mails that differs from the records."""
    for name, count in received.items():
        if count != mails.get(name, 0):
            yield f"{name} was sent {mails.get(name, 0):,} mails, and has {count:,}"
