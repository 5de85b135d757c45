"""`Call`: a task with its arguments and options, not yet enqueued."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, ClassVar, Final, Generic, Literal, Protocol, TypedDict, TypeVar, Unpack

import msgspec
from msgspec.structs import replace

from ..core.clock import Duration, Instant, not_early_ms, to_epoch_ms, to_ms
from ..core.names import encode_name
from ..errors import InvalidName
from .argument_types import ArgumentTypes
from .headers import checked_headers
from .keys import PRIORITIES
from .per_key import PerKey
from .retry import Retry, from_now_s
from .unique import Unique, checked_unique

R = TypeVar("R")

Priority = Literal["high", "medium", "low"]

MAX_TASK_ID_BYTES: Final = 200
"""Maximum bytes of the id of a task; few, because most keys of a queue repeat the id."""


class Options(TypedDict, total=False):
    """The options of one call; see `Call.options`."""

    task_id: str | None
    delay: Duration | None
    at: Instant | None
    priority: Priority | None
    expires: Duration | datetime | None
    queue: str | None
    retry: Retry | None
    timeout: Duration | None
    headers: Mapping[str, str] | None
    unique: Unique | Literal[False] | None
    partition_key: str | None


class Definition(Protocol):
    """The parts of a registered task that its calls use."""

    function: Callable[..., Any]
    retry: Retry
    timeout_s: float | None
    unique: Unique | None
    limit: PerKey | None
    hooks: Sequence[Callable[[Call[Any]], Call[Any]]]
    types: ArgumentTypes

    @property
    def returns(self) -> Any:
        """Return the type that results are converted to."""

    def stored(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """Return the arguments for the encoder; see `ArgumentTypes.stored`."""


class Call(msgspec.Struct, Generic[R], frozen=True, eq=False):
    """A task with its arguments, checked against the signature, not yet enqueued.

    Attributes:
        task: the name of the task.
        queue: the name of its queue.
        priority: `high`, `medium` or `low`.
        args: positional arguments.
        kwargs: keyword arguments.
        task_id: its id; None: a unique one is made.
        wait: `0` for at once, `+ms` from now, `@ms` since 1970.
        expires: written like *wait*; `0` for never.
        headers: names and values that accompany the task.
        retry: its retry policy; None: that of the task.
        timeout_s: seconds that an attempt may take; None: as the task says.
        unique: whether and how the call is unique; None: as the task says, False: not unique.
        partition_key: chooses the partition, if the queue has several.
        definition: the task in its registry; None: it is only known by its name.
    """

    task: str
    queue: str
    priority: Priority
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = {}
    task_id: str | None = None
    wait: str = "0"
    expires: str = "0"
    headers: Mapping[str, str] = {}
    retry: Retry | None = None
    timeout_s: float | None = None
    unique: Unique | Literal[False] | None = None
    partition_key: str | None = None
    definition: Definition | None = None

    def __eq__(self, other: object) -> bool:
        """Return whether the calls have the same arguments and options."""
        return type(other) is type(self) and self._compared() == other._compared()

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        names = self.__struct_fields__[: len(self._compared())]
        return f"Call({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    def _compared(self) -> tuple[Any, ...]:
        """Return the values of all fields but the definition."""
        return msgspec.structs.astuple(self)[:-1]

    @property
    def returns(self) -> Any:
        """Return the type that its result is converted to."""
        return Any if self.definition is None else self.definition.returns

    def hooked(self) -> Call[R]:
        """Return the call after the `on_enqueue` hooks of its registry have changed it.

        Raises:
            TypeError: a hook does not return a call.
        """
        if self.definition is None or not self.definition.hooks:
            return self
        call: Any = self
        for hook in self.definition.hooks:
            call = hook(call)
            if not isinstance(call, Call):
                got = type(call).__name__
                raise TypeError(f"the on_enqueue hook {hook!r} must return a call, got {got}")
        return call  # type: ignore[no-any-return]

    def options(self, **options: Unpack[Options]) -> Call[R]:
        """Return the same call with other options.

        Args:
            task_id: names the task. If the queue still has a task of this id, enqueueing changes
                nothing. By default a unique id is made. At most 200 bytes, no blanks or controls.
            delay: seconds (or a timedelta) after which the task may run; less than a billion (30
                years).
            at: instant from which the task may run; not together with *delay*.
            priority: `high`, `medium` or `low`, instead of the task's own.
            expires: seconds from when it is enqueued (or a timedelta), or an aware datetime. From
                then on no attempt starts any more; the task is dead as `expired`.
            queue: the queue, instead of the task's own. A worker must serve it.
            retry: the retry policy, instead of the task's own. Its *on* and *never* are not sent:
                those of the task remain.
            timeout: seconds that an attempt may take (or a timedelta), instead of the task's own.
            headers: are added to the headers of the call: at most 32, of 4,096 bytes in all. The
                task finds them in `current_task().headers`.
            unique: a `Unique` instead of the task's own; False: the call is not unique.
            partition_key: in a queue with partitions, tasks with the same key go to the same one,
                so they start in order. At most 200 bytes. Other queues ignore it.

        Raises:
            ValueError: an option is out of its range, both *delay* and *at* are given, or the task
                expires before it may run.
            InvalidName: the *task_id* or the name of the *queue* is not allowed.
            TypeError: an option is unknown or of a wrong type.
        """
        unknown = options.keys() - Options.__optional_keys__
        if unknown:
            known = ", ".join(sorted(Options.__optional_keys__))
            raise TypeError(f"unknown options: {', '.join(sorted(unknown))}; there are {known}")
        changes: dict[str, Any] = {}
        if (task_id := options.get("task_id")) is not None:
            changes["task_id"] = checked_task_id(task_id)
        if (priority := options.get("priority")) is not None:
            changes["priority"] = checked_priority(priority)
        if (queue := options.get("queue")) is not None:
            encode_name(queue)
            changes["queue"] = queue
        if (retry := options.get("retry")) is not None:
            changes["retry"] = self._checked_retry(retry)
        if (timeout := options.get("timeout")) is not None:
            changes["timeout_s"] = to_ms(timeout, "timeout") / 1000
        if (headers := options.get("headers")) is not None:
            changes["headers"] = checked_headers(self.headers, headers)
        if (expires := options.get("expires")) is not None:
            changes["expires"] = _expiry(expires)
        changes |= _partition(options.get("partition_key"))
        changes |= _start(options.get("delay"), options.get("at"))
        changes |= self._uniqueness(options.get("unique"))
        call = replace(self, **changes)
        if call.wait[0] == call.expires[0] != "0" and int(call.expires[1:]) <= int(call.wait[1:]):
            raise ValueError("the task would expire before it may run")
        return call

    def packed_unique(self) -> str:
        """Return the field of the envelope with the unique key; empty if the call is not unique.

        Raises:
            ValueError: its `Unique` is one with `when="postpone"`, and the call has no delay.
            TypeError: JSON cannot store the key.
        """
        unique, task = self.unique, self.definition
        if unique is None and task is not None:
            unique = task.unique
        if not unique:
            return ""
        unique.check_wait(self.wait, self.task)
        if task is not None:
            given = task.types.given(self.args, self.kwargs)
        else:
            given = {**self.kwargs, **{str(i): arg for i, arg in enumerate(self.args)}}
        return unique.packed(self.task, self.args, self.kwargs, given)

    def packed_limit(self) -> str:
        """Return the field of the envelope with the limits of the call; empty if it has none.

        Raises:
            TypeError: JSON cannot store the key.
        """
        task = self.definition
        if task is None or task.limit is None:
            return ""
        args, kwargs = self.args, self.kwargs
        named = partial(task.types.named, args=args, kwargs=kwargs)
        return task.limit.packed(self.task, args, kwargs, named)

    def _uniqueness(self, unique: Unique | Literal[False] | None) -> dict[str, Any]:
        """Return the new value of the field `unique` as a mapping; empty: it does not change."""
        checked = checked_unique(unique)
        names = self.kwargs if self.definition is None else self.definition.types.names()
        if checked and names is not None:
            checked.check_names(names, self.task)
        return {} if checked is None else {"unique": checked}

    def _checked_retry(self, retry: Retry) -> Retry:
        if not isinstance(retry, Retry):
            raise TypeError(f"retry must be a Retry(attempts=…), got {retry!r}")
        own = self.definition.retry if self.definition else None
        for name in ("on", "never"):
            classes = getattr(retry, name)
            if classes and (own is None or classes != getattr(own, name)):
                raise ValueError(
                    f"Retry({name}=…) cannot be sent with a call: give it to @tasks.task(retry=…)"
                )
        return retry


def checked_call(call: Any) -> Call[Any]:
    """Return *call*, or raise an error that says what to write: `.call` is easily forgotten."""
    if isinstance(call, Call):
        return call
    name = getattr(call, "name", "task")
    raise TypeError(
        f"expected a call such as {name}.call(…), got {type(call).__name__}; "
        "a task called directly runs here and now, and several calls go to enqueue_many"
    )


def checked_calls(calls: Iterable[Call[R]]) -> list[Call[R]]:
    """Return *calls* as a list, each checked."""
    if isinstance(calls, Call):
        raise TypeError("enqueue_many takes several calls; for a single one use enqueue")
    return [checked_call(call) for call in calls]


def _start(delay: Duration | None, at: Instant | None) -> dict[str, str]:
    """Return the new value of `Call.wait` as a mapping; empty: it does not change."""
    if delay is not None and at is not None:
        raise ValueError("delay and at exclude each other")
    if delay is not None:
        delay_ms = not_early_ms(from_now_s(delay, "delay", "; an instant goes to at="))
        return {"wait": f"+{delay_ms}" if delay_ms else "0"}
    return {} if at is None else {"wait": f"@{to_epoch_ms(at, 'at')}"}


def _partition(key: str | None) -> dict[str, str]:
    """Return the new value of `Call.partition_key` as a mapping; empty: it does not change."""
    if key is None:
        return {}
    if not isinstance(key, str):
        raise TypeError(f"a partition_key must be a str, got {type(key).__name__}")
    if not 1 <= len(key.encode(errors="surrogatepass")) <= MAX_TASK_ID_BYTES:
        raise ValueError(f"a partition_key takes 1 to {MAX_TASK_ID_BYTES} bytes, got {key!r}")
    return {"partition_key": key}


def _expiry(expires: Duration | datetime) -> str:
    """Return *expires* in the form of `Call.expires`."""
    if isinstance(expires, datetime):
        return f"@{max(1, to_epoch_ms(expires, 'expires'))}"
    expires_ms = to_ms(expires, "expires")
    from_now_s(expires_ms / 1000, "expires", "; an instant goes there as an aware datetime")
    return f"+{expires_ms}"


def checked_task_id(
    task_id: str, what: str = "a task_id", most_bytes: int = MAX_TASK_ID_BYTES
) -> str:
    """Return *task_id*, or raise why it is not allowed. *what* names it in the error."""
    if not isinstance(task_id, str):
        raise TypeError(f"{what} must be a str, got {type(task_id).__name__}")
    try:
        size = len(task_id.encode())
    except UnicodeEncodeError as error:
        raise InvalidName(task_id, f"not valid Unicode at position {error.start}") from None
    if not 1 <= size <= most_bytes:
        raise InvalidName(task_id, f"{what} takes 1 to {most_bytes} bytes")
    if not task_id.isprintable() or " " in task_id:
        raise InvalidName(task_id, f"{what} holds no blanks and no control characters")
    return task_id


def several_task_ids(task_ids: Iterable[str]) -> list[str]:
    """Return *task_ids* as a list, or raise a TypeError if it is a single str."""
    if isinstance(task_ids, str):
        raise TypeError("task_ids must be a sequence of ids, not a single str")
    return list(task_ids)


def checked_priority(priority: str) -> Priority:
    """Return *priority*, or raise why it is not allowed."""
    if priority not in PRIORITIES:
        raise ValueError(f"priority must be one of {', '.join(PRIORITIES)}, got {priority!r}")
    return priority  # type: ignore[return-value]
