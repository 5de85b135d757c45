"""Ask the application whether a user may do an action to another user or to a chat."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Final

from ..audit_log import record
from ..problems import Problem

May = Callable[[str, str, str], bool | Awaitable[bool]]
"""The authorization hook: `may(user, action, target)` returns whether *user* may do *action* to
*target*."""

SEND_MAIL: Final = "mailbox.send"
CREATE: Final = "chat.create"
INVITE: Final = "chat.invite"
ADD: Final = "chat.add"
SEND: Final = "chat.send"
READ: Final = "chat.read"
MEMBERS: Final = "chat.members"
ACK: Final = "chat.ack"
LEAVE: Final = "chat.leave"
FOLLOW: Final = "task.follow"

ACTIONS: Final = {
    SEND_MAIL: "another user: send a message to that user's mailbox",
    CREATE: "the user itself: create a chat",
    INVITE: "another user: make that user a member of a new or existing chat",
    ADD: "a chat: add a member to it",
    SEND: "a chat: send a message to it",
    READ: "a chat: read its messages, by any route: history, inbox or stream",
    MEMBERS: "a chat: list its members",
    ACK: "a chat: acknowledge its messages",
    LEAVE: "a chat: leave it",
    FOLLOW: "a task, as QUEUE/ID: read its events; not asked if the token names the task",
}
"""Action → "TARGET: what the user wants to do to the target"."""


class Authorization:
    """Asks the authorization hook of an application.

    Args:
        may: the hook. None allows every action; only members can read a chat or write to it anyway.
    """

    def __init__(self, may: May | None = None) -> None:
        self._may = may

    @property
    def has_hook(self) -> bool:
        """Return whether the application has a hook."""
        return self._may is not None

    async def allows(self, user: str, action: str, target: str) -> bool:
        """Return whether *user* may do *action* to *target*.

        Raises:
            RuntimeError: the hook raised an exception.
        """
        if self._may is None:
            return True
        try:
            answer = self._may(user, action, target)
            return bool(await answer if inspect.isawaitable(answer) else answer)
        except Exception as error:  # a RuntimeError, because clients do not see its text
            raise RuntimeError(f"the authorization hook failed on {action}") from error

    async def require(self, user: str, action: str, target: str) -> None:
        """Raise if the hook does not allow *action*, and write that into the audit log.

        Raises:
            Problem: *user* may not do *action* to *target*.
        """
        if not await self.allows(user, action, target):
            record(user, "user", action, {"target": target}, "refused")
            raise Problem("forbidden", f"you may not do this: {action}")
