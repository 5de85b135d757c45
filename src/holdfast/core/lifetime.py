"""Track whether a client is open, and wake its waiters when it closes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from ..errors import ClientClosed
from .concurrency.fork_hooks import register_after_fork


class Flag(Protocol):
    """Wakes a waiter: an `Event` for asyncio or for threads."""

    def set(self) -> None:
        """Set the flag. Any thread may call this."""


class Lifetime:
    """The state of a client, which its calls and its notifier share: open or closed.

    Attributes:
        closed: whether the client was closed. A closed client never opens again.
    """

    def __init__(self) -> None:
        self.closed: bool = False
        self._flags: set[Flag] = set()
        register_after_fork(self)

    def check(self, action: str) -> None:
        """Raise `ClientClosed`, which names the *action*, if the client was closed."""
        if self.closed:
            raise ClientClosed(action)

    @contextmanager
    def set_on_close(self, flag: Flag) -> Iterator[None]:
        """Set *flag* if the client closes before the context ends.

        Check `closed`, or make a call, after entering, because the client may be closed already.
        """
        self._flags.add(flag)
        try:
            yield
        finally:
            self._flags.discard(flag)

    def end(self) -> None:
        """Refuse further calls, and wake all waiters. Any thread may call this. Safe to repeat."""
        self.closed = True
        for flag in list(self._flags):
            flag.set()

    def after_fork(self) -> None:
        """Remove the parent's waiters in a forked child."""
        self._flags = set()
