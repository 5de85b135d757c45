"""Open one client for each process of an application, and find it in requests."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from typing import Annotated, Any, Final

from fastapi import Depends
from starlette.requests import HTTPConnection

from .. import AsyncHoldfast, Holdfast

_STATE: Final = "holdfast"
"""Name of the client in the state of the application and of its requests."""

Lifespan = Callable[[Any], AbstractAsyncContextManager[Mapping[str, Any]]]
InnerLifespan = Callable[[Any], AbstractAsyncContextManager[Mapping[str, Any] | None]]


def lifespan(
    connect: str | Callable[[], AsyncHoldfast],
    *,
    namespace: str | None = None,
    inner: InnerLifespan | None = None,
) -> Lifespan:
    """Return a lifespan for `FastAPI(lifespan=…)` or `Starlette(lifespan=…)`.

    It opens one client when the application starts, and closes it at the end. The client is in
    `request.state.holdfast` and `app.state.holdfast`.

    Args:
        connect: URL of the server, as for `AsyncHoldfast.from_url`; or a function that returns the
            client, such as `lambda: AsyncHoldfast.embedded("data")`.
        namespace: namespace of the client, if *connect* is a URL.
        inner: a lifespan of your own, which runs while the client is open. It finds the client in
            `app.state.holdfast`. What it yields is added to the state of requests.

    Raises:
        TypeError: *connect* is a function, and there is a *namespace*.
    """
    if not isinstance(connect, str) and namespace is not None:
        raise TypeError("give the namespace to the client that your function returns")

    def opened() -> AsyncHoldfast:
        if not isinstance(connect, str):
            return connect()
        if namespace is None:
            return AsyncHoldfast.from_url(connect)
        return AsyncHoldfast.from_url(connect, namespace=namespace)

    @asynccontextmanager
    async def run(app: Any) -> AsyncGenerator[Mapping[str, Any]]:
        async with opened() as hf:
            setattr(app.state, _STATE, hf)
            if inner is None:
                yield {_STATE: hf}
                return
            async with inner(app) as state:
                yield {**(state or {}), _STATE: hf}

    return run


def holdfast(connection: HTTPConnection) -> AsyncHoldfast:
    """Return the client of the application. It is a dependency for requests and WebSockets.

    In tests, replace it: `app.dependency_overrides[holdfast] = lambda: hf`.

    Raises:
        RuntimeError: the application has no client.
    """
    return client_of(connection.scope)


Client = Annotated[AsyncHoldfast, Depends(holdfast)]
"""The client of the application, as the annotation of a parameter."""


def client_of(scope: Mapping[str, Any]) -> AsyncHoldfast:
    """Return the client of the application that serves *scope*.

    Raises:
        RuntimeError: the application has no client.
    """
    found = scope.get("state", {}).get(_STATE)
    if found is None and "app" in scope:
        found = getattr(scope["app"].state, _STATE, None)
    if not isinstance(found, AsyncHoldfast):
        raise RuntimeError(  # noqa: TRY004 (the application is wrong, not an argument)
            "the application has no client of Holdfast: create it with lifespan=lifespan(url), "
            "and check that the server runs the lifespan"
        )
    return found


def unconnected() -> closing[Holdfast]:
    """Return a client that checks options before there is a client of the application.

    It does not connect: making a block checks the options of the block, and sends nothing.
    """
    return closing(Holdfast.from_url("redis://localhost"))
