"""Call the server about the values of one function."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from ...core._async.caller import Argument, AsyncCaller, Step
from ...core._async.prepared_call import AsyncPreparedRead
from ...core.names import Unit
from ...core.script import Script
from ..call_key import CallKey
from ..near_result import NearResults
from ..options import EPOCH_MARGIN_MS, CacheOptions, Lifetimes
from ..replies import LoadClaim
from ..stored_value import StoredValue, content, life_ms, parsed

READ: Final = Script.load("holdfast.cache", "read")
CLAIM: Final = Script.load("holdfast.cache", "claim")
OPEN: Final = Script.load("holdfast.cache", "open")
COMMIT: Final = Script.load("holdfast.cache", "commit")
ABANDON: Final = Script.load("holdfast.cache", "abandon")
INVALIDATE: Final = Script.load("holdfast.cache", "invalidate")
RAISE: Final = Script.load("holdfast.cache", "raise")

REPLY_BYTES: Final = 4 << 20
"""Approximate maximum bytes of values in one reply."""

_NO_KEY: Final = -2
"""Reply of `PTTL` for a key that does not exist. The reply for a key without an expiry is -1, which
another program must have caused: its value then counts as too old."""

_KEYS_AT_ONCE: Final = 250
"""Maximum number of keys in one read."""

FAILED_MS: Final = 5000
"""Milliseconds for which the server keeps the reason why a load failed. During this time no process
tries to refresh the value again."""

_LONGEST_REASON: Final = 300


class AsyncValueStore:
    """Read, lease, store and invalidate the values of one function.

    Attributes:
        unit: the unit of the function.
        near: results in the memory of this process; None: none are kept there.
        telemetry: counts and measures; None: nothing is measured.

    Args:
        caller: sends the calls.
        unit: the unit of the function.
        options: options of the function.
    """

    def __init__(self, caller: AsyncCaller, unit: Unit, options: CacheOptions) -> None:
        self.unit = unit
        self.near: NearResults | None = None
        self.telemetry = caller.settings.telemetry
        self._caller = caller
        self._options = options
        self._is_cluster = caller.settings.topology == "cluster"

    async def read(self, key: CallKey) -> StoredValue | None:
        """Return a value if a valid one is stored, in one round trip.

        Compute the age of the value from the remaining lifetime of its key. So two plain commands
        are enough; they take a fifth of the server's time that a script takes.
        """
        if self._is_cluster and key.tags:
            return (await self.read_many([key]))[0]
        if key.prepared is None:
            commands = (("MGET", key.value, *key.guards), ("PTTL", key.value))
            key.prepared = AsyncPreparedRead(self._caller, key.unit, *commands)
        replies = await key.prepared.attempt()
        if replies is None:
            return (await self.read_many([key]))[0]
        (stored, *epochs), left_ms = replies
        if left_ms == _NO_KEY:  # the value has expired between the two commands
            return None
        return parsed(stored, epochs, left_ms=left_ms)

    async def read_many(self, wanted: Sequence[CallKey]) -> list[StoredValue | None]:
        """Return each value, or None if no valid one is stored, in few calls.

        In a cluster, a call can only read keys of one slot.
        """
        parts: dict[int, tuple[Unit, dict[str, None]]] = {}
        for key in wanted:
            for unit, names in ((key.unit, (key.value, key.guards[0])), *_tags(key)):
                slot = unit.slot if self._is_cluster else 0
                parts.setdefault(slot, (unit, {}))[1].update(dict.fromkeys(names))
        found: dict[str, tuple[int, Any]] = {}
        left = [
            (unit, names[i : i + _KEYS_AT_ONCE])
            for unit, names in ((unit, list(names)) for unit, names in parts.values())
            for i in range(0, len(names), _KEYS_AT_ONCE)
        ]
        while left:
            steps: list[Step] = [(unit, part, [REPLY_BYTES, len(part)]) for unit, part in left]
            rest = []
            for (unit, part), (now_ms, *contents) in zip(
                left, await self._run(READ, steps), strict=True
            ):
                found.update(
                    (name, (now_ms, each)) for name, each in zip(part, contents, strict=False)
                )
                if len(contents) < len(part):
                    rest.append((unit, part[len(contents) :]))
            left = rest
        values = []
        for key in wanted:
            now_ms, stored = found[key.value]
            epochs = [found[guard][1] for guard in key.guards]
            values.append(parsed(stored, epochs, now_ms=now_ms))
        return values

    async def claim(
        self, key: CallKey, token: str, purpose: str, seen_ms: int | None, awaited: str = ""
    ) -> LoadClaim:
        """Lease a value, so that the caller computes it and stores the result.

        Args:
            key: the value.
            token: token of the lease; see `new_token`.
            purpose: `miss`: the caller needs the value; `refresh`: it replaces a value that is
                still served; `put`: it has a new value, and always gets the lease.
            seen_ms: when the value that the caller rejects was stored; only a later one counts as
                newer. None: the caller has read no value.
            awaited: token of the load for which the caller has waited.

        Returns:
            Whether the caller has the lease, or why not: another process computes the value, a
            newer value is stored, or the awaited load has failed.
        """
        kept_ms = self._options.longest_life_ms
        local, others = len(key.tags), list[Argument]()
        names = key.guards[1:]
        if self._is_cluster and key.tags:
            # Read these epochs before the value is leased, so that no later invalidation is missed.
            steps: list[Step] = [(unit, OPEN.keys(unit), [kept_ms]) for unit in key.tags]
            others = await self._run(OPEN, steps, harmless=True)
            local, names = 0, ()
        args: list[Argument] = [token, purpose, "" if seen_ms is None else seen_ms, awaited]
        args += [self._options.lease_ms, kept_ms, local, *others]
        reply = await self._caller.call(
            CLAIM,
            key.unit,
            CLAIM.keys(key.unit, key.value, key.load, *names),
            args,
            harmless=True,
            durable=False,
        )
        return LoadClaim.of(token, reply)

    async def commit(
        self, key: CallKey, claim: LoadClaim, lifetimes: Lifetimes, flags: int, body: bytes
    ) -> bool:
        """Store a value. Return False if it was not stored, because the lease was lost."""
        kept_ms = life_ms(lifetimes) + EPOCH_MARGIN_MS
        if kept_ms > self._options.longest_life_ms:  # `ttl` is a function of the result
            units = (key.unit, *key.tags)
            await self._run(OPEN, [(e, OPEN.keys(e), [kept_ms]) for e in units], harmless=True)
        whole = content(lifetimes, claim.epochs, flags, body)
        args: list[Argument] = [claim.token, key.events.channel, life_ms(lifetimes), whole]
        with self._dropping((key,)):
            done: int = await self._caller.call(
                COMMIT, key.unit, [key.value, key.load], args, harmless=True, durable=False
            )
        return done == 1

    async def abandon(self, key: CallKey, token: str, reason: str | None = None) -> None:
        """End a lease without a value.

        Args:
            key: the value.
            token: token of the lease.
            reason: why the function failed, for callers that wait; empty if its result cannot be
                stored. None: another caller may compute the value.
        """
        kept_ms = 0 if reason is None else FAILED_MS
        args: list[Argument] = [
            token,
            key.events.channel,
            kept_ms,
            (reason or "")[:_LONGEST_REASON],
        ]
        await self._caller.call(ABANDON, key.unit, [key.load], args, harmless=True, durable=False)

    async def invalidate(self, wanted: Sequence[CallKey]) -> int:
        """Drop values, and end the leases of current loads, so that their results are not stored.

        Return how many values were dropped.
        """
        steps: list[Step] = [
            (key.unit, [key.value, key.load], [key.events.channel]) for key in wanted
        ]
        with self._dropping(wanted):
            return sum(await self._run(INVALIDATE, steps, harmless=True, durable=True))

    async def raise_epochs(self, units: Sequence[Unit]) -> int:
        """Replace the epoch of each of *units* that has one, which invalidates its values.

        Return the number of these units. A unit without an epoch has no valid values.
        """
        steps: list[Step] = [(unit, RAISE.keys(unit), []) for unit in units]
        try:
            return sum(await self._run(RAISE, steps, harmless=True, durable=True))
        finally:
            if self.near is not None:
                self.near.end_epochs(units)

    @contextmanager
    def _dropping(self, wanted: Iterable[CallKey]) -> Iterator[None]:
        """Remove values from the memory of this process after the body, which changes them on the
        server."""
        try:
            yield
        finally:  # An error does not mean that nothing was changed.
            if self.near is not None:
                self.near.drop(wanted)

    async def _run(
        self,
        script: Script,
        steps: Sequence[Step],
        *,
        harmless: bool = False,
        durable: bool = False,
    ) -> list[Any]:
        """Run *script* once for each of *steps* and return the replies; raise the first error."""
        if len(steps) == 1:
            [(unit, names, args)] = steps
            only = self._caller.call(script, unit, names, args, harmless=harmless, durable=durable)
            return [await only]
        answers = await self._caller.call_many(script, steps, harmless=harmless, durable=durable)
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        return answers


def new_token() -> str:
    """Return the token of a new lease."""
    return secrets.token_hex(8)


def _tags(key: CallKey) -> Iterable[tuple[Unit, tuple[str, ...]]]:
    return ((unit, (guard,)) for unit, guard in zip(key.tags, key.guards[1:], strict=True))
