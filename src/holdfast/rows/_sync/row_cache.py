# Generated from _async/row_cache.py by tools/unasync.py: edit that, then run `make sync`.
"""Provide the public class of row caches, for readers, writers and refreshers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from ...core._sync.caller import Caller
from ...core._sync.catalog import Catalog
from ...core.clock import Deadline, Duration, to_seconds, to_timeout_s
from ...core.concurrency._sync.user_calls import can_call
from ...core.ledger import partly
from ...core.names import Namespace
from ...core.near.cache import NearCache
from ...core.near.options import NO_NEAR, NearStats
from ...core.notifier import Notifier
from ...errors import DecodeError, LoadFailed, ServerUnavailable
from .. import keys
from ..commit_hook import CommitHook
from ..near_row import find_row, keep_row
from ..options import MAX_BATCH, RowCacheOptions, checked_every, checked_limit
from ..report import RefreshReport, RowCacheStatus, RowExplanation, explanation
from ..row import UNCACHED, CachedCopy, CachedRow, with_row_name
from ..row_ids import RowId, id_of, member_of
from ..source import RowSource
from ..sql import SqlRows
from .loader import Loader
from .read_through import ReadThrough
from .refresher import Refresher
from .row_store import RowStore


class RowCache:
    """Cache rows of a database on the server, and refresh each row with its own period.

    Made by `Holdfast.row_cache`. All threads, or all tasks of an event loop, may share an
    object.

    Attributes:
        name: name of the cache.
        source: source of the rows; None: this object only reads cached rows.
    """

    def __init__(
        self,
        caller: Caller,
        notifier: Notifier,
        catalog: Catalog,
        namespace: Namespace,
        name: str,
        *,
        source: RowSource | None,
        options: RowCacheOptions,
        near: NearCache | None = None,
    ) -> None:
        self.name = name
        self.source = source
        self._caller = caller
        self._telemetry = caller.settings.telemetry
        self._unit = namespace.unit(keys.CACHE, name)
        self._near = near
        self._store = store = RowStore(caller, catalog, namespace, name, options, near)
        self._read_through: ReadThrough | None = None
        self._refresher: Refresher | None = None
        if source is not None:
            load = getattr(source, "load", None)
            if load is None or not can_call(load):
                raise TypeError(
                    f"the source of row cache {name!r} must have a method load(ids), which must "
                    f"not be async for Holdfast; got {type(source).__name__}"
                )
            loader = Loader(self._unit, source, options.codec, self._telemetry)
            self._read_through = ReadThrough(store, loader, notifier)
            self._refresher = Refresher(store, loader, notifier)

    def __repr__(self) -> str:
        return f"RowCache({self.name!r})"

    def get(
        self, row_id: RowId, *, max_age: Duration | None = None, timeout: Duration | None = 10.0
    ) -> CachedRow:
        """Return a row; load it if the cache does not have it.

        If many readers miss a row at the same time, in any processes, one of them loads it. The
        cached copy of a scheduled row is returned even if it is stale, because refreshers load it.

        Args:
            row_id: an int, a str, or a tuple of these.
            max_age: seconds; if the cached copy is older, load the row again. Without a source, or
                if the load fails, the older copy is returned as stale. None: no limit.
            timeout: seconds to wait for a row that is not cached; 0: do not load it; None: wait
                until it is loaded.

        Raises:
            LoadFailed: The row is not cached and could not be loaded in time.
            ServerUnavailable: The server does not answer.
            DecodeError: The codec of the cache cannot decode the stored row.
        """
        member = member_of(row_id)
        max_age_ms = None if max_age is None else _to_max_age_ms(max_age)
        if self._near is not None:
            row = find_row(self._near, member, self._store.options, max_age_ms, self.name)
            if row is not None:
                if self._telemetry is not None:
                    self._count_memory(1)
                return row
        deadline = _deadline(timeout)
        copy = self._copy(member)
        if copy is not None and copy.serves(max_age_ms):
            self._count(1, 0)
            return self._reader_row(member, copy, max_age_ms)
        self._count(0, 1)
        rows = self._filled({member: copy}, max_age_ms, deadline)
        return rows[member]

    def get_many(
        self,
        row_ids: Iterable[RowId],
        *,
        max_age: Duration | None = None,
        timeout: Duration | None = 10.0,
    ) -> dict[RowId, CachedRow]:
        """Return rows as id → row. Load those that the cache does not have in one call; see `get`.

        Raises:
            LoadFailed: Some rows could not be loaded. The other rows are in `error.rows`.
        """
        if isinstance(row_ids, str | bytes):
            raise TypeError("get_many takes several ids; for a single one use get")
        members = {member_of(row_id): row_id for row_id in row_ids}
        max_age_ms, deadline = _to_max_age_ms(max_age), _deadline(timeout)
        rows = self._rows_in_memory(members, max_age_ms)
        others = [member for member in members if member not in rows]
        copies = self._copies(others)
        missing: dict[str, CachedCopy | None] = {}
        codec, into = self._store.options.codec, self._store.options.into
        for member in others:
            copy = copies.get(member)
            if copy is None or not copy.serves(max_age_ms):
                missing[member] = copy
                continue
            try:
                rows[member] = copy.for_reader(codec, into, max_age_ms)
            except DecodeError as error:
                raise with_row_name(error, member, self.name) from error
        self._count(len(others) - len(missing), len(missing))
        if not missing:
            return {row_id: rows[member] for member, row_id in members.items()}
        try:
            rows |= self._filled(missing, max_age_ms, deadline)
        except LoadFailed as error:
            error.rows |= {members[member]: row for member, row in rows.items()}
            raise
        return {row_id: rows[member] for member, row_id in members.items()}

    def schedule(self, row_id: RowId, *, every: Duration, op_id: str | None = None) -> None:
        """Refresh a row periodically, even if no program reads it.

        A row that was not scheduled before is due at once. Scheduling a row again with the same
        period has no effect.

        Args:
            row_id: an int, a str, or a tuple of these.
            every: period in seconds, or a timedelta: 0.01 s to a year. Each time it is varied by up
                to a tenth. 0 or less unschedules the row and drops its copy.
            op_id: see `OutcomeUnknown`.

        Raises:
            ValueError: *every* is not a valid period.
        """
        self.schedule_many({row_id: every}, op_id=op_id)

    def schedule_many(self, periods: Mapping[RowId, Duration], *, op_id: str | None = None) -> None:
        """Schedule many rows, given as id → period, as `schedule` does, with few calls.

        Raises:
            OutcomeUnknown: Some rows may be scheduled; `repeat()` schedules the others.
        """
        given = {member_of(row_id): checked_every(every) for row_id, every in periods.items()}
        kept = {member: every_ms for member, every_ms in given.items() if every_ms}
        dropped = [member for member, every_ms in given.items() if not every_ms]
        again = partial(self.schedule_many, periods)
        with self._caller.writers.operation(op_id, again, verb="schedule") as write:
            if kept:
                self._store.schedule(kept, write)
            if dropped:
                try:
                    self._store.unschedule(dropped, write)
                except ServerUnavailable as error:
                    if not kept:
                        raise
                    raise partly(error, f"{len(kept):,} rows are scheduled") from error

    def unschedule(self, *row_ids: RowId, op_id: str | None = None) -> None:
        """Stop refreshing rows, and drop their cached copies.

        Args:
            row_ids: ids of the rows.
            op_id: see `OutcomeUnknown`.
        """
        self.schedule_many(dict.fromkeys(row_ids, 0.0), op_id=op_id)

    def invalidate(self, *row_ids: RowId) -> None:
        """Drop the cached copies of changed rows. Scheduled rows are then due at once.

        Call this method after the change is committed. A load that began before this call cannot
        store its rows. Harmless to repeat.

        Raises:
            ServerUnavailable: Old copies may still be cached.
        """
        members = [member_of(row_id) for row_id in row_ids]
        if members:
            self._store.invalidate(members)

    def invalidate_on_commit(self, sessions: Any) -> CommitHook:
        """Invalidate rows whenever sessions of SQLAlchemy commit changes to them.

        Args:
            sessions: a `sessionmaker`, a `Session` class or object; for `Holdfast` an
                `async_sessionmaker` or an `Session`.

        Raises:
            TypeError: The source of this cache is not a `SqlRows`.
        """
        if not isinstance(self.source, SqlRows):
            raise TypeError(
                f"the source of row cache {self.name!r} must be SqlRows, which names table and key"
            )
        return CommitHook(self.invalidate, self.source, sessions)

    def refresh_due(self, *, limit: int = MAX_BATCH) -> RefreshReport:
        """Refresh rows that are due now, once.

        Args:
            limit: maximum number of rows, 1 to 500.
        """
        return self._required_refresher().step(checked_limit(limit))

    def run(self) -> None:
        """Refresh rows when they are due, until `stop`. Any number of processes share the work.

        Continue after failures of the source and of the server.
        """
        self._required_refresher().run()

    def stop(self) -> None:
        """Let `run` finish its batch and return. Any thread or signal handler may call it."""
        self._required_refresher().stop()

    def explain(self, row_id: RowId) -> RowExplanation:
        """Return what the server stores about a row: age, period, current load, failures."""
        member = member_of(row_id)
        try:
            return explanation(row_id, self._store.explain(member))
        except DecodeError as error:
            raise with_row_name(error, member, self.name) from error

    def scheduled(self, *, limit: int = 100) -> list[RowId]:
        """Return the ids of scheduled rows, sorted by when they are due.

        Args:
            limit: maximum number of rows, 1 to 500.
        """
        return [id_of(member) for member in self._store.scheduled(checked_limit(limit))]

    def status(self) -> RowCacheStatus:
        """Return how many rows are scheduled, late and failing, and whether the source answers."""
        return RowCacheStatus.of(self._store.status())

    def near_stats(self) -> NearStats:
        """Return what the near cache of this process did: all zero if there is none."""
        return NO_NEAR if self._near is None else self._near.stats()

    def _filled(
        self,
        missing: Mapping[str, CachedCopy | None],
        max_age_ms: int | None,
        deadline: Deadline | None,
    ) -> dict[str, CachedRow]:
        """Load rows that are not cached or too old.

        Without a source or a *deadline*, return their cached copies as stale, or `UNCACHED`.
        """
        if self._read_through is None or deadline is None:
            return {
                member: self._reader_row(member, copy, max_age_ms)
                if copy and copy.is_usable
                else UNCACHED
                for member, copy in missing.items()
            }
        rows, failures = self._read_through.fill(missing, max_age_ms, deadline)
        if failures:
            reasons = {id_of(member): why for member, why in failures.items()}
            found = {id_of(member): row for member, row in rows.items()}
            raise LoadFailed(self.name, reasons, found)
        return rows

    def _copy(self, member: str) -> CachedCopy | None:
        """Return the cached copy of a row from the server. Keep it in the near cache, if any."""
        if self._near is None:
            return self._store.get_one(member)
        with self._store.reading(self._near, (member,)) as reading:
            copy = self._store.get_one(member)
            keep_row(reading, member, copy)
        return copy

    def _copies(self, members: Sequence[str]) -> dict[str, CachedCopy]:
        """Return the cached copies of rows from the server. Keep them in the near cache, if any."""
        if self._near is None or not members:
            return self._store.get(members)
        with self._store.reading(self._near, members) as reading:
            copies = self._store.get(members)
            for member, copy in copies.items():
                keep_row(reading, member, copy)
        return copies

    def _rows_in_memory(
        self, members: Iterable[str], max_age_ms: int | None
    ) -> dict[str, CachedRow]:
        rows: dict[str, CachedRow] = {}
        if self._near is not None:
            for member in members:
                row = find_row(self._near, member, self._store.options, max_age_ms, self.name)
                if row is not None:
                    rows[member] = row
            self._count_memory(len(rows))
        return rows

    def _reader_row(self, member: str, copy: CachedCopy, max_age_ms: int | None) -> CachedRow:
        options = self._store.options
        try:
            return copy.for_reader(options.codec, options.into, max_age_ms)
        except DecodeError as error:
            raise with_row_name(error, member, self.name) from error

    def _count(self, hits: int, misses: int) -> None:
        if self._near is not None:
            self._near.server_hits += hits
            self._near.loads += misses
        if self._telemetry is not None:
            self._telemetry.count("rows", self._unit, hits, "hit")
            self._telemetry.count("rows", self._unit, misses, "miss")

    def _count_memory(self, hits: int) -> None:
        if self._telemetry is not None:
            self._telemetry.count("rows", self._unit, hits, "memory")

    def _required_refresher(self) -> Refresher:
        if self._refresher is None:
            raise ValueError(f"row cache {self.name!r} has no source: give source=… to row_cache")
        return self._refresher


def _deadline(timeout: Duration | None) -> Deadline | None:
    """Return when loading must end; None if *timeout* is 0, so that nothing is loaded."""
    seconds = to_timeout_s(timeout)
    return None if seconds == 0 else Deadline(seconds)


def _to_max_age_ms(max_age: Duration | None) -> int | None:
    return None if max_age is None else round(to_seconds(max_age, "max_age") * 1000)
