"""Tasks by name: what may run on a worker, and nothing else."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Iterator, Mapping
from functools import update_wrapper
from types import SimpleNamespace
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, get_type_hints, overload

import msgspec
import msgspec.inspect

from ..errors import DecodeError, UnknownTask
from .task import Call, Priority, Retry, checked_priority

P = ParamSpec("P")
R = TypeVar("R")


class Task(Generic[P, R]):
    """A function that may be enqueued. Called directly, it is still the plain function.

    Attributes:
        name: in the envelope and in the logs; unique in its registry.
        queue: where its calls go.
        priority: of its calls, unless they say otherwise.
        retry: what happens when it raises.
        is_async: whether it runs on the worker's loop; otherwise it runs in a thread.
    """

    def __init__(
        self,
        function: Callable[P, Any],
        *,
        name: str,
        queue: str,
        priority: Priority,
        retry: Retry,
    ) -> None:
        update_wrapper(self, function, updated=())  # its attributes are not ours
        self.function = function
        self.name = name
        self.queue = queue
        self.priority = priority
        self.retry = retry
        self.is_async = inspect.iscoroutinefunction(inspect.unwrap(function))
        self.signature = inspect.signature(function)
        self._types: dict[str, Any] | None = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Run the function here and now."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"Task({self.name!r}, queue={self.queue!r})"

    def call(self, *args: P.args, **kwargs: P.kwargs) -> Call[R]:
        """A call with these arguments, to be enqueued.

        Raises:
            TypeError: the arguments do not fit the signature.
        """
        try:
            self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"task {self.name!r}: {error}") from None
        return Call(self.name, self.queue, self.priority, args, kwargs)

    def converted(
        self, args: list[Any], kwargs: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments as they came over the wire, as what the signature says they are.

        Raises:
            DecodeError: they do not fit.
        """
        try:
            bound = self.signature.bind(*args, **kwargs)
            types = self._argument_types()
            for name, value in bound.arguments.items():
                if name in types:
                    bound.arguments[name] = msgspec.convert(value, types[name], str_keys=True)
        except (TypeError, ValueError, RecursionError) as error:
            raise DecodeError(f"an argument of task {self.name!r}", str(error)) from error
        return bound.args, bound.kwargs

    def _argument_types(self) -> dict[str, Any]:
        """What to convert arguments to, by name; read late, when every name they use is defined."""
        if self._types is None:
            self._types = {
                name: kind
                for name, parameter in self.signature.parameters.items()
                if _convertible(kind := _container(parameter, _hint(self.function, parameter)))
            }
        return self._types


def _hint(function: Callable[..., Any], parameter: inspect.Parameter) -> Any:
    """The annotation of one parameter; Any when it cannot be read here.

    Each is read by itself: a type that only the type checker knows must not cost the others.
    """
    if parameter.annotation is inspect.Parameter.empty:
        return Any
    holder = SimpleNamespace(
        __annotations__={parameter.name: parameter.annotation},
        __globals__=getattr(inspect.unwrap(function), "__globals__", {}),
    )
    try:
        return get_type_hints(holder, include_extras=True)[parameter.name]
    except Exception:  # noqa: BLE001 (an annotation may be anything, and need not be a type)
        return Any


def _container(parameter: inspect.Parameter, kind: Any) -> Any:
    """The type of what `Signature.bind` puts under the name of *parameter*."""
    match parameter.kind:
        case inspect.Parameter.VAR_POSITIONAL:
            return tuple[kind, ...]
        case inspect.Parameter.VAR_KEYWORD:
            return dict[str, kind]
        case _:
            return kind


def _convertible(kind: Any) -> bool:
    """Whether JSON can become this type; arguments of other types are left to the task."""
    try:
        return not _has_custom(msgspec.inspect.type_info(kind))
    except Exception:  # noqa: BLE001 (whatever cannot be inspected cannot be converted)
        return False


def _has_custom(info: Any, seen: frozenset[int] = frozenset()) -> bool:
    """Whether a type that msgspec does not know is part of what *info* describes."""
    if isinstance(info, msgspec.inspect.CustomType):
        return True
    if isinstance(info, tuple):
        return any(_has_custom(part, seen) for part in info)
    if not isinstance(info, msgspec.inspect.Type | msgspec.inspect.Field) or id(info) in seen:
        return False
    seen |= {id(info)}
    return any(_has_custom(getattr(info, name), seen) for name in info.__struct_fields__)


class Registered(Protocol):
    """What `TaskRegistry.task` returns: turns a function into a task."""

    @overload
    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> Task[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> Task[P, R]: ...


class TaskRegistry:
    """The tasks of an application. Producers and workers import the same one."""

    def __init__(self) -> None:
        self._tasks: dict[str, Task[..., Any]] = {}

    def task(
        self,
        *,
        queue: str = "default",
        name: str | None = None,
        priority: Priority = "medium",
        retry: Retry | None = None,
    ) -> Registered:
        """Register the decorated function, plain or async.

        Args:
            queue: where its calls go.
            name: in the envelope; the function's own name by default. Renaming a function that has
                calls under way needs its old name here.
            priority: `high`, `medium` or `low`.
            retry: what happens when it raises; by default five attempts, at first 2 s apart.

        Raises:
            ValueError: the name is taken, or the priority is none.
            TypeError: the function is a generator: calling it would not run it.
        """
        checked_priority(priority)
        if retry is not None and not isinstance(retry, Retry):
            raise TypeError(f"retry must be a Retry(attempts=…), got {retry!r}")

        def register(function: Callable[..., Any]) -> Task[..., Any]:
            if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
                raise TypeError(f"a task cannot be a generator function: {function!r}")
            task: Task[..., Any] = Task(
                function,
                name=name or _name(function),
                queue=queue,
                priority=priority,
                retry=retry or Retry(),
            )
            if self._tasks.setdefault(task.name, task) is not task:
                raise ValueError(f"a task named {task.name!r} is registered already")
            return task

        return register  # type: ignore[return-value]

    def get(self, name: str) -> Task[..., Any]:
        """The task called *name*.

        Raises:
            UnknownTask: there is none.
        """
        try:
            return self._tasks[name]
        except KeyError:
            raise UnknownTask(name) from None

    def queues(self) -> tuple[str, ...]:
        """The queues that the tasks name, in order of registration."""
        return tuple(dict.fromkeys(task.queue for task in self))

    def __iter__(self) -> Iterator[Task[..., Any]]:
        return iter(self._tasks.values())

    def __len__(self) -> int:
        return len(self._tasks)


def _name(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", None)
    if name is None:
        raise TypeError(f"{function!r} has no name of its own; give it one: task(name=…)")
    return str(name)
