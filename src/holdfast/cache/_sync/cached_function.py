# Generated from _async/cached_function.py by tools/unasync.py: edit that, then run `make sync`.
"""Provide the public class of cached functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import update_wrapper
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast, overload

from ...core.concurrency._sync.user_calls import UserCall, check_half
from ...core.near.options import NearStats
from ..binding import Binding
from ..cached_value import CachedValue
from ..function_counts import CachedFunctionStatus
from ..options import CacheOptions
from ..signature import check_returns, name_of
from .cache_client import CacheClient
from .function_cache import FunctionCache, arguments_of

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
Owner = TypeVar("Owner")


class CachedFunction(Generic[P, R]):
    """A function with results that are stored on the server. Call it as the function itself.

    Made by `Holdfast.cached` and `CacheRegistry.cached`. All threads, or all tasks of an event
    loop, may call it.

    Attributes:
        name: name of the function for the server.
        options: the checked options.
    """

    def __init__(
        self, function: UserCall[P, R], options: CacheOptions, binding: Binding[CacheClient]
    ) -> None:
        self.name: str = name_of(function, options.name)
        check_returns(function, self.name)
        check_half(function, f"cached function {self.name}")
        self.options = options
        self._function = function
        self._binding = binding
        self._caches = binding.caches(self._new_cache)
        self._owner: tuple[Any, ...] = ()
        update_wrapper(cast(Callable[..., Any], self), function)

    def __repr__(self) -> str:
        return f"<cached function {self.name}>"

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Return the result of the function: the stored one, or a new one.

        If many callers miss the same result at the same time, in any processes, one of them calls
        the function.

        Raises:
            CacheLoadFailed: another process called the function for this caller, and it failed.
            CacheTimeout: another caller has been computing the result for longer than `timeout`.
            ServerUnavailable: the server does not answer, and `on_outage` is `raise`.
        """
        latest, binding = self._caches.latest, self._binding
        if latest is not None and latest[0] is binding.client and not binding.uses_contexts:
            # The same as `get`, but saves a Python call.
            cache: FunctionCache | None = latest[1]
        else:
            cache = self._caches.get()
        if cache is None:
            self._binding.note_unbound(self.name)
            return self._function(*self._all(args), **kwargs)
        whole = self._owner + args if self._owner else args
        loaded = cache.from_memory(whole, kwargs)
        result: R
        if loaded is not None:
            result = loaded.value if loaded.error is None else loaded.outcome()
        else:
            result = cache.value(whole, kwargs)
        return result

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> CachedFunction[P, R]: ...

    @overload
    def __get__(
        self: CachedFunction[Concatenate[Owner, Q], R],
        instance: Owner,
        owner: type | None = None,
    ) -> CachedFunction[Q, R]: ...

    def __get__(self, instance: Any, owner: type | None = None) -> CachedFunction[Any, R]:
        """Return the cached method of *instance*, as functions do."""
        if instance is None:
            return self
        bound: CachedFunction[Any, R] = object.__new__(type(self))
        vars(bound).update(vars(self))
        bound._owner = (*self._owner, instance)
        return bound

    def many(self, calls: Iterable[Any]) -> list[R]:
        """Return the results of several calls, in their order. Read the stored ones in one step.

        Args:
            calls: for each call its argument, or a tuple of its arguments.

        Raises:
            Exception: that of the first call that failed, after all of them have ended.
        """
        return self._bound().many(map(self._call, calls))

    def warm(self, calls: Iterable[Any]) -> int:
        """Compute the results of several calls that are not stored. Return their number.

        Args:
            calls: see `many`.

        Raises:
            ServerUnavailable: the server does not answer, so nothing can be stored.
        """
        return self._bound().warm(map(self._call, calls))

    def peek(self, *args: P.args, **kwargs: P.kwargs) -> CachedValue[R] | None:
        """Return the stored result of a call, with its age; None if there is none.

        Never call the function.
        """
        return self._bound().peek(self._owner + args, kwargs)

    def put(self, value: R, /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Store *value* as the result of a call, as if the function had just returned it.

        Results that are being computed now are not stored. If *ttl* says that *value* is not
        stored, drop the result of the call.

        Raises:
            TypeError, ValueError: the value cannot be stored; the stored result is unchanged.
            ServerUnavailable: the old result may still be stored.
        """
        self._bound().put(value, self._owner + args, kwargs)

    def invalidate(self, *args: P.args, **kwargs: P.kwargs) -> bool:
        """Drop the result of a call. Return whether one was stored.

        Call this after the change is committed. After this method has returned, no result is stored
        or returned that began to be computed before it was called. Harmless to repeat.

        Raises:
            ServerUnavailable: the old result may still be stored.
        """
        cache = self._bound()
        return cache.invalidate([cache.key(self._owner + args, kwargs)]) > 0

    def invalidate_many(self, calls: Iterable[Any]) -> int:
        """Drop the results of several calls. Return how many were stored; see `invalidate`.

        Args:
            calls: see `many`.
        """
        cache = self._bound()
        return cache.invalidate([cache.key(self._call(each), {}) for each in calls])

    def invalidate_all(self) -> None:
        """Invalidate all results of the function at once, however many there are."""
        self._bound().invalidate_all()

    def key(self, *args: P.args, **kwargs: P.kwargs) -> str:
        """Return the key of a call on the server."""
        return self._bound().key(self._owner + args, kwargs).value

    def status(self) -> CachedFunctionStatus | None:
        """Return what all processes have counted about this function in the latest 24 hours."""
        return self._bound().status()

    def near_stats(self) -> NearStats:
        """Return what the near cache of this process did: all zero if there is none."""
        return self._bound().near_stats()

    def _call(self, call: Any) -> tuple[Any, ...]:
        return self._owner + arguments_of(call)

    def _all(self, args: tuple[Any, ...]) -> Any:
        return self._owner + args

    def _new_cache(self, client: CacheClient) -> FunctionCache:
        return FunctionCache(client, self._function, self.name, self.options)

    def _bound(self) -> FunctionCache:
        """Return the cache of the current client.

        Raises:
            RuntimeError: no client is bound.
        """
        cache = self._caches.get()
        if cache is None:
            raise self._binding.unbound(self.name)
        return cache
