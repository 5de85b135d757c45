"""Whether a client is open, and which waiters wake when it closes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from ..errors import ClientClosed
from .concurrency.fork_hooks import register_after_fork


class Flag(Protocol):
    """What wakes a waiter: an event of either half."""

    def set(self) -> None:
        """Set the flag. From any thread."""


class Lifetime:
    """The time from the start of a client to its `close`. Its calls and its notifier share it.

    Attributes:
        closed: whether the client was closed. It never opens again.
    """

    def __init__(self) -> None:
        self.closed = False
        self._flags: set[Flag] = set()
        register_after_fork(self)

    def check(self, action: str) -> None:
        """Raise `ClientClosed` if the client was closed; *action* is what was to be done."""
        if self.closed:
            raise ClientClosed(action)

    @contextmanager
    def set_on_close(self, flag: Flag) -> Iterator[None]:
        """Set *flag* when the client closes while the context lasts.

        Check `closed`, or make a call, after entering: the client may be closed by then.
        """
        self._flags.add(flag)
        try:
            yield
        finally:
            self._flags.discard(flag)

    def end(self) -> None:
        """Refuse further calls, and wake all waiters. From any thread. Idempotent."""
        self.closed = True
        for flag in list(self._flags):
            flag.set()

    def after_fork(self) -> None:
        """Forget the waiters of the parent in a forked child."""
        self._flags = set()
