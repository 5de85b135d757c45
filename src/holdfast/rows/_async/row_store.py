"""Call the server about one row cache."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from ...core import ledger
from ...core._async.caller import Argument, AsyncCaller, Step
from ...core._async.catalog import AsyncCatalog
from ...core.definitions import log_kept
from ...core.names import Namespace, Unit
from ...core.near.cache import NearCache, Reading
from ...core.script import Script
from ...core.stored import stored_int, stored_score
from ...errors import DecodeError, DefinitionConflict, HoldfastError, ServerUnavailable
from .. import keys
from ..options import MAX_BATCH, MAX_SHARDS, RowCacheOptions, jitter_permille
from ..row import CachedCopy, with_row_name
from ..row_ids import shard_of
from ..shard import CALL_BYTES, CommitReply, DueRows, LoadLease, MissingRows, Shard
from ..source import LoadResult

CLAIM_DUE: Final = Script.load("holdfast.rows", "claim_due")
COMMIT: Final = Script.load("holdfast.rows", "commit")
DEFINE: Final = Script.load("holdfast.rows", "define")
EXPLAIN: Final = Script.load("holdfast.rows", "explain")
GET: Final = Script.load("holdfast.rows", "get")
GET_MANY: Final = Script.load("holdfast.rows", "get_many")
INVALIDATE: Final = Script.load("holdfast.rows", "invalidate")
SCHEDULE: Final = Script.load("holdfast.rows", "schedule")
SCHEDULED: Final = Script.load("holdfast.rows", "scheduled")
STATUS: Final = Script.load("holdfast.rows", "status")
CLAIM_MISSING: Final = Script.load("holdfast.rows", "claim_missing")
UNSCHEDULE: Final = Script.load("holdfast.rows", "unschedule")

RETRY_PAUSE_MS: Final = 1000
"""Milliseconds after a failed load during which readers do not load the row again."""

DEFAULT_SHARDS: Final = 1

_DEFINITION_TTL_S: Final = 400 * 86_400
_SHARDS_CACHED_S: Final = 3600.0
"""Seconds for which the number of shards is cached."""


class AsyncRowStore:
    """Call the server about one cache.

    Args:
        caller: calls the server.
        catalog: lists the caches in use.
        namespace: namespace of the cache.
        name: name of the cache.
        options: options that the user gave.
        near: rows in the memory of this process; None: none are kept there.
    """

    def __init__(
        self,
        caller: AsyncCaller,
        catalog: AsyncCatalog,
        namespace: Namespace,
        name: str,
        options: RowCacheOptions,
        near: NearCache | None = None,
    ) -> None:
        self.name = name
        self.options = options
        self.near = near
        self._caller = caller
        self._catalog = catalog
        self._namespace = namespace
        self._cache = namespace.unit(keys.CACHE, name)
        self._shards: tuple[Shard, ...] = ()
        self._checked_at = self._used_at = -_SHARDS_CACHED_S

    async def shards(self, *, create: bool = True) -> tuple[Shard, ...]:
        """Return all shards of the cache.

        Args:
            create: whether to define the cache if the server has no definition. If False, return
                no shards for such a cache.

        Raises:
            DefinitionConflict: The server stores another number of shards, and `on_conflict` is
                `error`.
        """
        now = time.monotonic()
        if now - (self._used_at if create else self._checked_at) < _SHARDS_CACHED_S:
            return self._shards
        definition = keys.definition(self._cache)
        if create:
            args: list[Argument] = [self.options.shards or DEFAULT_SHARDS, _DEFINITION_TTL_S]
            stored = await self._caller.call(
                DEFINE, self._cache, DEFINE.keys(self._cache), args, harmless=True
            )
        else:
            stored = await self._caller.read(self._cache, "GET", definition)
        if stored is None:
            return ()
        number = stored_int(stored, f"{definition}, its number of shards,", 1, MAX_SHARDS)
        if self.options.shards not in (None, number):
            what = f"the number of shards of {self._cache}"
            if self.options.on_conflict == "error":
                raise DefinitionConflict(what, number, self.options.shards, fixed=True)
            log_kept(what, number, self.options.shards, fixed=True)
        if number != len(self._shards):
            names = [f"{self._cache.name}/{i}" for i in range(number)]
            units = [self._namespace.unit(keys.SHARD, name) for name in names]
            self._shards = tuple(map(Shard, units))
        self._checked_at = now
        if create:
            self._used_at = now
            await self._catalog.note(self._cache)
        return self._shards

    async def get_one(self, member: str) -> CachedCopy | None:
        """Return the cached copy of a row; None if it is not cached."""
        shards = await self.shards(create=False)
        if not shards:
            return None
        shard = shards[shard_of(member, len(shards))]
        names = GET.keys(shard.unit, *shard.rows((member,)))
        now_ms, stored, planned = await self._caller.call(GET, shard.unit, names, [member])
        if stored is None:
            return None
        try:
            return CachedCopy.of(now_ms, stored, planned or b"")
        except DecodeError as error:
            raise with_row_name(error, member, self.name) from error

    async def get(self, members: Sequence[str]) -> dict[str, CachedCopy]:
        """Return row → cached copy, for those of *members* that are cached."""
        shards = await self.shards(create=False)
        found: dict[str, CachedCopy] = {}
        left = list(_parted(shards, members))
        while left:
            steps: list[Step] = [
                (shard.unit, GET_MANY.keys(shard.unit, *shard.rows(part)), shard.reading(len(part)))
                for shard, part in left
            ]
            rest: list[tuple[Shard, Sequence[str]]] = []
            for (shard, part), reply in zip(left, await self._run(GET_MANY, steps), strict=True):
                now_ms, values = int(reply[0]), reply[1:]
                for member, stored, planned in zip(part, values[::2], values[1::2], strict=False):
                    try:
                        copy = CachedCopy.of(now_ms, stored, planned)
                    except DecodeError as error:
                        raise with_row_name(error, member, self.name) from error
                    if copy is not None:
                        found[member] = copy
                if len(values) // 2 < len(part):
                    rest.append((shard, part[len(values) // 2 :]))
            left = rest
        return found

    async def reading(self, near: NearCache, members: Sequence[str]) -> Reading:
        """Return a context for reading *members* from the server. Rows that the caller puts into it
        are kept in *near* only if they have not changed since the context began."""
        shards = await self.shards(create=False)
        number = len(shards)
        places = {each: shards[shard_of(each, number)].place for each in members if number}
        return near.reading(places, self._caller)

    async def load_events(self, members: Iterable[str]) -> set[Unit]:
        """Return units for the notifier: a reader follows them to learn that rows were loaded."""
        shards = await self.shards()
        return {shards[shard_of(member, len(shards))].load_events for member in members}

    async def claim_due(self, limit: int) -> list[DueRows]:
        """Lease at most *limit* due rows, the same number from each shard."""
        shards = await self.shards()
        share, rest = divmod(limit, len(shards))
        offset = random.randrange(len(shards))  # first of the *rest* shards that get one row more
        steps: list[Step] = [
            (
                shard.unit,
                CLAIM_DUE.keys(shard.unit),
                [share + ((i - offset) % len(shards) < rest), self.options.lease_ms],
            )
            for i, shard in enumerate(shards)
        ]
        # If the reply is lost, the rows are due again when the lease ends.
        replies = await self._run(CLAIM_DUE, steps, harmless=True, durable=False)
        return [DueRows.of(shard, reply) for shard, reply in zip(shards, replies, strict=True)]

    async def claim_missing(self, wanted: Mapping[str, int]) -> list[MissingRows]:
        """Lease rows for a reader that misses them.

        Args:
            wanted: row → `read_ms` of the copy that the reader does not accept; 0: not cached.
        """
        parts = list(_parted(await self.shards(), list(wanted)))
        steps: list[Step] = []
        for shard, part in parts:
            names = CLAIM_MISSING.keys(shard.unit, *shard.rows(part))
            pairs = [word for member in part for word in (member, wanted[member])]
            steps.append((shard.unit, names, [self.options.lease_ms, RETRY_PAUSE_MS, *pairs]))
        # Do not wait for durability: if the leases are lost, two readers may load the same rows.
        replies = await self._run(CLAIM_MISSING, steps, harmless=True, durable=False)
        return [
            MissingRows.of(shard, part, reply)
            for (shard, part), reply in zip(parts, replies, strict=True)
        ]

    async def commit(
        self, leases: Iterable[tuple[LoadLease, Mapping[str, LoadResult]]], source_error: str
    ) -> CommitReply:
        """Store the results of loads, if their leases have not ended."""
        steps: list[Step] = []
        parts: list[tuple[LoadLease, list[tuple[str, LoadResult]]]] = []
        for lease, results in leases:
            for part in _chunks(results):
                steps.append(self._commit(lease, part, source_error))
                parts.append((lease, part))
        # Do not wait for durability: a lost row is loaded again.
        with self._dropping(member for _, part in parts for member, _ in part):
            replies = await self._run(COMMIT, steps, harmless=True, durable=False)
        committed = CommitReply({}, {})
        for (lease, part), (digits, next_due_ms) in zip(parts, replies, strict=True):
            committed.next_due_ms[lease.shard] = int(next_due_ms)
            for (member, _), digit in zip(part, digits.decode(), strict=True):
                committed.digits[member] = digit
        return committed

    def _commit(
        self, lease: LoadLease, part: list[tuple[str, LoadResult]], source_error: str
    ) -> Step:
        shard, options = lease.shard, self.options
        names = COMMIT.keys(shard.unit, *shard.rows(member for member, _ in part))
        args: list[Argument] = [
            lease.token,
            lease.read_ms,
            shard.load_events.channel,
            source_error,
        ]
        args += [options.stale_ms, options.absent_ttl_ms, options.ttl_ms]
        for member, result in part:
            args += [member, result.verb, result.body, jitter_permille()]
        return shard.unit, names, args

    async def schedule(self, periods: Mapping[str, int], write: ledger.Operation) -> None:
        """Schedule regular loads of rows. *periods*: row → milliseconds between two loads."""
        steps: list[Step] = []
        for number, (shard, part) in enumerate(_parted(await self.shards(), list(periods))):
            unit = shard.unit
            pairs = [word for member in part for word in (member, periods[member])]
            args: list[Argument] = [write.part(number), write.number, unit.channel, *pairs]
            steps.append((unit, SCHEDULE.keys(unit), args))
        await self._apply(SCHEDULE, steps)

    async def unschedule(self, members: Sequence[str], write: ledger.Operation) -> None:
        """Remove the schedule of rows, and drop their copies."""
        steps: list[Step] = []
        for number, (shard, part) in enumerate(_parted(await self.shards(), members)):
            unit = shard.unit
            names = UNSCHEDULE.keys(unit, *shard.rows(part))
            writer = f"{write.part(number)}-"
            args: list[Argument] = [writer, write.number, shard.load_events.channel, *part]
            steps.append((unit, names, args))
        with self._dropping(members):
            await self._apply(UNSCHEDULE, steps)

    async def invalidate(self, members: Sequence[str]) -> int:
        """Drop cached copies, and refuse the results of current loads. Return how many copies were
        dropped."""
        steps: list[Step] = []
        for shard, part in _parted(await self.shards(create=False), members):
            names = INVALIDATE.keys(shard.unit, *shard.rows(part))
            channels = [shard.unit.channel, shard.load_events.channel]
            steps.append((shard.unit, names, [*channels, *part]))
        with self._dropping(members):
            return sum(await self._run(INVALIDATE, steps, harmless=True))

    async def explain(self, member: str) -> list[bytes]:
        """Return the reply of `lua/explain.lua`; empty if there is no such cache."""
        for shard, part in _parted(await self.shards(create=False), [member]):
            names = EXPLAIN.keys(shard.unit, *shard.rows(part))
            reply: list[bytes] = await self._caller.call(EXPLAIN, shard.unit, names, [member])
            return reply
        return []

    async def scheduled(self, limit: int) -> list[bytes]:
        """Return at most *limit* scheduled rows, sorted by when they are due."""
        shards = await self.shards(create=False)
        steps: list[Step] = [(shard.unit, SCHEDULED.keys(shard.unit), [limit]) for shard in shards]
        found: list[tuple[int, bytes]] = []
        for flat in await self._run(SCHEDULED, steps):
            dues = (stored_score(due, f"when a row of {self.name!r} is due") for due in flat[1::2])
            found += zip(dues, flat[::2], strict=True)
        return [member for _, member in sorted(found)[:limit]]

    async def status(self) -> list[Any]:
        """Return the replies of `lua/status.lua`, one for each shard."""
        shards = await self.shards(create=False)
        steps: list[Step] = [(shard.unit, STATUS.keys(shard.unit), []) for shard in shards]
        return await self._run(STATUS, steps)

    @contextmanager
    def _dropping(self, members: Iterable[str]) -> Iterator[None]:
        """Remove *members* from the memory of this process when this context ends: it changes them
        on the server."""
        try:
            yield
        finally:  # An error does not mean that nothing was changed.
            if self.near is not None:
                self.near.drop(members)

    async def _apply(self, script: Script, steps: Sequence[Step]) -> None:
        """Run the *steps* of one operation.

        If some steps failed, raise an error that says how many succeeded.
        """
        answers = await self._caller.call_many(script, steps)
        problems = [answer for answer in answers if isinstance(answer, HoldfastError)]
        for problem in problems:
            if not isinstance(problem, ServerUnavailable):
                raise problem
            if len(problems) < len(answers):
                done = f"{len(answers) - len(problems)} of {len(answers)} steps are done"
                raise ledger.partly(problem, done) from problem
        if problems:
            raise problems[0]

    async def _run(
        self,
        script: Script,
        steps: Sequence[Step],
        *,
        harmless: bool = False,
        durable: bool = True,
    ) -> list[Any]:
        """Run *script* once for each of *steps* and return the replies; raise the first error."""
        if len(steps) == 1:
            unit, names, args = steps[0]
            only = self._caller.call(script, unit, names, args, harmless=harmless, durable=durable)
            return [await only]
        answers = await self._caller.call_many(script, steps, harmless=harmless, durable=durable)
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        return answers


def _parted(
    shards: Sequence[Shard], members: Sequence[str]
) -> Iterator[tuple[Shard, Sequence[str]]]:
    """Yield pairs (shard, at most `MAX_BATCH` of *members* in this shard)."""
    parts: Mapping[int, Sequence[str]] = {0: members}
    if len(shards) != 1:
        by_shard: dict[int, list[str]] = {}
        for member in members if shards else ():
            by_shard.setdefault(shard_of(member, len(shards)), []).append(member)
        parts = by_shard
    for number, part in parts.items():
        for start in range(0, len(part), MAX_BATCH):
            yield shards[number], part[start : start + MAX_BATCH]


def _chunks(results: Mapping[str, LoadResult]) -> Iterator[list[tuple[str, LoadResult]]]:
    """Yield *results* in parts of at most `MAX_BATCH` rows and about `CALL_BYTES` bytes."""
    part: list[tuple[str, LoadResult]] = []
    size = 0
    for member, result in results.items():
        if part and (size + len(result.body) > CALL_BYTES or len(part) == MAX_BATCH):
            yield part
            part, size = [], 0
        part.append((member, result))
        size += len(result.body)
    if part:
        yield part
