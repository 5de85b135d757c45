"""Middleware: functions that run around every task of a registry."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .running_task import RunningTask

AsyncMiddleware = Callable[["RunningTask", Callable[[], Awaitable[Any]]], Awaitable[Any]]
PlainMiddleware = Callable[["RunningTask", Callable[[], Any]], Any]


class MiddlewarePair(Protocol):
    """An object with a middleware for each kind of task, such as `Middleware`."""

    @property
    def around_async(self) -> AsyncMiddleware | None:
        """Return the async function that runs around async tasks; None: nothing does."""

    @property
    def around_plain(self) -> PlainMiddleware | None:
        """Return the plain function that runs around plain tasks; None: nothing does."""


AnyMiddleware = AsyncMiddleware | PlainMiddleware | MiddlewarePair
"""An async function runs around all tasks, a plain function only around plain tasks."""


@dataclass(frozen=True, slots=True)
class Middleware:
    """A middleware with a function for each kind of task.

    Any other object with these two attributes or methods will do.

    Attributes:
        around_async: `async def middleware(task, call_next)`, for async tasks. None: it is not for
            async tasks.
        around_plain: `def middleware(task, call_next)`, for plain tasks, in the thread of the task.
            None: it is not for plain tasks.
    """

    around_async: AsyncMiddleware | None = None
    around_plain: PlainMiddleware | None = None


class MiddlewareStack:
    """The middleware of a registry.

    Args:
        given: the first one is the outermost.

    Attributes:
        around_async: what runs around async tasks, the outermost first.
        around_plain: what runs around plain tasks, the outermost first.

    Raises:
        TypeError: an element is no middleware.
    """

    def __init__(self, given: Iterable[AnyMiddleware]) -> None:
        self._elements = elements = [_element(each) for each in given]
        self.around_async: tuple[AsyncMiddleware, ...] = tuple(
            each.around_async for each in elements if each.around_async
        )
        self.around_plain: tuple[PlainMiddleware, ...] = tuple(
            each.around_plain for each in elements if each.around_plain
        )

    def check_task(self, name: str, *, is_async: bool) -> None:
        """Refuse a task around which a middleware would silently not run.

        Raises:
            TypeError: a middleware has no function for this kind of task, and has not set it to
                None either.
        """
        kind, attribute = ("async", "around_async") if is_async else ("plain", "around_plain")
        for each in self._elements:
            if kind not in each.kinds:
                raise TypeError(
                    f"task {name!r} is {'an async' if is_async else 'a plain'} function, and "
                    f"middleware {each.name!r} has no {kind} form; write "
                    f"Middleware(around_async=…, around_plain=…), with {attribute}=None if it is "
                    "not for such tasks"
                )

    def wrapped_async(
        self, task: RunningTask, function: Callable[[], Awaitable[Any]]
    ) -> Callable[[], Awaitable[Any]]:
        """Return *function*, which runs the async *task*, with the middleware around it."""
        for middleware in reversed(self.around_async):
            function = partial(middleware, task, _next(function))
        return function

    def wrapped_plain(self, task: RunningTask, function: Callable[[], Any]) -> Callable[[], Any]:
        """Return *function*, which runs the plain *task*, with the middleware around it."""
        function = partial(_plain_result, task.task, function)
        for middleware in reversed(self.around_plain):
            function = partial(middleware, task, _next(function))
        return function


@dataclass(frozen=True, slots=True)
class _Element:
    """One middleware: its functions, and the kinds of tasks for which it sets one, or None."""

    name: str
    kinds: frozenset[str]
    around_async: AsyncMiddleware | None
    around_plain: PlainMiddleware | None


def _element(given: Any) -> _Element:
    name = getattr(given, "__qualname__", None) or type(given).__qualname__
    if isinstance(given, type):
        raise TypeError(f"middleware must be an object, got the class {name}: write {name}()")
    around_async = getattr(given, "around_async", None)
    around_plain = getattr(given, "around_plain", None)
    kinds = {kind for kind in ("async", "plain") if hasattr(given, f"around_{kind}")}
    if not kinds and _is_async(given):
        kinds, around_async = {"async"}, given
    elif not kinds and _is_plain(given):
        kinds, around_plain = {"plain"}, given
    elif not kinds:
        raise TypeError(
            "middleware must be a function (task, call_next), or an object with around_async and "
            f"around_plain; got {given!r}"
        )
    if around_async is not None and not _is_async(around_async):
        raise TypeError(f"around_async of middleware {name!r} must be an async function")
    if around_plain is not None and not _is_plain(around_plain):
        raise TypeError(f"around_plain of middleware {name!r} must be a plain function")
    if around_async is not None and "plain" not in kinds:
        kinds, around_plain = {"async", "plain"}, partial(_run_in_thread, name, around_async)
    return _Element(name, frozenset(kinds), around_async, around_plain)


def _next(function: Callable[[], Any]) -> Callable[[], Any]:
    """Return *function* without parameters: what a middleware passes must not reach the task."""

    def call_next() -> Any:
        return function()

    return call_next


def _is_async(function: Any) -> bool:
    call = getattr(function, "__call__", None)  # noqa: B004 (an object with an async __call__)
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def _is_plain(function: Any) -> bool:
    is_generator = inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)
    return callable(function) and not is_generator and not _is_async(function)


def _run_in_thread(
    name: str, middleware: AsyncMiddleware, task: RunningTask, call_next: Callable[[], Any]
) -> Any:
    """Run the async middleware called *name* around a plain task, in the thread of the task.

    There is no event loop in the thread, so the middleware can await only `call_next()`.
    """

    async def function() -> Any:
        return call_next()

    running: Any = middleware(task, function)
    cause: RuntimeError | None = None
    try:
        running.send(None)
    except StopIteration as end:
        return end.value
    except RuntimeError as error:
        if error.args != ("no running event loop",):
            raise
        cause = error
    running.close()
    raise RuntimeError(
        f"middleware {name!r} awaits something other than call_next() around the plain task "
        f"{task.task!r}. There is no event loop in the thread of a plain task: give the middleware "
        "a plain form, Middleware(around_async=…, around_plain=…), or around_plain=None if it is "
        "not for plain tasks"
    ) from cause


def _plain_result(name: str, function: Callable[[], Any]) -> Any:
    """Call the function of a plain task. Its middleware cannot run around an awaitable."""
    result = function()
    if inspect.isawaitable(result):
        if inspect.iscoroutine(result):
            result.close()
        raise TypeError(
            f"task {name!r} is a plain function that returned an awaitable, around which plain "
            "middleware cannot run: make it an async function"
        )
    return result
