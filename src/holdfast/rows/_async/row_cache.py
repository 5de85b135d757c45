"""The row cache, as readers, writers and refreshers use it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from ...core._async.caller import AsyncCaller
from ...core._async.catalog import AsyncCatalog
from ...core.clock import Deadline, Duration, to_seconds, to_timeout_s
from ...core.concurrency._async.user_calls import can_call
from ...core.ledger import partly
from ...core.names import Namespace
from ...core.notifier import Notifier
from ...errors import DecodeError, LoadFailed, ServerUnavailable
from .. import keys
from ..commit_hook import CommitHook
from ..options import MAX_BATCH, RowCacheOptions, checked_every, checked_limit
from ..report import RefreshReport, RowCacheStatus, RowExplanation, explanation
from ..row import UNCACHED, CachedCopy, CachedRow, with_row_name
from ..row_ids import RowId, id_of, member_of
from ..source import RowSource
from ..sql import SqlRows
from .loader import AsyncLoader
from .read_through import AsyncReadThrough
from .refresher import AsyncRefresher
from .row_store import AsyncRowStore


class AsyncRowCache:
    """Rows of a database, kept fresh in the server, each with its own period.

    Made by `AsyncHoldfast.row_cache`. One object serves all threads, or all tasks of an event loop.

    Attributes:
        name: name of the cache.
        source: source of the rows; None: this object only reads.
    """

    def __init__(
        self,
        caller: AsyncCaller,
        notifier: Notifier,
        catalog: AsyncCatalog,
        namespace: Namespace,
        name: str,
        *,
        source: RowSource | None,
        options: RowCacheOptions,
    ) -> None:
        self.name = name
        self.source = source
        self._caller = caller
        self._telemetry = caller.settings.telemetry
        self._unit = namespace.unit(keys.CACHE, name)
        self._store = store = AsyncRowStore(caller, catalog, namespace, name, options)
        self._read_through: AsyncReadThrough | None = None
        self._refresher: AsyncRefresher | None = None
        if source is not None:
            load = getattr(source, "load", None)
            if load is None or not can_call(load):
                raise TypeError(
                    f"the source of row cache {name!r} must have a method load(ids), and for "
                    f"Holdfast one that is not async; got {type(source).__name__}"
                )
            loader = AsyncLoader(self._unit, source, options.codec, self._telemetry)
            self._read_through = AsyncReadThrough(store, loader, notifier)
            self._refresher = AsyncRefresher(store, loader, notifier)

    def __repr__(self) -> str:
        return f"AsyncRowCache({self.name!r})"

    async def get(
        self, row_id: RowId, *, max_age: Duration | None = None, timeout: Duration | None = 10.0
    ) -> CachedRow:
        """Return a row; load it if the cache does not have it.

        If many readers miss a row at the same time, in any processes, one of them loads it. A
        scheduled row is returned as it is, fresh or stale: only refreshers load it again.

        Args:
            row_id: an int, a str, or a tuple of these.
            max_age: seconds: load the row again if the copy is older now. Without a source, or if
                the load fails, the older copy is returned as stale.
            timeout: seconds to wait for a row that is not cached; 0: do not load it, None: as long
                as others load it.

        Raises:
            LoadFailed: It is not cached and cannot be loaded in time.
            ServerUnavailable: The server does not answer.
            DecodeError: The codec of the cache did not write what is stored.
        """
        member, max_age_ms = member_of(row_id), _to_max_age_ms(max_age)
        deadline = _deadline(timeout)
        copy = await self._store.get_one(member)
        if copy is not None and copy.serves(max_age_ms):
            self._count(1, 0)
            return self._reader_row(member, copy, max_age_ms)
        self._count(0, 1)
        rows = await self._filled({member: copy}, max_age_ms, deadline)
        return rows[member]

    async def get_many(
        self,
        row_ids: Iterable[RowId],
        *,
        max_age: Duration | None = None,
        timeout: Duration | None = 10.0,
    ) -> dict[RowId, CachedRow]:
        """Return rows by their ids; load those that the cache does not have together. See `get`.

        Raises:
            LoadFailed: Some rows cannot be loaded; the others are in `error.rows`.
        """
        if isinstance(row_ids, str | bytes):
            raise TypeError("get_many takes several ids; for a single one use get")
        members = {member_of(row_id): row_id for row_id in row_ids}
        max_age_ms, deadline = _to_max_age_ms(max_age), _deadline(timeout)
        copies = await self._store.get(list(members))
        rows: dict[str, CachedRow] = {}
        missing: dict[str, CachedCopy | None] = {}
        codec, into = self._store.options.codec, self._store.options.into
        for member in members:
            copy = copies.get(member)
            if copy is None or not copy.serves(max_age_ms):
                missing[member] = copy
                continue
            try:
                rows[member] = copy.for_reader(codec, into, max_age_ms)
            except DecodeError as error:
                raise with_row_name(error, member, self.name) from error
        self._count(len(rows), len(missing))
        if not missing:
            return dict(zip(members.values(), rows.values(), strict=True))
        try:
            rows |= await self._filled(missing, max_age_ms, deadline)
        except LoadFailed as error:
            error.rows |= {members[member]: row for member, row in rows.items()}
            raise
        return {row_id: rows[member] for member, row_id in members.items()}

    async def schedule(self, row_id: RowId, *, every: Duration, op_id: str | None = None) -> None:
        """Refresh a row periodically, whether it is read or not.

        A new row is due at once. To schedule it again with the same period changes nothing.

        Args:
            row_id: an int, a str, or a tuple of these.
            every: seconds (or a timedelta), 0.01 to a year, give or take a tenth each time; 0 or
                less unschedules the row and drops its copy.
            op_id: see `OutcomeUnknown`.

        Raises:
            ValueError: *every* is not such a period.
        """
        await self.schedule_many({row_id: every}, op_id=op_id)

    async def schedule_many(
        self, periods: Mapping[RowId, Duration], *, op_id: str | None = None
    ) -> None:
        """Schedule rows: id → period. As `schedule`, hundreds in one step.

        Raises:
            OutcomeUnknown: Perhaps some are scheduled; `repeat()` schedules the others.
        """
        given = {member_of(row_id): checked_every(every) for row_id, every in periods.items()}
        kept = {member: every_ms for member, every_ms in given.items() if every_ms}
        dropped = [member for member, every_ms in given.items() if not every_ms]
        again = partial(self.schedule_many, periods)
        with self._caller.writers.operation(op_id, again, verb="schedule") as write:
            if kept:
                await self._store.schedule(kept, write)
            if dropped:
                try:
                    await self._store.unschedule(dropped, write)
                except ServerUnavailable as error:
                    if not kept:
                        raise
                    raise partly(error, f"{len(kept):,} rows are scheduled") from error

    async def unschedule(self, *row_ids: RowId, op_id: str | None = None) -> None:
        """End the refresh of rows, and drop their copies.

        Args:
            row_ids: ids of the rows.
            op_id: see `OutcomeUnknown`.
        """
        await self.schedule_many(dict.fromkeys(row_ids, 0.0), op_id=op_id)

    async def invalidate(self, *row_ids: RowId) -> None:
        """Drop the copies of rows that have changed; scheduled ones are due at once.

        Call it after the change is committed. A row that is stored after this call was read from
        the source after this call, even if a load was in progress. Harmless to repeat.

        Raises:
            ServerUnavailable: Old copies may still be there.
        """
        members = [member_of(row_id) for row_id in row_ids]
        if members:
            await self._store.invalidate(members)

    def invalidate_on_commit(self, sessions: Any) -> CommitHook:
        """Invalidate the rows that sessions of SQLAlchemy commit.

        Args:
            sessions: a `sessionmaker`, a `Session` class or object; for `AsyncHoldfast` an
                `async_sessionmaker` or an `AsyncSession`.

        Raises:
            TypeError: The source of this cache is not a `SqlRows`.
        """
        if not isinstance(self.source, SqlRows):
            raise TypeError(
                f"row cache {self.name!r} must have SqlRows as its source, which names the table "
                "and the key"
            )
        return CommitHook(self.invalidate, self.source, sessions)

    async def refresh_due(self, *, limit: int = MAX_BATCH) -> RefreshReport:
        """Refresh rows that are due now: one step of `run`.

        Args:
            limit: rows at most, 1 to 500.
        """
        return await self._required_refresher().step(checked_limit(limit))

    async def run(self) -> None:
        """Refresh rows when they are due, until `stop`. Any number of processes share the work.

        It continues after outages of the source and of the server.
        """
        await self._required_refresher().run()

    def stop(self) -> None:
        """Let `run` finish its batch and return. Any thread or signal handler may call it."""
        self._required_refresher().stop()

    async def explain(self, row_id: RowId) -> RowExplanation:
        """Return why a row is in its state: age, period, current load, failures."""
        member = member_of(row_id)
        try:
            return explanation(row_id, await self._store.explain(member))
        except DecodeError as error:
            raise with_row_name(error, member, self.name) from error

    async def scheduled(self, *, limit: int = 100) -> list[RowId]:
        """Return ids of scheduled rows, those that are due first (or most overdue) first.

        Args:
            limit: how many, 1 to 500.
        """
        return [id_of(member) for member in await self._store.scheduled(checked_limit(limit))]

    async def status(self) -> RowCacheStatus:
        """Return how many rows are scheduled, late and failing, and whether the source answers."""
        return RowCacheStatus.of(await self._store.status())

    async def _filled(
        self,
        missing: Mapping[str, CachedCopy | None],
        max_age_ms: int | None,
        deadline: Deadline | None,
    ) -> dict[str, CachedRow]:
        """Return rows that are not cached or too old: loaded, if that is possible and wanted."""
        if self._read_through is None or deadline is None:
            return {
                member: self._reader_row(member, copy, max_age_ms)
                if copy and copy.is_usable
                else UNCACHED
                for member, copy in missing.items()
            }
        rows, failures = await self._read_through.fill(missing, max_age_ms, deadline)
        if failures:
            reasons = {id_of(member): why for member, why in failures.items()}
            found = {id_of(member): row for member, row in rows.items()}
            raise LoadFailed(self.name, reasons, found)
        return rows

    def _reader_row(self, member: str, copy: CachedCopy, max_age_ms: int | None) -> CachedRow:
        options = self._store.options
        try:
            return copy.for_reader(options.codec, options.into, max_age_ms)
        except DecodeError as error:
            raise with_row_name(error, member, self.name) from error

    def _count(self, hits: int, misses: int) -> None:
        if self._telemetry is not None:
            self._telemetry.count("rows", self._unit, hits, "hit")
            self._telemetry.count("rows", self._unit, misses, "miss")

    def _required_refresher(self) -> AsyncRefresher:
        if self._refresher is None:
            raise ValueError(f"row cache {self.name!r} was made without a source: it only reads")
        return self._refresher


def _deadline(timeout: Duration | None) -> Deadline | None:
    """Return the limit for loading; None: do not load."""
    seconds = to_timeout_s(timeout)
    return None if seconds == 0 else Deadline(seconds)


def _to_max_age_ms(max_age: Duration | None) -> int | None:
    return None if max_age is None else round(to_seconds(max_age, "max_age") * 1000)
