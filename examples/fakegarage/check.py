"""Whether every phone has every message: from what the phones have on disk, and nothing else.

The phones that write know which number each of their messages got, and those that read know which
numbers they were given. If nothing is lost, what was written to a chat is 1, 2, 3 … without a
hole, and every reader has all of that, except what it wrote itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from .account import Account
from .day import Act, Day

NAMED = 3  # things that a sentence names

Accounts = Mapping[str, Account]


@dataclass(frozen=True, slots=True)
class Count:
    """How far the day is, in all mailboxes or in all chats.

    Attributes:
        to_write: messages of the whole day.
        written: those that their writers know to be sent.
        to_deliver: the same messages, counted once for each reader who did not write them.
        delivered: those that are on disk there.
    """

    to_write: int
    written: int
    to_deliver: int
    delivered: int

    @property
    def complete(self) -> bool:
        """Return whether nothing is left to do."""
        return (self.written, self.delivered) == (self.to_write, self.to_deliver)


def count(day: Day, accounts: Accounts, *, chats: bool) -> Count:
    """Return how far the chats, or the mailboxes, are."""
    to_write = written = to_deliver = delivered = 0
    for source, acts in day.written.items():
        if (source in day.acts) is chats:  # a user's name is a mailbox
            continue
        to_write += len(acts)
        written += sum(act.id in accounts[act.user].done for act in acts)
        for reader in day.readers[source]:
            to_deliver += sum(act.user != reader for act in acts)
            got = accounts[reader].got.get(source, {})
            delivered += sum(note.sender != reader for note in got.values())
    return Count(to_write, written, to_deliver, delivered)


def problems(day: Day, accounts: Accounts) -> Iterator[str]:
    """Yield what is wrong, in sentences."""
    for user, account in accounts.items():
        yield from account.problems
        if undone := [act.id for act in day.acts[user] if act.id not in account.done]:
            yield f"{user} did not come to do {_some(undone)}"
    for source, acts in day.written.items():
        numbered = [(accounts[act.user].done.get(act.id), act) for act in acts]
        messages = {seq: act for seq, act in numbered if seq is not None}
        if messages.keys() != set(range(1, len(acts) + 1)):
            yield f"{source} has {len(acts)} messages, and their numbers are not 1 to {len(acts)}"
        for reader in day.readers[source]:
            yield from _of_reader(accounts[reader], source, messages)


def _of_reader(account: Account, source: str, messages: Mapping[int, Act]) -> Iterator[str]:
    user, got = account.user, account.got.get(source, {})
    missing = {seq for seq, act in messages.items() if act.user != user} - got.keys()
    if missing:
        yield f"{user} does not have number {_some(sorted(missing))} of {source}"
    for seq, note in got.items():
        act = messages.get(seq)
        if act is None:
            yield f"{user} has number {seq} of {source}, which no user has written"
        elif note != (act.user, act.id, act.text):
            yield f"{user} has something else as number {seq} of {source}"


def _some(things: Iterable[object]) -> str:
    names = list(map(str, things))
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" * (len(names) > NAMED))
