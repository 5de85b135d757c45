"""Hold the objects that all mailboxes, chats and inboxes of a client share."""

from __future__ import annotations

from typing import Final

from ...core._async.caller import AsyncCaller
from ...core._async.catalog import AsyncCatalog
from ...core.names import Namespace
from ...core.notifier import Notifier
from .. import keys
from ..options import checked_name
from .log import AsyncLog
from .membership import AsyncMembership
from .sender import AsyncChatSender

_MAX_REMEMBERED: Final = 4096
"""Number of logs of chats in the cache at which the cache is cleared."""


class AsyncMessaging:
    """Hold the objects that mailboxes, chats and inboxes share, and create logs of mailboxes and
    chats.

    Args:
        caller: calls the server.
        notifier: notifies waiting readers.
        catalog: lists the mailboxes and chats in use.
        namespace: namespace of the mailboxes and chats.
    """

    def __init__(
        self, caller: AsyncCaller, notifier: Notifier, catalog: AsyncCatalog, namespace: Namespace
    ) -> None:
        self.caller = caller
        self.notifier = notifier
        self.catalog = catalog
        self.membership: AsyncMembership = AsyncMembership(caller, namespace)
        self.sender: AsyncChatSender = AsyncChatSender(caller)
        self._namespace = namespace
        self._chats: dict[str, AsyncLog] = {}

    @property
    def is_cluster(self) -> bool:
        """Return whether chats may live on several servers."""
        return self.caller.settings.topology == "cluster"

    def mailbox(self, name: str) -> AsyncLog:
        """Return a new log of the mailbox *name*."""
        unit = self._namespace.unit(keys.MAILBOX, checked_name(name, "a mailbox"))
        return AsyncLog(self.caller, unit)

    def chat(self, chat_id: str) -> AsyncLog:
        """Return the log of a chat, from the cache if possible."""
        log = self._chats.get(chat_id)
        if log is None:
            if len(self._chats) >= _MAX_REMEMBERED:
                self._chats.clear()
            unit = self._namespace.unit(keys.CHAT, checked_name(chat_id, "a chat"))
            log = self._chats[chat_id] = AsyncLog(self.caller, unit)
        return log
