"""Tasks by name: a worker runs what is registered, and nothing else."""

from __future__ import annotations

import contextlib
import inspect
import re
from collections.abc import Callable, Coroutine, Iterator, Mapping
from functools import update_wrapper
from types import SimpleNamespace
from typing import (
    Any,
    Final,
    Generic,
    Literal,
    Never,
    ParamSpec,
    Protocol,
    TypeVar,
    get_type_hints,
    overload,
)

import msgspec
import msgspec.inspect

from ..core.clock import Duration, to_ms, to_seconds
from ..core.names import encode_name
from ..errors import DecodeError, UnknownTask
from .task import Call, Priority, Retry, checked_priority

P = ParamSpec("P")
R = TypeVar("R")

Ack = Literal["batched", "now"]

RESULT_TTL_S: Final = 600.0
"""Seconds: a result is for the callers that wait for it, not an archive."""

_UNREAD: Final = object()

_VALUE: Final = re.compile(
    r"""^(Invalid (?:enum )?value) (?:'.*'|".*"|-?\d+)(?= - at |$)""", re.DOTALL
)
"""Part of a msgspec error that quotes an argument. Arguments must not be logged."""

_POSITIONAL_OR_KEYWORD: Final = inspect.Parameter.POSITIONAL_OR_KEYWORD
_POSITIONAL: Final = {inspect.Parameter.POSITIONAL_ONLY, _POSITIONAL_OR_KEYWORD}


