# Generated from _async/function_cache.py by tools/unasync.py: edit that, then run `make sync`.
"""Serve the calls of one cached function with one client."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from sys import getsizeof
from time import monotonic
from typing import Any, Final, Literal

from ...core.clock import to_seconds
from ...core.concurrency._sync.local_resource import LocalResource
from ...core.concurrency._sync.primitives import LocalSemaphore
from ...core.concurrency._sync.user_calls import UserWork, call_each
from ...core.near.guard import clock
from ...core.near.options import NO_NEAR, NearStats
from ...errors import DamagedData, OutcomeUnknown, ServerUnavailable
from ..cached_value import CachedValue
from ..call_key import CallKey, FunctionUnits
from ..function_counts import (
    FLUSH_S,
    RESULTS,
    CachedFunctionStatus,
    FunctionCounts,
    FunctionDefinition,
)
from ..load_renewal import LoadRenewal
from ..near_result import NearResults
from ..options import CacheOptions
from ..replies import Loaded
from ..result_format import ResultFormat
from ..signature import CallSignature
from ..stored_value import StoredValue
from .cache_client import CacheClient
from .loader import ResultLoader
from .value_store import ValueStore

UNAVAILABLE: Final = (ServerUnavailable, OutcomeUnknown, DamagedData)
"""Errors that mean that the cache is not available; then the option `on_outage` applies."""

MAX_CALLS: Final = 1000
"""Number of values that one call of `many` reads at once."""

MAX_LOADS: Final = 16
"""Number of calls of the function that one call of `many` runs at the same time."""

_PREPARED: Final = 4096
"""Maximum number of different calls for which this process keeps the keys."""

_PREPARED_BYTES: Final = 1024
"""Largest size of the arguments of such a call."""

_SIMPLE: Final = (int, str)
"""Types of arguments for which equal means the same. `True` and `1.0` are other calls than `1`."""


class FunctionCache:
    """Read, compute, store and invalidate the results of one function.

    Attributes:
        name: name of the function.
        counts: the counts of this process since its last report to the server.

    Args:
        client: the parts of a client that all its cached functions share.
        function: the function.
        name: its name.
        options: its options.
    """

    def __init__(
        self,
        client: CacheClient,
        function: Callable[..., Any],
        name: str,
        options: CacheOptions,
    ) -> None:
        self.name = name
        self.counts = FunctionCounts(-FLUSH_S)
        self._client = client
        self._function = function
        self._options = options
        self._signature = CallSignature(
            function,
            name,
            key=options.key,
            ignore=options.ignore,
            tags=options.tags,
            version=options.version,
        )
        self._units = FunctionUnits(client.namespace, name)
        self._results = ResultFormat(
            function,
            name,
            options.codec,
            options.compress,
            options.compress_over,
            options.error_ttl,
        )
        self._store = ValueStore(client.caller, self._units.function, options)
        self._loader = ResultLoader(
            self._store,
            client.notifier,
            LoadRenewal(client.renewer, options.lease_ms),
            options,
            self._results,
            lambda: self.counts,
            name,
        )
        self._telemetry = self._store.telemetry
        self._near: NearResults | None = None
        near = client.near.cache(self._units.function, options.near)
        if near is not None:
            parts = (client.near.tags, client.namespace, self._units.shard(0), self._results)
            self._near = self._store.near = NearResults(near, *parts)
        self._keys: dict[tuple[Any, ...], CallKey] = {}
        self._direct_calls = LocalResource(lambda: LocalSemaphore(options.outage_concurrency))

    def key(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> CallKey:
        """Return the keys of a call. Keep those of simple calls, because they are used again.

        With `key=` keep none: that function may depend on more, such as the current language.
        """
        simple = not kwargs and self._options.key is None
        for each in args:
            simple = simple and type(each) in _SIMPLE
        if not simple:
            return self._new_key(args, kwargs)
        key = self._keys.get(args)
        if key is None:
            key = self._new_key(args, kwargs)
            if sum(map(getsizeof, args)) > _PREPARED_BYTES:
                return key
            if len(self._keys) >= _PREPARED:
                self._keys.clear()
            self._keys[args] = key
        return key

    @property
    def definition(self) -> FunctionDefinition:
        """Return the options that operators see."""
        options = self._options
        return FunctionDefinition(
            options.version,
            None if callable(options.ttl) else to_seconds(options.ttl, "ttl"),
            options.stale_ms / 1000,
            None if options.refresh_ms is None else options.refresh_ms / 1000,
        )

    def from_memory(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Loaded | None:
        """Return the result of a call from the memory of this process; None if it is not there."""
        near = self._near
        if near is None:
            return None
        key = None
        if len(args) == 1 and not kwargs and type(args[0]) in _SIMPLE:
            key = self._keys.get(args)  # the same as `key`, but saves a Python call
        if key is None:
            key = self.key(args, kwargs)
        found = near.find_stored(key.near or near.name(key), clock())
        if found is None:
            return None
        loaded: Loaded | None = found.loaded or near.loaded(found)
        if loaded is not None:
            self.counts.near += 1  # without `_count`, to save a Python call
            if self._telemetry is not None:
                self._telemetry.count("results", self._units.function, 1, RESULTS["near"])
        return loaded

    def value(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Return the result of a call: the stored one, or a new one."""
        key = self.key(args, kwargs)
        if monotonic() - self.counts.since > FLUSH_S:
            self._client.report_soon(self)
        if self._client.outage.is_pausing:
            return self._without_server(None, args, kwargs)
        try:
            stored = self._read(key)
            loaded = self._hit(stored)
            if loaded is None:
                work = partial(self._function, *args, **kwargs)
                loaded = self._served(key, work, stored)
        except UNAVAILABLE as error:
            problem = error
        else:
            self._client.outage.answered()
            return loaded.outcome()
        return self._without_server(problem, args, kwargs)

    def many(self, calls: Iterable[Any]) -> list[Any]:
        """Return the results of several calls, in their order.

        Raises:
            Exception: that of the first call that failed, after all of them have ended.
        """
        outcomes = self._outcomes(calls)
        for each in outcomes:
            if isinstance(each, Exception):
                raise each
        return outcomes

    def warm(self, calls: Iterable[Any]) -> int:
        """Compute the results of those calls for which none is stored. Return how many were
        computed."""
        wanted, computed = [arguments_of(each) for each in calls], 0
        for i in range(0, len(wanted), MAX_CALLS):
            part = [(self.key(args, {}), args) for args in wanted[i : i + MAX_CALLS]]
            values = self._store.read_many([key for key, _ in part])
            pairs = zip(part, values, strict=True)
            missing = {
                key.value: args
                for (key, args), value in pairs
                if value is None or not value.is_usable
            }
            self.many(missing.values())
            computed += len(missing)
        return computed

    def peek(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> CachedValue[Any] | None:
        """Return the stored result of a call; None if there is none, or an exception is stored."""
        stored = self._store.read(self.key(args, kwargs))
        if stored is None or not stored.is_usable:
            return None
        loaded = self._results.loaded(stored.body, stored.flags)
        if loaded is None or loaded.error is not None:
            return None
        state: Literal["fresh", "stale"] = "fresh" if stored.is_fresh else "stale"
        return CachedValue(loaded.value, stored.age_ms / 1000, state)

    def put(self, value: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Store *value* as the result of a call."""
        self._loader.put(self.key(args, kwargs), value)

    def invalidate(self, calls: Sequence[CallKey]) -> int:
        """Drop the results of calls. Return how many were stored."""
        return self._store.invalidate(calls)

    def invalidate_all(self) -> None:
        """Invalidate all results of the function."""
        self._store.raise_epochs(self._units.shards())

    def status(self) -> CachedFunctionStatus | None:
        """Report the counts of this process, and return those of all processes."""
        self._client.report(self)
        return self._client.function(self.name)

    def near_stats(self) -> NearStats:
        """Return what the near cache of this process did; see `CachedFunction`."""
        return NO_NEAR if self._near is None else self._near.near.stats()

    def _outcomes(self, calls: Iterable[Any]) -> list[Any]:
        """Return the result, or the exception, of each of several calls."""
        wanted = [arguments_of(each) for each in calls]
        outcomes: list[Any] = []
        for i in range(0, len(wanted), MAX_CALLS):
            part = [(self.key(args, {}), args) for args in wanted[i : i + MAX_CALLS]]
            in_memory = self._in_memory(part)
            others = [each for each in part if each[0] not in in_memory]
            found = in_memory | dict(
                zip(
                    (key for key, _ in others),
                    self._part(others) if others else (),
                    strict=True,
                )
            )
            outcomes += [found[key] for key, _ in part]
        return outcomes

    def _in_memory(self, part: Sequence[tuple[CallKey, Any]]) -> dict[CallKey, Any]:
        """Return the results, or the exceptions, of the calls that the memory of this process can
        answer."""
        found: dict[CallKey, Any] = {}
        if self._near is not None:
            for key, _ in part:
                loaded = self._near.find(key)
                if loaded is not None:
                    self._count("near")
                    found[key] = loaded.value if loaded.error is None else loaded.error
        return found

    def _part(self, part: Sequence[tuple[CallKey, tuple[Any, ...]]]) -> list[Any]:
        problem: Exception | None = None
        values: Sequence[StoredValue | None] | None = None
        if not self._client.outage.is_pausing:
            try:
                values = self._read_many([key for key, _ in part])
            except UNAVAILABLE as error:
                problem = error

        def outcome(n: int) -> Any:
            key, args = part[n]
            if values is None:
                return self._without_server(problem, args, {})
            try:
                loaded = self._hit(values[n])
                if loaded is None:
                    loaded = self._served(key, partial(self._function, *args), values[n])
            except UNAVAILABLE as error:
                unavailable = error
            else:
                return loaded.outcome()
            return self._without_server(unavailable, args, {})

        return call_each(outcome, range(len(part)), MAX_LOADS)

    def _read(self, key: CallKey) -> StoredValue | None:
        """Read a value from the server. Keep it in memory if the function has a near cache."""
        if self._near is None:
            return self._store.read(key)
        with self._near.reading((key,), self._client.caller) as reading:
            stored = self._store.read(key)
            self._near.keep(reading, key, stored)
        return stored

    def _read_many(self, wanted: Sequence[CallKey]) -> Sequence[StoredValue | None]:
        """Read values from the server. Keep them in memory if the function has a near cache."""
        if self._near is None:
            return self._store.read_many(wanted)
        with self._near.reading(wanted, self._client.caller) as reading:
            found = self._store.read_many(wanted)
            for key, stored in zip(wanted, found, strict=True):
                self._near.keep(reading, key, stored)
        return found

    def _hit(self, stored: StoredValue | None) -> Loaded | None:
        """Return a fresh value that need not be refreshed; otherwise None."""
        if stored is None or stored.age_ms >= stored.refresh_ms:
            return None
        loaded = self._results.loaded(stored.body, stored.flags)
        if loaded is not None:
            self.counts.hits += 1  # without `_count`, to save a Python call in the usual case
            if self._near is not None:
                self._near.near.server_hits += 1
            if self._store.telemetry is not None:
                self._store.telemetry.count("results", self._units.function, 1, "hit")
        return loaded

    def _served(self, key: CallKey, work: UserWork[Any], stored: StoredValue | None) -> Loaded:
        """Return the result of a call for which no fresh value is stored.

        If a usable value is stored, return it and refresh it in the background; otherwise load one.
        """
        if stored is not None and stored.is_usable:
            loaded = self._results.loaded(stored.body, stored.flags)
            if loaded is not None:
                if stored.is_fresh:
                    self._count("hits")
                else:
                    self._count("stale")
                self._loader.refresh_soon(key, work, stored)
                return loaded
        self._count("misses")
        if self._near is not None:
            self._near.near.loads += 1
        return self._loader.load(key, work, stored)

    def _without_server(
        self, problem: Exception | None, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        """Call the function without its cache, because the server is not available.

        Args:
            problem: the error of the server; None: it was not called now, because it failed a
                moment ago.
            args: arguments of the call.
            kwargs: arguments of the call.
        """
        calls = self._options.on_outage == "call"
        if problem is None:
            problem = ServerUnavailable(
                f"reading {self._units.function}", "it did not answer a moment ago", harmless=True
            )
        else:
            self._client.outage.failed(problem, calls=calls)
        if not calls:
            raise problem
        self._count("direct")
        with self._direct_calls.get():
            return self._function(*args, **kwargs)

    def _count(self, answer: str) -> None:
        """Count a call by how it was answered: near, hits, stale, misses or direct."""
        setattr(self.counts, answer, getattr(self.counts, answer) + 1)
        if self._store.telemetry is not None:
            result = RESULTS[answer]
            self._store.telemetry.count("results", self._units.function, 1, result)

    def _new_key(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> CallKey:
        text = self._signature.text(args, kwargs)
        return self._units.key(text, self._signature.tags(args, kwargs))


def arguments_of(call: Any) -> tuple[Any, ...]:
    """Return the arguments of *call*, an item of the argument of `many`: a tuple has all arguments;
    any other value is the only argument."""
    return call if type(call) is tuple else (call,)
