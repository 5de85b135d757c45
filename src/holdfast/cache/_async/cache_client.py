"""Hold what all cached functions of a client share, and the calls of operators."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from time import monotonic
from typing import Any, Final
from weakref import WeakKeyDictionary, WeakSet

import msgspec

from ...core._async.caller import Argument, AsyncCaller, Step
from ...core._async.catalog import AsyncCatalog
from ...core.concurrency._async.cancellation import run_in_background
from ...core.names import Namespace, Unit
from ...core.near.registry import NearCaches
from ...core.notifier import Notifier
from ...core.renewer import Renewer
from ...core.script import Script
from ...errors import HoldfastError, ServerRefused
from ...errors.one_line_logger import logger_of
from .. import keys
from ..call_key import FunctionUnits
from ..function_counts import CachedFunctionStatus, CountedFunction, FunctionCounts, status_of
from ..near_result import end_epochs, value_prefix
from ..outage import ServerOutage
from .value_store import INVALIDATE, RAISE

logger: Final = logger_of("holdfast.cache")

REPORT: Final = Script.load("holdfast.cache", "report")
STATUS: Final = Script.load("holdfast.cache", "status")

_BATCH: Final = 500

LISTED: Final = 1000
"""Largest number of functions that one call returns."""


class AsyncCacheClient:
    """The parts of a client that its cached functions share.

    Attributes:
        caller: sends the calls.
        notifier: reports values that other processes have stored.
        namespace: namespace of the functions.
        outage: whether calls skip the server now, because it did not answer.
        caches: see `HasCaches` in binding.py.
        near: results in the memory of this process.
        renewer: renews the leases of values that are computed.
    """

    def __init__(
        self,
        caller: AsyncCaller,
        notifier: Notifier,
        catalog: AsyncCatalog,
        namespace: Namespace,
        near: NearCaches,
        renewer: Renewer,
    ) -> None:
        self.caller = caller
        self.notifier = notifier
        self.namespace = namespace
        self.near = near
        self.renewer = renewer
        self.outage = ServerOutage()
        self.caches: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
        self._catalog = catalog
        self._used: WeakSet[CountedFunction] = WeakSet()

    def report_soon(self, function: CountedFunction) -> None:
        """Report the counts of a function in the background."""
        function.counts.since = monotonic()  # so that no other call reports the same counts
        self._used.add(function)
        run_in_background(partial(self.report, function))

    async def report_all(self) -> None:
        """Report the counts of all functions, before the client is closed."""
        for function in [] if self.outage.is_pausing else list(self._used):
            await self.report(function)

    async def report(self, function: CountedFunction) -> None:
        """Add the counts of this process about a function to those on the server.

        If the call fails, these counts are lost.
        """
        counts, function.counts = function.counts, FunctionCounts(monotonic())
        unit = self.namespace.unit(keys.FUNCTION, function.name)
        definition = msgspec.json.encode(function.definition)
        args: list[Argument] = [definition, keys.KEPT_MS, *counts.values()]
        try:
            await self.caller.call(REPORT, unit, REPORT.keys(unit), args, durable=False)
            await self._catalog.note(unit)
        except HoldfastError as error:
            logger.debug("the counts of %s are lost: %s", function.name, error)

    async def invalidate_tags(self, tags: Iterable[str]) -> None:
        """Invalidate all values that have one of *tags*, of all functions."""
        await self._raise_epochs([self.namespace.unit(keys.TAG, tag) for tag in tags])

    async def invalidate_function(self, name: str, text: str | None) -> None:
        """Invalidate all values of a function, or the one with the key *text*."""
        units = FunctionUnits(self.namespace, name)
        if text is None:
            await self._raise_epochs(units.shards())
            return
        key = units.key(text, ())
        args: list[Argument] = [key.events.channel]
        try:
            await self.caller.call(INVALIDATE, key.unit, [key.value, key.load], args, harmless=True)
        finally:
            if near := self.near.find(units.function):
                near.drop([key.value.removeprefix(value_prefix(key.unit))])

    async def functions(self, limit: int) -> dict[str, CachedFunctionStatus]:
        """Return the status of the functions that were used in the last month.

        Remove the names of other functions from the catalog, if the user of the server may write.
        """
        names = await self._catalog.every(keys.FUNCTION, limit)
        units = [self.namespace.unit(keys.FUNCTION, name) for name in names[:LISTED]]
        found: dict[str, CachedFunctionStatus] = {}
        for i in range(0, len(units), _BATCH):
            part, gone = units[i : i + _BATCH], list[Unit]()
            steps: list[Step] = [(unit, STATUS.keys(unit), []) for unit in part]
            answers = await self.caller.call_many(STATUS, steps)
            for unit, answer in zip(part, answers, strict=True):
                if isinstance(answer, HoldfastError):
                    raise answer
                status = status_of(unit.name, answer)
                if status is None:
                    gone.append(unit)
                else:
                    found[unit.name] = status
            try:
                await self._catalog.forget_all(keys.FUNCTION, gone)
            except ServerRefused as error:
                logger.debug("unused functions stay listed: %s", error)
        return found

    async def function(self, name: str) -> CachedFunctionStatus | None:
        """Return the status of one function; None if it was not used for a month."""
        unit = self.namespace.unit(keys.FUNCTION, name)
        reply: Sequence[object] = await self.caller.call(STATUS, unit, STATUS.keys(unit), [])
        return status_of(name, reply)

    async def _raise_epochs(self, units: Sequence[Unit]) -> None:
        steps: list[Step] = [(unit, RAISE.keys(unit), []) for unit in units]
        try:
            answers = await self.caller.call_many(RAISE, steps, harmless=True)
        finally:  # An error does not mean that nothing was changed.
            end_epochs(self.near, self.namespace, units)
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
