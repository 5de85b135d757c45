"""All chats of one user."""

from __future__ import annotations

from collections.abc import Mapping

from ...core._async.caller import Step
from ...core.clock import Duration
from ...core.names import Unit
from ...errors import HoldfastError
from ..chat_list import ChatList
from ..message import Batch, Position
from ..options import checked_name, checked_positions
from ..seen_positions import batch_position
from ..states import Unread
from .inbox_chats import AsyncInboxChats
from .inbox_stream import AsyncInboxStream
from .log import UNREAD
from .messaging import AsyncMessaging
from .reader import AsyncReader


class AsyncInbox(AsyncReader):
    """The inbox of a user: what is new in all its chats.

    Made by `AsyncHoldfast.inbox`. One object serves all tasks and threads. It remembers what it
    has handed out, so that it notices when the server loses that.

    It looks at 1,000 chats of the user's own: those that the user created, joined by itself, wrote
    in or acknowledged something in, the latest noted first. Chats to which others added the user
    have as much room as is left of these 1,000, and at least 100 places; beyond that, the oldest
    chat of the member who added the user to the most chats is taken off the list.
    """

    def __init__(self, messaging: AsyncMessaging, user: str) -> None:
        self.user = checked_name(user, "a user")
        super().__init__(messaging, messaging.membership.unit(user))
        self._chats = AsyncInboxChats(messaging, self.user, self._seen)
        self._listing = ChatList(0, {})

    def __repr__(self) -> str:
        return f"AsyncInbox({self.user!r})"

    async def fetch(
        self,
        *,
        limit: int = 100,
        timeout: Duration | None = 0.0,
        after: Mapping[str, Position] | None = None,
    ) -> list[Batch]:
        """What is not acknowledged, by chat: the one whose oldest unread message is oldest first.

        Chats in which the user has neither sent nor acknowledged anything come after the others.

        Changes nothing: `ack` each batch when it is done.

        Args:
            limit: messages at most in all, 1 to 1,000; fewer come if they take more than 4 MiB.
            timeout: seconds to wait for the first one (or a timedelta); 0 not at all, None for
                ever.
            after: chat → position of the last batch that this device has of it: what comes next is
                read from there on, not from what the user has acknowledged, perhaps on another
                device. If the server has lost what the device has, a `Gap` with the reason `reset`
                says so, and all messages that the user may read come again. Other chats are read
                as usual.

        Returns:
            A batch for each chat with news; empty if there is none.

        Raises:
            DecodeError: what is stored of a chat is damaged, and nothing is new in the others.
        """
        return await self._news(limit, timeout, checked_positions(after or {}))

    def stream(self, *, after: Mapping[str, Position] | None = None) -> AsyncInboxStream:
        """Return a stream of what comes into the inbox, for one device that stays connected.

        It reads all chats once, and later only those of which the server says that something is
        new. `fetch` reads all chats each time.

        Args:
            after: chat → position of the last batch that this device has of it, as in `fetch`.
        """
        return AsyncInboxStream(
            self.user, self._messaging, self._chats, checked_positions(after or {})
        )

    async def ack(self, batch: Batch) -> None:
        """Be done with all messages of a batch, and all before them in its chat.

        Acknowledging twice, or late, changes nothing: it never goes back.

        Raises:
            StaleBatch: the server lost the chat, or what the batch ends with, and has given the
                number to another message; fetch again.
            NotAMember: the user has left the chat.
            NoSuchChat: there is none.
            NoSuchMessage: the server lost the newest messages; fetch again.
        """
        if not isinstance(batch, Batch):
            raise TypeError(f"ack takes a Batch, as fetched, not {type(batch).__name__}")
        if not batch.upto:
            return
        log = self._messaging.chat(batch.source)
        await log.ack(self.user, batch_position(batch), batch.position)
        self._seen.note(batch.source, batch.position)
        await self._messaging.membership.acts(self.user, batch.source)

    async def unread(self) -> dict[str, int]:
        """How many messages are not acknowledged, for each chat of the user, ordered as by `chats`.

        Raises:
            DecodeError: what is stored of a chat is damaged.
        """
        return {chat: known.messages for chat, known in await self._standing()}

    async def chats(self) -> list[str]:
        """The ids of the chats of the user, the one with the newest message first.

        Raises:
            DecodeError: what is stored of a chat is damaged.
        """
        return [chat for chat, _ in await self._standing()]

    async def size(self) -> int:
        """Return how many chats the other methods look at: what they cost the server."""
        return await self._messaging.membership.size(self.user)

    async def _standing(self) -> list[tuple[str, Unread]]:
        """Return the chats of which the user is a member, the one with the newest message first."""
        listing = await self._messaging.membership.read(self.user)
        groups = self._chats.grouped(listing.chats)
        steps: list[Step] = []
        for group in groups:
            names = [name for _, log in group for name in log.unread_keys]
            steps.append((group[0][1].unit, names, [self.user, len(group)]))
        found: list[tuple[str, Unread]] = []
        answers = await self._messaging.caller.call_many(UNREAD, steps)
        for group, answer in zip(groups, answers, strict=True):
            if isinstance(answer, HoldfastError):
                raise answer
            for (chat, _), *known in zip(group, answer[::2], answer[1::2], strict=True):
                if known[0]:
                    found.append((chat, Unread.of(*known)))
        noted = {chat: number for number, chat in enumerate(listing.chats)}
        return sorted(found, key=lambda each: (-each[1].newest_ms, noted[each[0]]))

    async def _look(
        self, limit: int, after: Mapping[str, Position]
    ) -> tuple[list[Batch], frozenset[Unit]]:
        seen, before = self._seen.snapshot() | dict(after), self._listing
        listing = await self._messaging.membership.read(self.user)
        found = await self._chats.read(
            listing, listing.chats, seen, limit, after, news=listing.since(before, assumed=after)
        )
        self._listing = listing
        # Also those that the user is about to join: whoever takes it in may die before it says so.
        units = frozenset(
            [self._unit, *(self._messaging.chat(chat).unit for chat in listing.chats)]
        )
        return found.checked(), units
