"""Load missing rows for readers. If several readers miss a row, one of them loads it."""

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
    """Load the rows that readers miss, or wait until another reader has loaded them.

    Args:
        store: calls the server.
        loader: calls the source.
        notifier: reports rows that other readers have loaded.
    """

    def __init__(self, store: AsyncRowStore, loader: AsyncLoader, notifier: Notifier) -> None:
        self._store = store
        self._loader = loader
        self._notifier = notifier

    async def fill(
        self, wanted: Mapping[str, CachedCopy | None], max_age_ms: int | None, deadline: Deadline
    ) -> tuple[dict[str, CachedRow], dict[str, str]]:
        """Get missing rows: load them, or wait until another reader has loaded them.

        Args:
            wanted: row → the cached copy that the reader does not accept; None: not cached.
            max_age_ms: age up to which the reader accepts a copy; None: any age.
            deadline: when to stop waiting.

        Returns:
            The rows; and for each row that could not be loaded, the reason.
        """
        pending = _PendingRows(self._store, dict(wanted), max_age_ms)
        await self._load_or_wait(pending, deadline)
        if not pending.copies:
            return pending.rows, pending.failures
        flag = Event()
        load_events = await self._store.load_events(pending.copies)
        with self._notifier.follow(load_events, flag):
            while pending.copies:
                flag.clear()
                pending.accept(await self._store.get(list(pending.copies)))
                if not pending.copies:
                    break
                wait_s = await self._load_or_wait(pending, deadline)
                if deadline.passed:
                    pending.give_up("other processes have been loading it for too long")
                if pending.copies:
                    pause_s = min(max(wait_s, _SHORTEST_WAIT_S), RECHECK_S, deadline.left_s())
                    await flag.wait(pause_s)
        return pending.rows, pending.failures

    async def _load_or_wait(self, pending: _PendingRows, deadline: Deadline) -> float:
        """Claim the pending rows, and load those that no other process loads.

        Return the seconds until another claim may succeed.
        """
        seen = {member: copy.read_ms if copy else 0 for member, copy in pending.copies.items()}
        asked_at = since_boot()
        claimed = await self._claim(pending, seen)
        if mine := _to_load(claimed):
            await self._load(pending, claimed, mine, asked_at, deadline)
        waits_s = [RECHECK_S]
        for one in claimed:
            pending.note_request(one.answers, int(one.lease.read_ms))
            for member, (verb, rest) in one.answers.items():
                if verb == "failed":
                    pending.fail(member, rest)
                elif verb == "wait":
                    waits_s.append(int(rest) / 1000)
                elif verb == "newer":
                    waits_s.append(_SHORTEST_WAIT_S)
        return min(waits_s)

    async def _claim(self, pending: _PendingRows, seen: Mapping[str, int]) -> list[MissingRows]:
        """Lease the pending rows that no other process loads.

        If the reader is cancelled meanwhile, give the leases back, because otherwise other readers
        would wait until they end.
        """

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
            if pending.claimed:  # the reader was cancelled after the reply had arrived
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
            # Do not blame the source if the reader's timeout was shorter than a lease.
            source_error = "" if loaded.timed_out and seconds < lease_s else loaded.source_error
            committed = await self._commit(claimed, loaded.results, source_error)
        except HoldfastError:
            raise  # the server is unavailable, so releasing the leases would fail, too
        except BaseException:  # the reader was cancelled: release the leases for other readers
            await shielded(self._give_back(claimed, mine))
            raise
        age_s = since_boot() - asked_at
        for member, result in loaded.results.items():
            if result.verb in "=-":
                pending.found(member, result, age_s, kept=committed.digits[member] in "12")
            elif why := result.why or loaded.source_error:
                pending.fail(member, why)  # a row without a reason was not tried, so it is pending

    async def _commit(
        self, claimed: list[MissingRows], results: Mapping[str, LoadResult], source_error: str
    ) -> CommitReply:
        leases = [
            (one.lease, {member: results[member] for member in one.answers if member in results})
            for one in claimed
        ]
        return await self._store.commit(leases, source_error)

    async def _give_back(self, claimed: list[MissingRows], mine: list[str]) -> bool:
        """Release the leases of the rows *mine*, which were not loaded.

        Return False if the server did not confirm it.
        """
        try:
            await self._commit(claimed, dict.fromkeys(mine, NOT_TRIED), "")
        except HoldfastError:
            return False  # the leases end by themselves
        return True


def _to_load(claimed: Iterable[MissingRows]) -> list[str]:
    """Return the rows that are leased to this reader."""
    return [m for one in claimed for m, (verb, _) in one.answers.items() if verb == "load"]


class _PendingRows:
    """Collect the rows that one reader waits for.

    Attributes:
        copies: missing row → the cached copy that the reader does not accept; None: not cached.
        rows: rows for the reader.
        failures: row that cannot be loaded → reason.
        claimed: replies to the latest claim.
        is_over: whether the reader was cancelled.
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

    def note_request(self, members: Iterable[str], now_ms: int) -> None:
        """Store *now_ms* (server time) as the time when the reader requested *members*.

        A repeated request does not change the time.
        """
        for member in members:
            self._asked_ms.setdefault(member, now_ms)

    def accept(self, copies: Mapping[str, CachedCopy]) -> None:
        """Give the reader those of *copies* that it accepts.

        Use the age that they had when the reader requested the row. Otherwise, after a slow load,
        each waiting reader would find the row too old and load it again.
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
        """Give the reader a row that it has loaded itself.

        Args:
            member: the row.
            result: result of the load.
            age_s: seconds since the load began.
            kept: whether the server stored the row; False if it was invalidated meanwhile.
        """
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
        """Give the reader the cached copy of a row that cannot be loaded, marked as stale.

        Without a usable copy, add the row and the reason *why* to `failures`.
        """
        copy = self.copies[member]
        if copy is not None and copy.is_usable:
            self._show(member, copy)
        else:
            self.failures[member] = why
            del self.copies[member]

    def give_up(self, why: str) -> None:
        """Treat all missing rows as rows that cannot be loaded."""
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
