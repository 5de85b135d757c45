"""Tasks by name: what may run on a worker, and nothing else."""

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
"""Ten minutes: a result is for whoever waits for it, not an archive."""

_UNREAD: Final = object()

_VALUE: Final = re.compile(
    r"""^(Invalid (?:enum )?value) (?:'.*'|".*"|-?\d+)(?= - at |$)""", re.DOTALL
)
"""Where msgspec quotes an argument, which is nothing for a log."""

_EITHER_WAY: Final = inspect.Parameter.POSITIONAL_OR_KEYWORD
_BY_POSITION: Final = {inspect.Parameter.POSITIONAL_ONLY, _EITHER_WAY}


class Task(Generic[P, R]):
    """A function that may be enqueued. Called directly, it is still the plain function.

    Attributes:
        name: in the envelope and in the logs; unique in its registry.
        queue: where its calls go.
        priority: of its calls, unless they say otherwise.
        retry: what happens when it raises.
        timeout_s: how long an attempt may take; None for any time.
        ack: when its end is told to the server, `batched` with others or `now`.
        result_ttl_ms: how long its result is kept; 0 for not at all.
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
        timeout_s: float | None,
        ack: Ack,
        result_ttl_ms: int,
    ) -> None:
        update_wrapper(self, function, updated=())  # its attributes are not ours
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
        self._names = tuple(parameters) if kinds <= {_EITHER_WAY} else None
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
        """A call with these arguments, to be enqueued.

        Raises:
            TypeError: the arguments do not fit the signature.
        """
        if not self._fit(len(args), kwargs):
            try:  # takes longer, knows every case, and says what is wrong
                self.signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"task {self.name!r}: {error}") from None
        return Call(self.name, self.queue, self.priority, args, kwargs, returns=self.returns)

    @property
    def returns(self) -> Any:
        """The type that results are converted to; Any when JSON cannot become what is annotated."""
        if self._returns is _UNREAD:
            kind = _hint(self.function, "return", self.signature.return_annotation)
            self._returns = kind if _convertible(kind) else Any
        return self._returns

    def _fit(self, given: int, kwargs: Mapping[str, Any]) -> bool:
        """Whether so many arguments by position, and these by name, surely fit."""
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
        """Arguments as they came over the wire, as what the signature says they are.

        Raises:
            DecodeError: they do not fit.
        """
        by_position = not kwargs and len(args) == len(self.signature.parameters)
        if by_position and (whole := self._whole()) is not None:
            # What follows takes longer, and says which argument does not fit.
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
        """What all arguments together are converted to, when each is given by its position.

        None when some cannot be.
        """
        if self._positional is _UNREAD:
            parameters = self.signature.parameters
            types = self._argument_types()
            if {parameter.kind for parameter in parameters.values()} <= _BY_POSITION:
                self._positional = tuple[*(types.get(name, Any) for name in parameters)]  # type: ignore[misc]
            else:
                self._positional = None
        return self._positional

    def _argument_types(self) -> dict[str, Any]:
        """What to convert arguments to, by name; read late, when every name they use is defined."""
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
    """The annotation of a parameter, or of what is returned; Any when it cannot be read here.

    Each is read by itself: a type that only the type checker knows must not cost the others.
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
            queue: where its calls go.
            name: in the envelope; the function's own name by default. Renaming a function that has
                calls under way needs its old name here.
            priority: `high`, `medium` or `low`.
            retry: what happens when it raises; by default five attempts, at first 2 s apart.
            timeout: seconds that an attempt may take (or a timedelta); then it has failed with
                TimeoutError. An async function is cancelled; a plain one is interrupted once it is
                back in Python code, which a call into C such as `time.sleep` puts off.
            ack: `batched` tells the server of finished tasks together, at most 64, within
                milliseconds: a kill of the worker in between repeats those. `now` tells it of each
                at once, for tasks whose repetition costs more than a round trip.
            result_ttl: seconds for which the status and the result of a done task are kept; 0 keeps
                neither, which is a little faster.

        Raises:
            ValueError: the name is taken, or an option is out of its range.
            InvalidName: there can be no such queue.
            TypeError: the function is a generator: calling it would not run it.
        """
        if misplaced:
            raise TypeError("write @tasks.task(), with parentheses; all options go by their names")
        encode_name(queue)  # a wrong one is told here, not when the first call is enqueued
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
