"""What can go wrong everywhere."""

from __future__ import annotations

from collections.abc import Callable
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
    """The server could not be asked. Nothing was applied, or nothing that a repeat would double.

    So calling again is safe.

    Attributes:
        action: what was to be done, such as `queues/enqueue on queue 'email'`, or
            `reading queue 'email' (queues/stats)`.
        reason: what stood in the way.
    """

    def __init__(self, action: str, reason: str, *, harmless: bool = False) -> None:
        super().__init__(f"{action} {'failed' if harmless else 'was not applied'}: {reason}")
        self.action = action
        self.reason = reason


class ServerRefused(ServerUnavailable):
    """The server answered with an error before applying anything.

    Typical reasons: out of memory, no permission (ACL), a write sent to a read-only replica.
    """


class Unsupported(ServerRefused):
    """The server cannot make writes as durable as the client requires. Nothing was applied.

    `Fsynced` takes Valkey or Redis 7.2 with `appendonly yes`.
    """

    def __init__(self, action: str, reason: str, *, harmless: bool = False) -> None:
        super().__init__(
            action,
            f"{reason}; Fsynced takes Valkey or Redis 7.2 with `appendonly yes`, and either needs "
            "a user who may WAIT and WAITAOF (see acl_rule)",
            harmless=harmless,
        )


class ClientClosed(HoldfastError):
    """The client was closed, by `close` or at the end of its `with` block.

    Nothing was sent. It is not a `ServerUnavailable`: to call again does not help. A call that
    waits while another thread or task closes the client ends with this error too.

    Attributes:
        action: what was to be done, such as `queues/enqueue on queue 'email'`.
    """

    def __init__(self, action: str) -> None:
        super().__init__(
            f"this client is closed: {action} was not done; make a new client, or close this one "
            "after its last use"
        )
        self.action = action


class OutcomeUnknown(HoldfastError):
    """The reply was lost: the operation was applied once, or not at all.

    Or, with `durability`, fewer servers than asked confirmed it in time: it is applied, but may not
    survive their loss.

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
        """Set what `repeat` calls. The outermost public method sets it last."""
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


class DamagedData(ServerRefused, DecodeError):
    """Keys on the server do not hold what Holdfast writes: another program changed them.

    The operation was not applied. It fails in the same way until the keys are restored or deleted;
    `holdfast fsck` names them.

    Attributes:
        action: what was to be done, such as `locks/acquire on lock 'a'`.
        reason: what is wrong, with the name of the key if it is known.
        what: whose keys they are, such as `lock 'a'`.
        problem: the same as *reason*.
    """

    def __init__(self, action: str, what: str, problem: str) -> None:
        HoldfastError.__init__(
            self,
            f"{action} failed: {problem}; another program has changed the keys of {what}: "
            "run `holdfast fsck`, then restore or delete the keys that it names",
        )
        self.action = action
        self.reason = problem
        self.what = what
        self.problem = problem


class DefinitionConflict(HoldfastError, ValueError):
    """Something is defined otherwise on the server than this program says.

    Attributes:
        what: such as `the capacity of queue 'email'`.
        stored: what the server keeps.
        given: what was said here.
        enqueued: how many tasks of the same `enqueue_many` came before, and are in their queues.
    """

    def __init__(
        self, what: str, stored: object, given: object, enqueued: int = 0, *, fixed: bool = False
    ) -> None:
        before = f" ({enqueued:,} tasks of this call are in their queues)" if enqueued else ""
        change = (
            "; it cannot be changed" if fixed else ", or change it for everyone with redefine()"
        )
        super().__init__(
            f"{what} is {stored!r}, not {given!r} as given here{before}; leave it out to take what "
            f"is stored{change}"
        )
        self.what = what
        self.stored = stored
        self.given = given
        self.enqueued = enqueued


class NotDefined(HoldfastError, LookupError):
    """The server stores no definition yet, and this call gives none.

    Attributes:
        what: such as `the limit of semaphore 'api'`.
    """

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} is not known to the server yet: give it once")
        self.what = what


def on_one_line(text: str) -> str:
    """Return *text* of a stranger for a log: line ends and other controls as escapes."""
    return text if text.isprintable() else repr(text)[1:-1]


def shortened(text: str, limit: int = 80) -> str:
    """Return *text* quoted for a message: escapes stay visible, long text is cut."""
    return repr(text if len(text) <= limit else text[:limit] + "…")
