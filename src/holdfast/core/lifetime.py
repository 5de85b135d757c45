"""Whether a client is open, and what has to be woken when it closes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from ..errors import ClientClosed
from .concurrency.fork_hooks import register_after_fork


class Flag(Protocol):
    """What wakes one who waits: the event of either half."""

    def set(self) -> None:
        """Raise the flag. From any thread."""


class Lifetime:
    """The time from the start of a client to its `close`; shared by its calls and its bell.

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
    def wakes(self, flag: Flag) -> Iterator[None]:
        """Raise *flag* when the client closes while the context lasts.

        Look at `closed`, or make a call, after entering: the client may be closed by then.
        """
        self._flags.add(flag)
        try:
            yield
        finally:
            self._flags.discard(flag)

    def end(self) -> None:
        """Refuse calls from now on, and wake all who wait. From any thread. Idempotent."""
        self.closed = True
        for flag in list(self._flags):
            flag.set()

    def after_fork(self) -> None:
        """Forget, in a forked child, who waits in the parent."""
        self._flags = set()
