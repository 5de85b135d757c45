"""Find the client of a cached function that is decorated before there is one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, Generic, Protocol, TypeVar
from weakref import WeakKeyDictionary

from ..errors.one_line_logger import logger_of

logger: Final = logger_of("holdfast.cache")


class HasCaches(Protocol):
    """The part of a client that its cached functions share.

    Attributes:
        caches: the `LocalCaches` of a function → its cache for this client. An entry disappears
            when the function is garbage-collected.
    """

    caches: WeakKeyDictionary[Any, Any]


C = TypeVar("C", bound=HasCaches)
F = TypeVar("F")


class Binding(Generic[C]):
    """The client that cached functions use: one for all contexts, unless `using` sets another one
    for a context.

    Args:
        client: the client; None: there is none yet.
    """

    def __init__(self, client: C | None = None) -> None:
        self.client = client
        self._of_context: ContextVar[C | None] = ContextVar("holdfast_cache", default=None)
        self.uses_contexts: bool = False
        self._warned = False

    def current(self) -> C | None:
        """Return the client of this context; None if there is none."""
        own = self._of_context.get() if self.uses_contexts else None
        return self.client if own is None else own

    def bind(self, client: C | None) -> None:
        """Use *client* in all contexts that have none of their own."""
        self.client = client

    @contextmanager
    def using(self, client: C) -> Iterator[None]:
        """Use *client* in this context."""
        self.uses_contexts = True
        before = self._of_context.set(client)
        try:
            yield
        finally:
            self._of_context.reset(before)

    def caches(self, make: Callable[[C], F]) -> LocalCaches[C, F]:
        """Return an object that finds the cache of a function for the current client.

        Args:
            make: returns the cache of the function for a client.
        """
        return LocalCaches(self, make)

    def note_unbound(self, name: str) -> None:
        """Log once that functions are called without a cache."""
        if not self._warned:
            self._warned = True
            logger.warning("cached function %s is not bound to a client: %s", name, _ADVICE)

    def unbound(self, name: str) -> RuntimeError:
        """Return the error of a call that needs a client."""
        return RuntimeError(f"cached function {name} is not bound to a client: {_ADVICE}")


_ADVICE: Final = "call bind(client) of its CacheRegistry when the application starts"


class LocalCaches(Generic[C, F]):
    """The caches of one function: one for each client that it is used with.

    Attributes:
        latest: the client of the latest call, and its cache; None before the first call.

    Args:
        binding: finds the client.
        make: returns the cache of the function for a client.
    """

    def __init__(self, binding: Binding[C], make: Callable[[C], F]) -> None:
        self._binding = binding
        self._make = make
        self.latest: tuple[C, F] | None = None

    def get(self) -> F | None:
        """Return the cache for the current client; None if there is no client."""
        binding, latest = self._binding, self.latest
        client = binding.current() if binding.uses_contexts else binding.client
        if latest is not None and latest[0] is client:
            return latest[1]
        if client is None:
            return None
        cache: F | None = client.caches.get(self)
        if cache is None:
            cache = client.caches.setdefault(self, self._make(client))
        self.latest = client, cache
        return cache
