# Generated from _async/read_through.py by tools/unasync.py: edit that, then run `make sync`.
"""Reads through: what the cache does not have is loaded, by one for all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from ...core.clock import Deadline, since_boot
from ...core.codec import decoded
from ...core.concurrency._sync.waiting import Event, seen_through
from ...core.notifier import RECHECK_S, Notifier
from ...errors import DecodeError, HoldfastError
from ..row import CachedRow, Copy, State, named
from ..shard import Committed, Taken
from ..source import NOT_TRIED, Verdict
from .loader import Loader
from .row_store import Shelf

_SHORTEST_WAIT_S: Final = 0.01


class Misses:
    """Fills in what readers miss.

    Args:
        shelf: where the rows lie.
        loader: asks the source.
        bell: how those who wait hear of rows.
    """

    def __init__(self, shelf: Shelf, loader: Loader, notifier: Notifier) -> None:
        self._shelf = shelf
        self._loader = loader
        self._notifier = notifier

    def fill(
        self, wanted: Mapping[str, Copy | None], max_age_ms: int | None, deadline: Deadline
    ) -> tuple[dict[str, CachedRow], dict[str, str]]:
        """Rows that are loaded here, or elsewhere meanwhile; and why others are not there.

        Args:
            wanted: row → the copy that does not serve, if there is one.
            max_age_ms: how old a copy may be that serves.
            deadline: until when to wait.
        """
        search = _Search(self._shelf, dict(wanted), max_age_ms)
        self._turn(search, deadline)
        if not search.copies:
            return search.rows, search.failures
        flag = Event()
        arrivals = self._shelf.arrivals(search.copies)
        with self._notifier.follows(arrivals, flag):
            while search.copies:
                flag.clear()
                search.see(self._shelf.get(list(search.copies)))
                if not search.copies:
                    break
                ends_s = self._turn(search, deadline)
                if deadline.passed:
                    search.give_up("others have been loading it for too long")
                if search.copies:
                    pause_s = min(max(ends_s, _SHORTEST_WAIT_S), RECHECK_S, deadline.left_s())
                    flag.wait(pause_s)
        return search.rows, search.failures

    def _turn(self, search: _Search, deadline: Deadline) -> float:
        """Load what nobody else loads; seconds until it is worth looking again."""
        seen = {member: copy.read_ms if copy else 0 for member, copy in search.copies.items()}
        asked_at = since_boot()
        taken = self._take(search, seen)
        if mine := _to_load(taken):
            self._load(search, taken, mine, asked_at, deadline)
        waits_s = [RECHECK_S]
        for one in taken:
            search.asked(one.words, int(one.lease.read_ms))
            for member, (verb, rest) in one.words.items():
                if verb == "failed":
                    search.fail(member, rest)
                elif verb == "wait":
                    waits_s.append(int(rest) / 1000)
                elif verb == "look":
                    waits_s.append(_SHORTEST_WAIT_S)
        return min(waits_s)

    def _take(self, search: _Search, seen: Mapping[str, int]) -> list[Taken]:
        """Lease what nobody else loads. It is given back if its reader is cancelled meanwhile, or
        others would wait until the lease ends."""

        def take() -> list[Taken]:
            search.taken = self._shelf.take(seen)
            if search.is_over:
                self._give_back(search.taken, _to_load(search.taken))
            return search.taken

        search.taken = []
        try:
            return seen_through(take())
        except BaseException:
            search.is_over = True
            if search.taken:  # it was cancelled as the answer came
                seen_through(self._give_back(search.taken, _to_load(search.taken)))
            raise

    def _load(
        self,
        search: _Search,
        taken: list[Taken],
        mine: list[str],
        asked_at: float,
        deadline: Deadline,
    ) -> None:
        lease_s = self._shelf.terms.lease_ms / 1000
        seconds = min(deadline.left_s(), lease_s)
        try:
            loaded = self._loader.load(mine, seconds)
            # A reader in a hurry is no proof that the source does not answer.
            trouble = "" if loaded.late and seconds < lease_s else loaded.trouble
            committed = self._commit(taken, loaded.verdicts, trouble)
        except HoldfastError:
            raise  # nobody is there to be told
        except BaseException:  # cancelled: others need not wait until the lease ends
            seen_through(self._give_back(taken, mine))
            raise
        age_s = since_boot() - asked_at
        for member, verdict in loaded.verdicts.items():
            if verdict.verb in "=-":
                search.found(member, verdict, age_s, kept=committed.digits[member] in "12")
            elif why := verdict.why or loaded.trouble:
                search.fail(member, why)  # else it was not tried yet: at the next turn

    def _commit(
        self, taken: list[Taken], verdicts: Mapping[str, Verdict], trouble: str
    ) -> Committed:
        leases = [
            (one.lease, {member: verdicts[member] for member in one.words if member in verdicts})
            for one in taken
        ]
        return self._shelf.commit(leases, trouble)

    def _give_back(self, taken: list[Taken], mine: list[str]) -> bool:
        """Let others load what is not loaded here after all; whether they know."""
        try:
            self._commit(taken, dict.fromkeys(mine, NOT_TRIED), "")
        except HoldfastError:
            return False  # then the lease has to end by itself
        return True


def _to_load(taken: Iterable[Taken]) -> list[str]:
    """The rows that are leased to who asked."""
    return [m for one in taken for m, (verb, _) in one.words.items() if verb == "load"]


class _Search:
    """What a reader looks for, and what it has got.

    Attributes:
        copies: rows that are still missing, each with the copy that does not serve.
        rows: those that it has got.
        failures: why others cannot be got.
        taken: what was leased for it at last.
        is_over: its reader was cancelled.
    """

    def __init__(
        self, shelf: Shelf, copies: dict[str, Copy | None], max_age_ms: int | None
    ) -> None:
        self.copies = copies
        self.rows: dict[str, CachedRow] = {}
        self.failures: dict[str, str] = {}
        self.taken: list[Taken] = []
        self.is_over = False
        self._asked_ms: dict[str, int] = {}
        self._terms = shelf.terms
        self._name = shelf.name
        self._max_age_ms = max_age_ms

    def asked(self, members: Iterable[str], now_ms: int) -> None:
        """Note when rows were asked for, by the clock of their server, unless it is known."""
        for member in members:
            self._asked_ms.setdefault(member, now_ms)

    def see(self, copies: Mapping[str, Copy]) -> None:
        """Take what serves of what the cache has now.

        How long it was waited for is not held against it: else each waiter would load it in turn.
        """
        for member in list(self.copies):
            copy = copies.get(member)
            if copy is not None:
                copy = copy.awaited(self._asked_ms[member])
            if copy is not None and copy.serves(self._max_age_ms):
                self._show(member, copy)
            else:
                self.copies[member] = copy

    def found(self, member: str, verdict: Verdict, age_s: float, *, kept: bool) -> None:
        """It was loaded here, at most *age_s* ago; and kept, unless somebody invalidated it."""
        value: Any = None
        state: State = "absent" if kept else "uncached"
        if verdict.verb == "=":
            value = decoded(self._terms.codec, verdict.body, self._terms.into, self._what(member))
            state = "fresh" if kept else "uncached"
        self.rows[member] = CachedRow(value, round(age_s, 3), state)
        del self.copies[member]

    def fail(self, member: str, why: str) -> None:
        """It cannot be loaded: an older copy has to do, if there is one."""
        copy = self.copies[member]
        if copy is not None and copy.is_usable:
            self._show(member, copy)
        else:
            self.failures[member] = why
            del self.copies[member]

    def give_up(self, why: str) -> None:
        """There is no time left for what is missing."""
        for member in list(self.copies):
            self.fail(member, why)

    def _show(self, member: str, copy: Copy) -> None:
        terms = self._terms
        try:
            self.rows[member] = copy.shown(terms.codec, terms.into, self._max_age_ms)
        except DecodeError as error:
            raise named(error, member, self._name) from error
        del self.copies[member]

    def _what(self, member: str) -> str:
        return f"row {member} of row cache {self._name!r}"