class Task(Generic[P, R]):
    """A function that may be enqueued. A direct call runs the plain function.

    Attributes:
        name: its name in the envelope and in the logs; unique in its registry.
        queue: the queue of its calls.
        priority: of its calls, unless a call gives another one.
        retry: what happens when it raises.
        timeout_s: seconds that an attempt may take; None: no limit.
        ack: when the server learns its end: `batched` with others, or `now`.
        result_ttl_ms: how long its result is kept; 0: not at all.
        is_async: whether it runs in the worker's loop; otherwise it runs in a thread.
    """

    def __init__(
        self,
        function: Callable[P, Any],
        *,
        name: str,
        queue: str,
        priority: Priority,
        retry: Retry,
        timeout_s: float | None,
        ack: Ack,
        result_ttl_ms: int,
    ) -> None:
        update_wrapper(self, function, updated=())  # without the attributes of the function
        self.function = function
        self.name = name
        self.queue = queue
        self.priority = priority
        self.retry = retry
        self.timeout_s = timeout_s
        self.ack = ack
        self.result_ttl_ms = result_ttl_ms
        self.is_async = inspect.iscoroutinefunction(function)
        self.signature = inspect.signature(function)
        parameters = self.signature.parameters
        kinds = {parameter.kind for parameter in parameters.values()}
        self._names = tuple(parameters) if kinds <= {_POSITIONAL_OR_KEYWORD} else None
        self._optional = {
            name for name, each in parameters.items() if each.default is not inspect.Parameter.empty
        }
        self._types: dict[str, Any] | None = None
        self._positional: Any = _UNREAD
        self._returns: Any = _UNREAD

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Run the function here and now."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"Task({self.name!r}, queue={self.queue!r})"

    def call(self, *args: P.args, **kwargs: P.kwargs) -> Call[R]:
        """Return a call with these arguments, which can be enqueued.

        Raises:
            TypeError: the arguments do not fit the signature.
        """
        if not self._fit(len(args), kwargs):
            try:  # slower, but it handles every case and explains errors
                self.signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"task {self.name!r}: {error}") from None
        return Call(self.name, self.queue, self.priority, args, kwargs, returns=self.returns)

    @property
    def returns(self) -> Any:
        """Return the type that results are converted to; Any if JSON cannot become that type."""
        if self._returns is _UNREAD:
            kind = _hint(self.function, "return", self.signature.return_annotation)
            self._returns = kind if _convertible(kind) else Any
        return self._returns

    def _fit(self, given: int, kwargs: Mapping[str, Any]) -> bool:
        """Return whether *given* positional arguments and *kwargs* surely fit the signature."""
        names = self._names
        if names is None or given > len(names):
            return False
        if given == len(names) and not kwargs:
            return True
        by_name = names[given:]
        return all(name in kwargs or name in self._optional for name in by_name) and all(
            name in by_name for name in kwargs
        )

    def converted(
        self, args: list[Any], kwargs: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return arguments from the wire, converted to the types in the signature.

        Raises:
            DecodeError: they do not fit.
        """
        by_position = not kwargs and len(args) == len(self.signature.parameters)
        if by_position and (whole := self._whole()) is not None:
            # If this fails, the slower path below finds out which argument does not fit.
            with contextlib.suppress(TypeError, ValueError, RecursionError):
                return msgspec.convert(args, whole, str_keys=True), {}
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise DecodeError(f"the call of task {self.name!r}", str(error)) from None
        for name, kind in self._argument_types().items():
            if name in bound.arguments:
                bound.arguments[name] = self._argument(name, bound.arguments[name], kind)
        return bound.args, bound.kwargs

    def _argument(self, name: str, value: Any, kind: Any) -> Any:
        try:
            return msgspec.convert(value, kind, str_keys=True)
        except (TypeError, ValueError, RecursionError) as error:
            what = f"argument {name!r} of task {self.name!r}"
            raise DecodeError(what, _VALUE.sub(r"\1", str(error))) from None

    def _whole(self) -> Any:
        """Return the tuple type of all arguments, if each is given by its position.

        Return None if some cannot be given so.
        """
        if self._positional is _UNREAD:
            parameters = self.signature.parameters
            types = self._argument_types()
            if {parameter.kind for parameter in parameters.values()} <= _POSITIONAL:
                self._positional = tuple[*(types.get(name, Any) for name in parameters)]  # type: ignore[misc]
            else:
                self._positional = None
        return self._positional

    def _argument_types(self) -> dict[str, Any]:
        """Return the types of arguments by name. Read them late, once all names are defined."""
        if self._types is None:
            self._types = {
                name: kind
                for name, parameter in self.signature.parameters.items()
                if _convertible(
                    kind := _container(parameter, _hint(self.function, name, parameter.annotation))
                )
            }
        return self._types


def _hint(function: Callable[..., Any], name: str, annotation: Any) -> Any:
    """Return the type of a parameter or of the result; Any if it cannot be read here.

    Each is read by itself, because a type that only the type checker knows must not affect others.
    """
    if annotation is inspect.Parameter.empty:
        return Any
    holder = SimpleNamespace(
        __annotations__={name: annotation},
        __globals__=getattr(inspect.unwrap(function), "__globals__", {}),
    )
    try:
        return get_type_hints(holder, include_extras=True)[name]
    except Exception:  # noqa: BLE001 (an annotation may be anything, and need not be a type)
        return Any


def _container(parameter: inspect.Parameter, kind: Any) -> Any:
    """Return the type of the value that `Signature.bind` stores for *parameter*."""
    match parameter.kind:
        case inspect.Parameter.VAR_POSITIONAL:
            return tuple[kind, ...]
        case inspect.Parameter.VAR_KEYWORD:
            return dict[str, kind]
        case _:
            return kind


def _convertible(kind: Any) -> bool:
    """Return whether JSON can become this type. Other arguments are not converted."""
    try:
        return not _has_custom(msgspec.inspect.type_info(kind))
    except Exception:  # noqa: BLE001 (whatever cannot be inspected cannot be converted)
        return False


def _has_custom(info: Any, seen: frozenset[int] = frozenset()) -> bool:
    """Return whether *info* contains a type that msgspec does not know."""
    if isinstance(info, msgspec.inspect.CustomType):
        return True
    if isinstance(info, tuple):
        return any(_has_custom(part, seen) for part in info)
    if not isinstance(info, msgspec.inspect.Type | msgspec.inspect.Field) or id(info) in seen:
        return False
    seen |= {id(info)}
    return any(_has_custom(getattr(info, name), seen) for name in info.__struct_fields__)


class Registered(Protocol):
    """The decorator that `TaskRegistry.task` returns."""

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
        *misplaced: Never,
        queue: str = "default",
        name: str | None = None,
        priority: Priority = "medium",
        retry: Retry | None = None,
        timeout: Duration | None = None,
        ack: Ack = "batched",
        result_ttl: Duration = RESULT_TTL_S,
    ) -> Registered:
        """Register the decorated function, plain or async.

        Args:
            queue: the queue of its calls.
            name: name in the envelope; by default the name of the function. If you rename a
                function that has queued calls, give its old name here.
            priority: `high`, `medium` or `low`.
            retry: what happens when it raises; by default five attempts, the first two 2 s apart.
            timeout: seconds that an attempt may take (or a timedelta); then it fails with
                TimeoutError. An async function is cancelled. A plain one is interrupted once it is
                back in Python code, so a call into C such as `time.sleep` delays that.
            ack: `batched` settles finished tasks together, at most 64, within milliseconds. If the
                worker is killed before that, these tasks run again. `now` settles each task at
                once, for tasks with an expensive repetition.
            result_ttl: seconds for which the status and the result of a done task are kept; 0 keeps
                neither, which is a little faster.

        Raises:
            ValueError: the name is used already, or an option is out of its range.
            InvalidName: the name of the queue is not allowed.
            TypeError: the function is a generator: calling it would not run it.
        """
        if misplaced:
            raise TypeError(
                "write @tasks.task(), with parentheses; all options are keyword arguments"
            )
        encode_name(queue)  # raise for a wrong name here, not when the first call is enqueued
        checked_priority(priority)
        if retry is not None and not isinstance(retry, Retry):
            raise TypeError(f"retry must be a Retry(attempts=…), got {retry!r}")

        if ack not in ("batched", "now"):
            raise ValueError(f"ack must be 'batched' or 'now', got {ack!r}")
        timeout_s = None if timeout is None else to_ms(timeout, "timeout") / 1000
        result_ttl_ms = round(to_seconds(result_ttl, "result_ttl") * 1000)

        def register(function: Callable[..., Any]) -> Task[..., Any]:
            if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
                raise TypeError(f"a task cannot be a generator function: {function!r}")
            task: Task[..., Any] = Task(
                function,
                name=name or _name(function),
                queue=queue,
                priority=priority,
                retry=retry or Retry(),
                timeout_s=timeout_s,
                ack=ack,
                result_ttl_ms=result_ttl_ms,
            )
            if self._tasks.setdefault(task.name, task) is not task:
                raise ValueError(f"a task named {task.name!r} is registered already")
            return task

        return register  # type: ignore[return-value]

    def get(self, name: str) -> Task[..., Any]:
        """Return the task called *name*.

        Raises:
            UnknownTask: it is not registered.
        """
        try:
            return self._tasks[name]
        except KeyError:
            raise UnknownTask(name) from None

    def queues(self) -> tuple[str, ...]:
        """Return the queues of the tasks, in order of registration."""
        return tuple(dict.fromkeys(task.queue for task in self))

    def __iter__(self) -> Iterator[Task[..., Any]]:
        return iter(self._tasks.values())

    def __len__(self) -> int:
        return len(self._tasks)


def _name(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", None)
    if name is None:
        raise TypeError(f"{function!r} has no name; give one: task(name=…)")
    return str(name)
