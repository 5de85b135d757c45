"""Reads through: what the cache does not have is loaded, by one for all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from ...core.clock import Deadline, since_boot
from ...core.codec import decoded
from ...core.concurrency._async.cancellation import shielded
from ...core.concurrency._async.primitives import Event
from ...core.notifier import RECHECK_S, Notifier
from ...errors import DecodeError, HoldfastError
from ..row import CachedCopy, CachedRow, State, with_row_name
from ..shard import CommitReply, MissingRows
from ..source import NOT_TRIED, LoadResult
from .loader import AsyncLoader
from .row_store import AsyncRowStore

_SHORTEST_WAIT_S: Final = 0.01


class AsyncReadThrough:
    """Fills in what readers miss.

    Args:
        shelf: where the rows lie.
        loader: asks the source.
        bell: how those who wait hear of rows.
    """

    def __init__(self, store: AsyncRowStore, loader: AsyncLoader, notifier: Notifier) -> None:
        self._store = store
        self._loader = loader
        self._notifier = notifier

    async def fill(
        self, wanted: Mapping[str, CachedCopy | None], max_age_ms: int | None, deadline: Deadline
    ) -> tuple[dict[str, CachedRow], dict[str, str]]:
        """Rows that are loaded here, or elsewhere meanwhile; and why others are not there.

        Args:
            wanted: row → the copy that does not serve, if there is one.
            max_age_ms: how old a copy may be that serves.
            deadline: until when to wait.
        """
        pending = _PendingRows(self._store, dict(wanted), max_age_ms)
        await self._turn(pending, deadline)
        if not pending.copies:
            return pending.rows, pending.failures
        flag = Event()
        load_events = await self._store.load_events(pending.copies)
        with self._notifier.follow(load_events, flag):
            while pending.copies:
                flag.clear()
                pending.see(await self._store.get(list(pending.copies)))
                if not pending.copies:
                    break
                ends_s = await self._turn(pending, deadline)
                if deadline.passed:
                    pending.give_up("others have been loading it for too long")
                if pending.copies:
                    pause_s = min(max(ends_s, _SHORTEST_WAIT_S), RECHECK_S, deadline.left_s())
                    await flag.wait(pause_s)
        return pending.rows, pending.failures

    async def _turn(self, pending: _PendingRows, deadline: Deadline) -> float:
        """Load what nobody else loads; seconds until it is worth looking again."""
        seen = {member: copy.read_ms if copy else 0 for member, copy in pending.copies.items()}
        asked_at = since_boot()
        claimed = await self._claim(pending, seen)
        if mine := _to_load(claimed):
            await self._load(pending, claimed, mine, asked_at, deadline)
        waits_s = [RECHECK_S]
        for one in claimed:
            pending.asked(one.answers, int(one.lease.read_ms))
            for member, (verb, rest) in one.answers.items():
                if verb == "failed":
                    pending.fail(member, rest)
                elif verb == "wait":
                    waits_s.append(int(rest) / 1000)
                elif verb == "newer":
                    waits_s.append(_SHORTEST_WAIT_S)
        return min(waits_s)

    async def _claim(self, pending: _PendingRows, seen: Mapping[str, int]) -> list[MissingRows]:
        """Lease what nobody else loads. It is given back if its reader is cancelled meanwhile, or
        others would wait until the lease ends."""

        async def claim() -> list[MissingRows]:
            pending.claimed = await self._store.claim_missing(seen)
            if pending.is_over:
                await self._give_back(pending.claimed, _to_load(pending.claimed))
            return pending.claimed

        pending.claimed = []
        try:
            return await shielded(claim())
        except BaseException:
            pending.is_over = True
            if pending.claimed:  # it was cancelled as the answer came
                await shielded(self._give_back(pending.claimed, _to_load(pending.claimed)))
            raise

    async def _load(
        self,
        pending: _PendingRows,
        claimed: list[MissingRows],
        mine: list[str],
        asked_at: float,
        deadline: Deadline,
    ) -> None:
        lease_s = self._store.options.lease_ms / 1000
        seconds = min(deadline.left_s(), lease_s)
        try:
            loaded = await self._loader.load(mine, seconds)
            # A reader in a hurry is no proof that the source does not answer.
            source_error = "" if loaded.timed_out and seconds < lease_s else loaded.source_error
            committed = await self._commit(claimed, loaded.results, source_error)
        except HoldfastError:
            raise  # nobody is there to be told
        except BaseException:  # cancelled: others need not wait until the lease ends
            await shielded(self._give_back(claimed, mine))
            raise
        age_s = since_boot() - asked_at
        for member, result in loaded.results.items():
            if result.verb in "=-":
                pending.found(member, result, age_s, kept=committed.digits[member] in "12")
            elif why := result.why or loaded.source_error:
                pending.fail(member, why)  # else it was not tried yet: at the next turn

    async def _commit(
        self, claimed: list[MissingRows], results: Mapping[str, LoadResult], source_error: str
    ) -> CommitReply:
        leases = [
            (one.lease, {member: results[member] for member in one.answers if member in results})
            for one in claimed
        ]
        return await self._store.commit(leases, source_error)

    async def _give_back(self, claimed: list[MissingRows], mine: list[str]) -> bool:
        """Let others load what is not loaded here after all; whether they know."""
        try:
            await self._commit(claimed, dict.fromkeys(mine, NOT_TRIED), "")
        except HoldfastError:
            return False  # then the lease has to end by itself
        return True


def _to_load(claimed: Iterable[MissingRows]) -> list[str]:
    """The rows that are leased to who asked."""
    return [m for one in claimed for m, (verb, _) in one.answers.items() if verb == "load"]


class _PendingRows:
    """What a reader looks for, and what it has got.

    Attributes:
        copies: rows that are still missing, each with the copy that does not serve.
        rows: those that it has got.
        failures: why others cannot be got.
        taken: what was leased for it at last.
        is_over: its reader was cancelled.
    """

    def __init__(
        self, store: AsyncRowStore, copies: dict[str, CachedCopy | None], max_age_ms: int | None
    ) -> None:
        self.copies = copies
        self.rows: dict[str, CachedRow] = {}
        self.failures: dict[str, str] = {}
        self.claimed: list[MissingRows] = []
        self.is_over = False
        self._asked_ms: dict[str, int] = {}
        self._options = store.options
        self._name = store.name
        self._max_age_ms = max_age_ms

    def asked(self, members: Iterable[str], now_ms: int) -> None:
        """Note when rows were asked for, by the clock of their server, unless it is known."""
        for member in members:
            self._asked_ms.setdefault(member, now_ms)

    def see(self, copies: Mapping[str, CachedCopy]) -> None:
        """Take what serves of what the cache has now.

        How long it was waited for is not held against it: else each waiter would load it in turn.
        """
        for member in list(self.copies):
            copy = copies.get(member)
            if copy is not None:
                copy = copy.as_seen_by_waiter(self._asked_ms[member])
            if copy is not None and copy.serves(self._max_age_ms):
                self._show(member, copy)
            else:
                self.copies[member] = copy

    def found(self, member: str, result: LoadResult, age_s: float, *, kept: bool) -> None:
        """It was loaded here, at most *age_s* ago; and kept, unless somebody invalidated it."""
        value: Any = None
        state: State = "absent" if kept else "uncached"
        if result.verb == "=":
            value = decoded(
                self._options.codec, result.body, self._options.into, self._what(member)
            )
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

    def _show(self, member: str, copy: CachedCopy) -> None:
        options = self._options
        try:
            self.rows[member] = copy.for_reader(options.codec, options.into, self._max_age_ms)
        except DecodeError as error:
            raise with_row_name(error, member, self._name) from error
        del self.copies[member]

    def _what(self, member: str) -> str:
        return f"row {member} of row cache {self._name!r}"
