"""Tasks by name: a worker runs what is registered, and nothing else."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import update_wrapper
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Generic,
    Literal,
    Never,
    ParamSpec,
    Protocol,
    TypeVar,
    overload,
)

from ..core.clock import Duration, to_ms, to_seconds
from ..core.familiar_names import no_attribute
from ..core.names import encode_name
from ..errors import UnknownTask
from .argument_types import ArgumentTypes
from .call import Call, Priority, checked_priority
from .lifespan import Lifespan, checked_lifespan
from .middleware import AnyMiddleware, MiddlewareStack
from .per_key import NO_LIMITS, PerKey, limit_of, stored_name
from .retry import Retry
from .schedule.definition import ScheduleDefinition
from .schedule.schedule import Schedule, declared_schedule
from .schedule.times import Timing
from .unique import Key, Unique, checked_unique

P = ParamSpec("P")
R = TypeVar("R")

Ack = Literal["batched", "now"]

Hook = Callable[[Call[Any]], Call[Any]]
H = TypeVar("H", bound=Hook)

RESULT_TTL_S: Final = 600.0
"""Default of `result_ttl`, in seconds: results are for callers that wait, not an archive."""

_POSITIONAL_OR_KEYWORD: Final = inspect.Parameter.POSITIONAL_OR_KEYWORD

_ENQUEUE: Final = "enqueue it with hf.enqueue(task.call(…))"
_OPTIONS: Final = "hf.enqueue(task.call(…).options(delay=…, priority=…))"

FAMILIAR_NAMES: Final = {
    "delay": _ENQUEUE,
    "send": _ENQUEUE,
    "enqueue": _ENQUEUE,
    "kiq": _ENQUEUE,
    "apply_async": f"enqueue it with {_OPTIONS}",
    "send_with_options": f"enqueue it with {_OPTIONS}",
    "s": "task.call(…) is a call with its arguments",
    "si": "task.call(…) is a call with its arguments",
    "signature": "task.call(…) is a call with its arguments",
    "apply": "task(…) runs the function here and now",
}
"""Methods of tasks in Celery, RQ, Dramatiq and taskiq, and what to use instead."""


class Task(Generic[P, R]):
    """A function that may be enqueued. A direct call runs the plain function.

    Attributes:
        name: name in the envelope and in the logs; unique in a registry.
        queue: the queue of its calls.
        priority: priority of its calls, unless a call gives another one.
        retry: what happens when it raises.
        timeout_s: seconds that an attempt may take; None: no limit.
        ack: when the worker settles it: `batched` with other tasks, or `now`.
        result_ttl_ms: how long its result is kept; 0: not at all.
        schedule: when it runs by itself; None: only when it is enqueued.
        unique: what happens if a call with the same key was enqueued before; None: nothing.
        limit: the limits of tasks with the same key, and whether keys take turns; None: no limits.
        hooks: the `on_enqueue` hooks of its registry.
        types: types of its arguments and its result.
        is_async: whether it runs in the worker's loop; otherwise it runs in a thread.
        cpu: whether it runs in a child process of the worker.
    """

    def __init__(  # noqa: PLR0913 (the options of a task)
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
        cpu: bool,
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
        self.schedule: Schedule | None = None
        self.unique: Unique | None = None
        self.limit: PerKey | None = None
        self.cpu = cpu
        self.hooks: Sequence[Hook] = ()
        self.is_async: bool = inspect.iscoroutinefunction(function)
        self.signature: inspect.Signature = inspect.signature(function)
        parameters = self.signature.parameters
        kinds = {parameter.kind for parameter in parameters.values()}
        self._names = tuple(parameters) if kinds <= {_POSITIONAL_OR_KEYWORD} else None
        self._optional = {
            name for name, each in parameters.items() if each.default is not inspect.Parameter.empty
        }
        self._needed = len(parameters) - len(self._optional)
        kept = result_ttl_ms > 0
        self.types: ArgumentTypes = ArgumentTypes(name, function, self.signature, result=kept)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Run the function here and now."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"Task({self.name!r}, queue={self.queue!r})"

    if not TYPE_CHECKING:  # a type checker shall know that there are no such methods

        def __getattr__(self, name: str) -> Never:
            raise no_attribute(self, name, FAMILIAR_NAMES)

    def call(self, *args: P.args, **kwargs: P.kwargs) -> Call[R]:
        """Return a call with these arguments, which can be enqueued.

        Raises:
            TypeError: the arguments do not fit the signature, or are of a type that cannot be
                stored.
        """
        if not self.types.complete:
            self.types.check()
        if not self._fit(len(args), kwargs):
            try:  # slower, but it handles every case and explains errors
                self.signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"task {self.name!r}: {error}") from None
        return Call(self.name, self.queue, self.priority, args, kwargs, definition=self)

    @property
    def returns(self) -> Any:
        """Return the type to which results are converted; Any if JSON cannot be converted to it."""
        return self.types.result

    def stored(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """Return the arguments for the encoder, with models of pydantic converted to JSON values.

        Raises:
            TypeError: pydantic cannot store one of them.
        """
        return self.types.stored(args, kwargs)

    def _fit(self, given: int, kwargs: Mapping[str, Any]) -> bool:
        """Return whether *given* positional arguments and *kwargs* surely fit the signature."""
        names = self._names
        if names is None or given > len(names):
            return False
        if not kwargs and given >= self._needed:
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
        return self.types.converted(args, kwargs)


class Registered(Protocol):
    """The decorator that `TaskRegistry.task` returns."""

    @overload
    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> Task[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> Task[P, R]: ...


class TaskRegistry:
    """The tasks of an application. Producers and workers import the same one.

    Args:
        lifespan: `async def lifespan(worker)` with `@asynccontextmanager`, or a plain one with
            `@contextmanager`. Each worker enters it before its first claim and leaves it after its
            last task. What it yields, a mapping, is `current_task().state`.
        middleware: functions `(task, call_next)` that run around every attempt; the first one is
            the outermost. Async functions run around async tasks. Plain functions run around plain
            tasks, in their threads. A `Middleware` has one for each kind.

    Raises:
        TypeError: *lifespan* or an element of *middleware* is not valid.

    Attributes:
        lifespan: the lifespan of its workers.
        middleware: what runs around the tasks.
    """

    def __init__(
        self, *, lifespan: Lifespan | None = None, middleware: Iterable[AnyMiddleware] = ()
    ) -> None:
        self.lifespan: Lifespan | None = checked_lifespan(lifespan)
        self.middleware: MiddlewareStack = MiddlewareStack(middleware)
        self._tasks: dict[str, Task[..., Any]] = {}
        self._hooks: list[Hook] = []

    def with_lifespan(self, lifespan: Lifespan | None) -> TaskRegistry:
        """Return the same tasks with another lifespan, or with none; for tests, for example."""
        other = copy(self)
        other.lifespan = checked_lifespan(lifespan)
        return other

    def task(  # noqa: PLR0913 (the options of a task)
        self,
        *misplaced: Never,
        queue: str = "default",
        name: str | None = None,
        priority: Priority = "medium",
        retry: Retry | None = None,
        timeout: Duration | None = None,
        ack: Ack = "batched",
        result_ttl: Duration = RESULT_TTL_S,
        schedule: Timing | Schedule | None = None,
        unique: Unique | None = None,
        limit: PerKey | None = None,
        fair_by: Key | None = None,
        cpu: bool = False,
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
            ack: `batched` settles finished tasks together, at most 32, within milliseconds. If the
                worker is killed before that, these tasks run again. `now` settles each task at
                once, for tasks with an expensive repetition.
            result_ttl: seconds for which the status and the result of a done task are kept; 0 keeps
                neither, which is a little faster.
            schedule: when it runs by itself: a `Cron`, `Every` or `Once`, or a `Schedule` with
                more options. Each worker of the queue fires it, and each occurrence is enqueued
                once.
            unique: what happens to a call if the queue holds a task with the same key.
            limit: how many tasks with the same key may run at once, or start in a window of time.
                Tasks over their limit wait apart, and delay no others.
            fair_by: names of arguments, or a function, as for `PerKey`: keys take turns, so many
                tasks of one key delay no others. It must be the key of the *limit*, if any.
            cpu: run it in a child process of the worker, for plain functions that compute for
                long. The child is killed at the timeout, on `cancel`, and when the lease is lost.
                If it dies, only this task has a crash. The registry must be a global variable of a
                module, because the child imports it.

        Raises:
            ValueError: the name is used already, or that of the schedule; or an option is out of
                its range.
            InvalidName: the name of the queue is not allowed.
            TypeError: the function is a generator: calling it would not run it; or values of a
                parameter without a default, or results that are kept, cannot be stored; or it is
                async, and *cpu* is given; or a middleware is only for the other kind of functions.
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
            if cpu and inspect.iscoroutinefunction(function):
                raise TypeError(f"a task with cpu=True must be a plain function: {function!r}")
            task: Task[..., Any] = Task(
                function,
                name=name or _name(function),
                queue=queue,
                priority=priority,
                retry=retry or Retry(),
                timeout_s=timeout_s,
                ack=ack,
                result_ttl_ms=result_ttl_ms,
                cpu=cpu,
            )
            self.middleware.check_task(task.name, is_async=task.is_async)
            task.hooks = self._hooks
            task.unique = checked_unique(unique) or None
            task.limit = limit_of(limit, fair_by)
            _check_keys(task)
            if schedule is not None:
                task.schedule = declared_schedule(schedule, task.name, task.call, self)
            if self._tasks.setdefault(task.name, task) is not task:
                raise ValueError(f"a task named {task.name!r} is registered already")
            return task

        return register  # type: ignore[return-value]

    def on_enqueue(self, hook: H) -> H:
        """Call *hook* with each call of a task of this registry that is enqueued.

        What the hook returns is enqueued instead: `return call.options(headers={…})`. Hooks run in
        the order of their registration, in the thread of the producer, before anything is sent. If
        one raises, nothing is enqueued. A repetition after a lost reply does not run them again.

        Returns:
            the hook, so that this is a decorator as well.

        Raises:
            TypeError: the hook cannot be called, or is an async function.
        """
        if not callable(hook) or inspect.iscoroutinefunction(hook):
            raise TypeError(f"an on_enqueue hook must be a plain function, got {hook!r}")
        self._hooks.append(hook)
        return hook

    def get(self, name: str) -> Task[..., Any]:
        """Return the task called *name*.

        Raises:
            UnknownTask: it is not registered.
        """
        try:
            return self._tasks[name]
        except KeyError:
            raise UnknownTask(name) from None

    def schedules(self, queue: str) -> list[ScheduleDefinition]:
        """Return the definitions of the schedules that the tasks of *queue* declare."""
        return [
            task.schedule.definition(task.name, task.call)
            for task in self
            if task.schedule is not None and task.queue == queue
        ]

    def limits(self) -> dict[str, str]:
        """Return the definitions of all limits by stored names; a task without one removes its."""
        without = {stored_name(task.name): NO_LIMITS for task in self if not task.limit}
        return without | {
            task.limit.stored_name(task.name): task.limit.definition()
            for task in self
            if task.limit
        }

    def queues(self) -> tuple[str, ...]:
        """Return the queues of the tasks, in order of registration."""
        return tuple(dict.fromkeys(task.queue for task in self))

    def __iter__(self) -> Iterator[Task[..., Any]]:
        return iter(list(self._tasks.values()))  # A thread may register more meanwhile.

    def __len__(self) -> int:
        return len(self._tasks)


def _check_keys(task: Task[..., Any]) -> None:
    """Raise a ValueError if an option of *task* names an argument that it does not have."""
    names = task.types.names()
    if names is not None and task.unique:
        task.unique.check_names(names, task.name)
    if names is not None and task.limit:
        task.limit.check_names(names, task.name)


def _name(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", None)
    if name is None:
        raise TypeError(f"{function!r} has no name; give one: task(name=…)")
    return str(name)
