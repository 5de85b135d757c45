"""Errors that any part of Holdfast may raise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..version import __version__


class HoldfastError(Exception):
    """Base class of all errors of Holdfast, except `ValueError` and `TypeError` for arguments.

    Errors can be copied and pickled, as process pools do.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        state = {name: value for name, value in vars(self).items() if name != "_again"}
        return _restored, (type(self), self.args, state)


def _restored(kind: type[HoldfastError], args: tuple[Any, ...], state: dict[str, Any]) -> Any:
    error = kind.__new__(kind, *args)
    error.args = args  # OSError.__new__, inherited through TimeoutError, does not set it
    error.__dict__.update(state)
    return error


class ServerUnavailable(HoldfastError):
    """A call failed, and calling again is safe.

    Either nothing was applied, or the call is harmless to repeat.

    Attributes:
        action: the call, such as `queues/enqueue on queue 'email'`, or `reading queue 'email'
            (queues/stats)`.
        reason: why it failed.
        rejection: what the server, or TLS, rejects: `credentials`, `permission`, `tls`, or
            `settings` such as the number of the database. `layout`: see `UnsupportedLayout`.
            Calling again does not help then. It is empty if the server may be reachable later.
        remedy: what to do, such as `use a rediss:// URL`; empty if that is not known.
    """

    def __init__(
        self,
        action: str,
        reason: str,
        *,
        harmless: bool = False,
        rejection: str = "",
        remedy: str = "",
    ) -> None:
        advice = remedy and f"; {remedy}"
        super().__init__(
            f"{action} {'failed' if harmless else 'was not applied'}: "
            f"{reason.rstrip('.') if remedy else reason}{advice}"
        )
        self.action = action
        self.reason = reason
        self.rejection = rejection
        self.remedy = remedy


class ServerRefused(ServerUnavailable):
    """The server answered with an error before applying anything.

    Typical reasons: out of memory, no permission (ACL), a write sent to a read-only replica.
    """


class Unsupported(ServerRefused):
    """The server cannot make writes as durable as the client requires. Nothing was applied.

    `Fsynced` needs Valkey or Redis 7.2 with `appendonly yes`.
    """

    def __init__(self, action: str, reason: str, *, harmless: bool = False) -> None:
        super().__init__(
            action,
            f"{reason}; Fsynced needs Valkey or Redis 7.2 with `appendonly yes`, and both kinds of "
            "durability need a user who may WAIT and WAITAOF (see acl_rule)",
            harmless=harmless,
        )


class UnsupportedLayout(ServerUnavailable):
    """The data of the namespace are in a layout that this version of Holdfast cannot read.

    Usually another process runs a newer version, which has changed the layout; see
    `docs/versions.md`. The call read and wrote nothing.

    Attributes:
        namespace: the namespace.
        stored: the layout version that it stores.
        oldest: the oldest layout version that this program can read.
        newest: the newest layout version that this program can read.
    """

    def __init__(
        self,
        action: str,
        namespace: str,
        stored: int,
        *,
        oldest: int,
        newest: int,
        harmless: bool = False,
    ) -> None:
        able = f"version {newest}" if oldest == newest else f"versions {oldest} to {newest}"
        remedy = (
            "install a newer holdfast here"
            if stored > newest
            else "convert the data as the changelog of holdfast says"
        )
        super().__init__(
            action,
            f"namespace {namespace!r} has layout version {stored}, and holdfast {__version__} in "
            f"this process can read {able}: {remedy}, or use another namespace",
            harmless=harmless,
            rejection="layout",
        )
        self.namespace = namespace
        self.stored = stored
        self.oldest = oldest
        self.newest = newest


class UnsupportedPlatform(HoldfastError):
    """A part of Holdfast does not run on this operating system. Nothing was done.

    Attributes:
        what: the part, such as `a worker`.
    """

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what} needs Linux or macOS, and does not run on Windows: {remedy}")
        self.what = what


class ClientClosed(HoldfastError):
    """The client was closed, by `close` or at the end of its `with` block.

    Nothing was sent, and calling again would fail too. A call that waits while another thread or
    task closes the client raises this error as well.

    Attributes:
        action: the call, such as `queues/enqueue on queue 'email'`.
    """

    def __init__(self, action: str) -> None:
        super().__init__(
            f"this client is closed: {action} was not done; make a new client, or close this one "
            "after its last use"
        )
        self.action = action


