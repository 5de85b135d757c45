"""Cached functions that are decorated when a module is imported, before there is a client."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, Unpack, overload

from ._async.cached_function import AsyncCachedFunction
from ._sync.cached_function import CachedFunction
from .binding import Binding
from .options import CachedOptions, CacheOptions

if TYPE_CHECKING:
    from ._async.cache_client import AsyncCacheClient
    from ._sync.cache_client import CacheClient

P = ParamSpec("P")
R = TypeVar("R")


class CachedDecorator(Protocol):
    """A decorator for async and for plain functions, which keeps their types."""

    @overload
    def __call__(  # type: ignore[overload-overlap]  # a plain function may return a coroutine
        self, function: Callable[P, Coroutine[Any, Any, R]], /
    ) -> AsyncCachedFunction[P, R]: ...

    @overload
    def __call__(self, function: Callable[P, R], /) -> CachedFunction[P, R]: ...


class Client(Protocol):
    """A `Holdfast` or an `AsyncHoldfast`."""

    @property
    def _resources(self) -> Any: ...


class CacheRegistry:
    """Cached functions of a module or of an application. Bind it to a client at the start.

        caches = CacheRegistry()

        @caches.cached(ttl=60.0)
        async def profile(user_id: int) -> Profile: ...

        caches.bind(hf)         # an AsyncHoldfast for async functions, a Holdfast for plain ones

    Decorating does no I/O. Before `bind`, functions are called without a cache, and a warning is
    logged once.
    """

    def __init__(self) -> None:
        self._async: Binding[AsyncCacheClient] = Binding()
        self._sync: Binding[CacheClient] = Binding()

    def cached(self, **options: Unpack[CachedOptions]) -> CachedDecorator:
        """Return a decorator that stores the results of a function, async or plain, on the server.

        Args:
            options: see `CachedOptions`; `ttl` is required.

        Raises:
            TypeError, ValueError: an option is not valid.
        """
        checked = CacheOptions.checked(options)

        def decorate(function: Callable[..., Any]) -> Any:
            if inspect.iscoroutinefunction(function):
                return AsyncCachedFunction(function, checked, self._async)
            return CachedFunction(function, checked, self._sync)

        return decorate

    def bind(self, *clients: Client) -> None:
        """Use *clients* from now on: a `Holdfast`, an `AsyncHoldfast`, or one of each.

        Raises:
            TypeError: a client is neither.
        """
        for client in clients:
            binding, shared = self._part(client)
            binding.bind(shared)

    def unbind(self) -> None:
        """Use no client from now on, so that functions are called without a cache."""
        self._async.bind(None)
        self._sync.bind(None)

    @contextmanager
    def using(self, *clients: Client) -> Iterator[None]:
        """Use *clients* in this context only: in the current task, or in the current thread.

        Free-threaded Python also uses them in threads that are started in this context.
        """
        with ExitStack() as stack:
            for client in clients:
                binding, shared = self._part(client)
                stack.enter_context(binding.using(shared))
            yield

    def _part(self, client: Client) -> tuple[Binding[Any], Any]:
        from ._async.cache_client import AsyncCacheClient
        from ._sync.cache_client import CacheClient

        shared = getattr(getattr(client, "_resources", None), "cache", None)
        if isinstance(shared, AsyncCacheClient):
            return self._async, shared
        if isinstance(shared, CacheClient):
            return self._sync, shared
        kind = type(client).__name__
        raise TypeError(f"bind takes a Holdfast or an AsyncHoldfast, got {kind}")
