"""Authorization: whether a user may do something to another user or to a chat."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Final

from ..audit_log import record
from ..problems import Problem

May = Callable[[str, str, str], bool | Awaitable[bool]]
"""`may(user, action, target)`: whether *user* may do *action* to *target*."""

SEND_MAIL: Final = "mailbox.send"
CREATE: Final = "chat.create"
INVITE: Final = "chat.invite"
ADD: Final = "chat.add"
SEND: Final = "chat.send"
READ: Final = "chat.read"
MEMBERS: Final = "chat.members"
ACK: Final = "chat.ack"
LEAVE: Final = "chat.leave"

ACTIONS: Final = {
    SEND_MAIL: "a user: put a message into this user's mailbox",
    CREATE: "the user itself: create a chat",
    INVITE: "a user: make this user a member of a chat, new or existing",
    ADD: "a chat: add a member to it",
    SEND: "a chat: send a message to it",
    READ: "a chat: read its messages, also in the inbox and on a stream",
    MEMBERS: "a chat: list its members",
    ACK: "a chat: acknowledge messages of it",
    LEAVE: "a chat: leave it",
}
"""Action → its target, and what the user does to it."""


class Authorization:
    """Asks the hook of an application.

    Args:
        may: the hook; None allows everything that members of chats may do.
    """

    def __init__(self, may: May | None = None) -> None:
        self._may = may

    async def allows(self, user: str, action: str, target: str) -> bool:
        """Return whether *user* may do *action* to *target*.

        Raises:
            RuntimeError: the hook raised.
        """
        if self._may is None:
            return True
        try:
            answer = self._may(user, action, target)
            return bool(await answer if inspect.isawaitable(answer) else answer)
        except Exception as error:  # its text is not for clients
            raise RuntimeError(f"the authorization hook failed on {action}") from error

    async def require(self, user: str, action: str, target: str) -> None:
        """Refuse what the hook does not allow.

        Raises:
            Problem: *user* may not do it.
        """
        if not await self.allows(user, action, target):
            record(user, "user", action, {"target": target}, "refused")
            raise Problem("forbidden", f"you may not do this: {action}")
