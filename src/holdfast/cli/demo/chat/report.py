"""What the demo says at the end."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Row:
    """Messages of one kind.

    Attributes:
        places: mailboxes or chats.
        to_write: messages of the day.
        written: of these, those that their writers know to be sent.
        to_deliver: messages of the day, once for each reader who did not write them.
        delivered: of these, those that are there.
    """

    places: int
    to_write: int
    written: int
    to_deliver: int
    delivered: int


@dataclass(frozen=True, slots=True)
class Report:
    """What came of a day.

    Attributes:
        seconds: from its beginning until everybody had everything.
        tunnels: how often a phone had no signal.
        kills: how often a process of phones was killed.
        unsure: how often a writer did not know whether something was sent.
        repeats: how often a reader was given what it had already.
        wait_median_s: from the sending of a message to when it was with a reader; None: there
            was none.
        wait_most_s: nine of ten were faster.
        problems: sentences; none when nothing was lost.
        folder: of what the phones have on disk; it is kept if there are problems.
    """

    seed: int
    clients: int
    processes: int
    seconds: float
    mailboxes: Row
    chats: Row
    tunnels: int
    kills: int
    unsure: int
    repeats: int
    wait_median_s: float | None
    wait_most_s: float | None
    problems: tuple[str, ...]
    folder: str

    @classmethod
    def of(cls, garage: Any, *, seed: int, folder: Path) -> Self:
        """The report on a day of the example that is over."""
        day, accounts = garage.day, garage.accounts.values()
        waits = [wait for account in accounts for wait in account.waits_s]
        return cls(
            seed=seed,
            clients=len(day.users),
            processes=len(day.processes),
            seconds=garage.elapsed_s,
            mailboxes=Row(len(day.users), **asdict(garage.mailboxes)),
            chats=Row(len(day.readers) - len(day.users), **asdict(garage.chats)),
            tunnels=sum(account.tunnels for account in accounts),
            kills=garage.kills,
            unsure=sum(account.unsure for account in accounts),
            repeats=sum(account.repeats for account in accounts),
            wait_median_s=round(median(waits), 4) if waits else None,
            wait_most_s=round(quantiles(waits, n=10)[-1], 4) if len(waits) > 1 else None,
            problems=tuple(garage.problems()),
            folder=str(folder),
        )

    def as_json(self) -> dict[str, Any]:
        """For scripts."""
        fields = asdict(self)
        if not self.problems:
            del fields["folder"]
        return {"ok": not self.problems, **fields}