class OutcomeUnknown(HoldfastError):
    """The reply was lost: the operation was applied once, or not at all.

    With `durability` it may also mean: the operation was applied, but too few servers confirmed it
    in time, so the write may be lost when a server fails.

    To apply the operation exactly once, call `repeat()` (in asyncio, await it) within five minutes,
    or call the same method again with `op_id=error.op_id`. Both return what the first call would
    have returned.

    Attributes:
        action: the call, such as `queues/enqueue on queue 'email'`.
        reason: how the reply was lost.
        op_id: identifies this operation; None if the operation is harmless to repeat without it.
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
        """Set the function that `repeat` calls.

        Nested methods all call this. The outermost one is last, so `repeat` calls that one.
        """
        self.op_id = op_id
        self._again = again

    def repeat(self) -> Any:
        """Repeat the operation: it is applied exactly once. In asyncio, await the result.

        Returns:
            what the first call would have returned.

        Raises:
            OutcomeUnknown: this reply was lost too; call `repeat` of the new error.
            ServerUnavailable: the server cannot be reached; repeat within five minutes.
        """
        if self._again is None:
            raise RuntimeError(
                "this error was copied, or its operation is harmless to repeat: "
                f"call the same method again with op_id={self.op_id!r}"
            )
        return self._again()


class InvalidName(HoldfastError, ValueError):
    """A name cannot be stored: it is not valid Unicode, or too long.

    Attributes:
        name: the name.
        problem: why it cannot be stored.
    """

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"invalid name {shortened(name)}: {problem}")
        self.name = name
        self.problem = problem


class PayloadTooLarge(HoldfastError, ValueError):
    """A payload is larger than the limit. Nothing was sent.

    Attributes:
        what: names the payload.
        size: its size in bytes.
        limit: the largest size in bytes.
    """

    def __init__(self, what: str, size: int, limit: int) -> None:
        super().__init__(
            f"{what} takes {size:,} bytes, the limit is {limit:,}; "
            "store the data elsewhere and send a reference"
        )
        self.what = what
        self.size = size
        self.limit = limit


class DecodeError(HoldfastError, ValueError):
    """Stored bytes have another form than Holdfast writes. Nothing in them was run or imported.

    Attributes:
        what: names the stored value.
        problem: what is wrong with it.
    """

    def __init__(self, what: str, problem: str) -> None:
        super().__init__(f"{what} cannot be decoded: {problem}")
        self.what = what
        self.problem = problem


class DamagedData(ServerRefused, DecodeError):
    """Keys on the server have a content that Holdfast does not write: another program changed them.

    The operation was not applied. It fails in the same way until the keys are restored or deleted;
    `holdfast fsck` names them.

    Attributes:
        action: the call, such as `locks/acquire on lock 'a'`.
        reason: what is wrong, with the name of the key if it is known.
        what: the unit that has the keys, such as `lock 'a'`.
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
    """The server stores another value of an option than this program gives.

    Raised with `on_conflict="error"`, and for options that cannot be changed.

    Attributes:
        what: the option, such as `the capacity of queue 'email'`.
        stored: the value that the server stores.
        given: the value that this program gives.
        enqueued: how many earlier tasks of the same `enqueue_many` are in their queues.
    """

    def __init__(
        self, what: str, stored: object, given: object, enqueued: int = 0, *, fixed: bool = False
    ) -> None:
        before = f" ({enqueued:,} tasks of this call are in their queues)" if enqueued else ""
        change = (
            "; it cannot be changed"
            if fixed
            else ", change it with redefine(), or give on_conflict='keep' or 'update'"
        )
        super().__init__(
            f"{what} is {stored!r}, not {given!r} as given here{before}; leave it out to use the "
            f"stored value{change}"
        )
        self.what = what
        self.stored = stored
        self.given = given
        self.enqueued = enqueued


class NotDefined(HoldfastError, LookupError):
    """The server stores no value of a required option yet, and this program gives none.

    Attributes:
        what: the option, such as `the limit of semaphore 'api'`.
    """

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} is not known to the server yet: give it once")
        self.what = what


def on_one_line(text: str) -> str:
    """Return untrusted *text* for a log: line ends and other control characters as escapes."""
    return text if text.isprintable() else repr(text)[1:-1]


def shortened(text: str, limit: int = 80) -> str:
    """Return *text* quoted for a message: escapes stay visible, long text is cut."""
    return repr(text if len(text) <= limit else text[:limit] + "…")
