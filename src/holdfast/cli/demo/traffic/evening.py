"""An evening in Fake Game: players open pages, look for guild mates and write to them.

What everybody did is noted here as well, in plain Python. At the end the server has to have the
same: the counters in each precision, the completions for each prefix, the mail of each player.
"""

from __future__ import annotations

import random
import secrets
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any, Final

from .... import CounterBuffer, Holdfast, OutcomeUnknown
from ..patience import insist
from .check import Counts, misdelivered, misfound, missed
from .names import PREFIXES, everybody

PAGES: Final = ("/", "/market", "/guild", "/map", "/shop")
WEIGHTS: Final = (8, 5, 4, 2, 1)
MOST_HITS: Final = 40
"""That a player's page causes at once: it loads what belongs to it."""

READS: Final = 0.5
"""So often somebody reads what came, for each time that somebody writes."""

THINKS_S: Final = 0.02
KEEP: Final = 120
PRECISIONS: Final = (1, 5, 60, 300, 3600, 18_000, 86_400)
EVERYBODY: Final = 1_000
GUILD: Final = "3"


@dataclass(frozen=True, slots=True)
class Look:
    """What somebody typed, and the names below the line."""

    player: str
    typed: str
    found: tuple[str, ...]


class Evening:
    """Players at play, from `start` to `stop`.

    Args:
        hf: their client.
        example: the module `guild.py`.
        players: how many threads of players there are.
        seed: of what they do.
        thinks_s: how long a player thinks before the next page.
        keep: samples of each precision that are compared in the end, 1,000 at most.

    Attributes:
        looks: the latest searches, the last one at the end.
        searches: how many there were.
        mails: how many were sent, by receiver.
        refused: how many were refused, because nobody in the guild has the name.
        members: who is in the guild.
        hits: what was counted, by page.
        failures: of the players' threads.
    """

    def __init__(
        self,
        hf: Holdfast,
        example: ModuleType,
        *,
        players: int,
        seed: int,
        thinks_s: float = THINKS_S,
        keep: int = KEEP,
    ) -> None:
        self.looks: deque[Look] = deque(maxlen=6)
        self.searches = 0
        self.refused = 0
        self.mails: Counter[str] = Counter()
        self.hits: Counter[str] = Counter()
        self.members: set[str] = set()
        self.failures: list[Exception] = []
        self._hf = hf
        self._example = example
        self._guild = example.Guild(hf, GUILD)
        self._thinks_s = thinks_s
        self._keep = keep
        self._dice = random.Random(seed)
        self._guard = threading.Lock()  # of all that is noted here
        self._over = threading.Event()
        self._began_s = time.monotonic()
        self._buffer: CounterBuffer = hf.counter_buffer(flush_every=0.25)
        self._threads = [
            threading.Thread(target=self._play, args=(number, random.Random(f"{seed} {number}")))
            for number in range(players)
        ]

    def start(self) -> None:
        """A few found the guild; then all play."""
        for page in PAGES:
            self._hf.counter(page, precisions=PRECISIONS, keep=self._keep).add(1)
            self.hits[page] += 1
        for name in self._dice.sample(everybody(), 40):
            self._join(name)
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Let everybody finish, and count what has come together. Idempotent."""
        self._over.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()
        self._buffer.close()

    def problems(self) -> Iterator[str]:
        """What the server has otherwise than it was noted here, in sentences; after the end."""
        yield from (f"a player failed: {error}" for error in self.failures)
        yield from missed(self.hits, self.counted())
        yield from misfound(self.members, self.found())
        yield from misdelivered(self.mails, self.received())

    @property
    def reaching(self) -> list[int]:
        """Precisions whose samples reach back to when it began."""
        lasted_s = time.monotonic() - self._began_s
        return [precision for precision in PRECISIONS if precision * self._keep > lasted_s]

    def counted(self) -> Counts:
        """By page and precision, the sum of all samples of the server."""
        counters = {page: self._hf.counter(page) for page in self.hits}
        return {
            (page, precision): sum(sample.value for sample in counter.samples(precision))
            for page, counter in counters.items()
            for precision in self.reaching
        }

    def found(self) -> dict[str, list[str]]:
        """What the server finds, by prefix."""
        names = self._hf.completions(f"guild:{GUILD}")
        prefixes = sorted({*(name[:1] for name in everybody()), *PREFIXES})
        return {
            prefix: [match.name for match in names.search(prefix, limit=EVERYBODY)]
            for prefix in prefixes
        }

    def received(self) -> dict[str, int]:
        """How many mails everybody got, read and unread, those who got none included."""
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
                    self._at_the_gate(dice)
                self._look_for(player, dice)
        except Exception as error:  # noqa: BLE001  (whatever it is, it is told at the end)
            self.failures.append(error)

    def _at_the_gate(self, dice: random.Random) -> None:
        """Somebody comes, or goes."""
        name = dice.choice(everybody())
        with self._guard:  # so that what is noted is what the server was told last
            if name in self.members:
                insist(partial(self._guild.leave, name))
                self.members.remove(name)
            else:
                self._join(name)

    def _join(self, name: str) -> None:
        insist(partial(self._guild.join, name))
        self.members.add(name)

    def _look_for(self, player: str, dice: random.Random) -> None:
        """Type the beginning of a name, letter by letter, and write to whom that finds."""
        name = dice.choice(everybody())
        found: list[str] = []
        for end in range(1, dice.randint(2, 5)):
            found = insist(partial(self._guild.mates, name[:end]))
            with self._guard:
                self.searches += 1
                self.looks.append(Look(player, name[:end], tuple(found)))
        self._write(player, found[0] if found else name)
        if dice.random() < READS:
            self._read(dice.choice(everybody()))

    def _read(self, name: str) -> None:
        """Somebody reads the mail."""
        box = self._hf.mailbox(name)
        insist(lambda: box.ack(box.fetch()), anew=True)

    def _write(self, player: str, name: str) -> None:
        op_id = secrets.token_hex(8)

        def write() -> None:
            try:
                self._guild.write(player, name, "raid at eight", op_id=op_id)
            except OutcomeUnknown as error:
                if error.op_id != op_id:
                    raise
                insist(error.repeat)  # only this: whether the name is a member, may have changed

        try:
            insist(write, anew=True)
        except self._example.NoSuchMate:
            with self._guard:
                self.refused += 1
        else:
            with self._guard:
                self.mails[name] += 1


def played(evening: Any, seconds: float, every_s: float) -> Iterator[float]:
    """Play for so long; yields the seconds so far, now and then."""
    evening.start()
    try:
        began_s = time.monotonic()
        while (elapsed_s := time.monotonic() - began_s) < seconds and not evening.failures:
            yield elapsed_s
            time.sleep(every_s)
    finally:
        evening.stop()
