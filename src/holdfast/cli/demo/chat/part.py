"""Fake Garage as a part of the world: phones in tunnels, in processes that are killed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, ClassVar, Final

from ..examples import example_file, load_example
from ..world.ground import NAMESPACE, Ground
from ..world.part import Part, Verdict, until

PHONES: Final = 12


class Phones(Part):
    """A day of the garage that lasts as long as the world does.

    Its processes are killed by the day itself, whether anybody wants to check that or not.
    """

    name: ClassVar = "chats"

    def __init__(self, ground: Ground) -> None:
        super().__init__()
        self._ground = ground
        self._example = load_example(example_file("fakegarage/__init__.py"))

    def begin(self) -> None:
        """Let the day begin."""
        ground = self._ground
        day = self._example.Day.make(seed=ground.seed, clients=PHONES, seconds=ground.seconds)
        self._garage: Any = self._example.Garage(
            day,
            seed=ground.seed,
            server=ground.socket,
            folder=ground.room("phones"),
            namespace=NAMESPACE,
        )
        self.opened.callback(self._garage.end)
        self._garage.start()

    def look(self) -> None:
        """Kill and start processes, as the day has it."""
        self._garage.look()

    def told(self) -> str:
        """How far the day is."""
        written = self._garage.mailboxes.written + self._garage.chats.written
        delivered = self._garage.mailboxes.delivered + self._garage.chats.delivered
        tunnels = sum(account.tunnels for account in self._garage.accounts.values())
        cut = f"{tunnels:,} tunnels, {self._garage.kills} kills"
        return f"{written:,} messages, {delivered:,} deliveries, {cut}"

    def pids(self) -> Mapping[str, int]:
        """Its processes at the moment, by name."""
        pids: dict[str, int] = self._garage.pids()
        return pids

    def finish(self) -> Iterator[None]:
        """Wait until everybody has everything."""
        yield from until(lambda: not self._garage.look())

    def verdicts(self) -> Iterator[Verdict]:
        """From what all phones have on disk."""
        self.end()
        garage = self._garage
        mailboxes, chats = garage.mailboxes, garage.chats
        problems = tuple(garage.problems())
        promise = "every message, in one order, to every reader"
        delivered = mailboxes.delivered + chats.delivered
        yield Verdict("messages", promise, delivered, "deliveries", problems)
        yield sent_once(garage.accounts)


def sent_once(accounts: Any) -> Verdict:
    """Whether what was sent again, for want of an answer, is there once.

    Each message has a name of its own, under which its writer sent it until an answer came.
    """
    problems = []
    for account in accounts.values():
        for source, got in account.got.items():
            copies = Counter(note.id for note in got.values())
            doubled = sorted(each for each, count in copies.items() if count > 1)
            problems += [
                f"{account.user} has {each} of {source} more than once" for each in doubled
            ]
    unsure = sum(account.unsure for account in accounts.values())
    done = len(list(chain.from_iterable(account.done for account in accounts.values())))
    what = f"writes, {unsure:,} without an answer"
    return Verdict("every write", "applied exactly once", done, what, tuple(problems))
