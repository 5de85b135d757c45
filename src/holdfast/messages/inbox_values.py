"""Define the results of an inbox: lists and counts with the number of chats that were not read.

An inbox reads at most 1,000 of the user's own chats.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .message import Batch


class InboxBatches(list[Batch]):
    """Hold the batches of new messages, one for each chat with new messages.

    Attributes:
        skipped_chats: number of chats that were not read, because the user has more than 1,000.
    """

    def __init__(self, batches: Iterable[Batch], skipped_chats: int) -> None:
        super().__init__(batches)
        self.skipped_chats = skipped_chats


class InboxChatIds(list[str]):
    """Hold the ids of the chats of a user.

    Attributes:
        skipped_chats: number of chats that are missing, because the user has more than 1,000.
    """

    def __init__(self, chats: Iterable[str], skipped_chats: int) -> None:
        super().__init__(chats)
        self.skipped_chats = skipped_chats


class InboxUnread(dict[str, int]):
    """Map each chat to its number of unread messages.

    Attributes:
        skipped_chats: number of chats that are missing, because the user has more than 1,000.
    """

    def __init__(self, unread: Mapping[str, int], skipped_chats: int) -> None:
        super().__init__(unread)
        self.skipped_chats = skipped_chats
