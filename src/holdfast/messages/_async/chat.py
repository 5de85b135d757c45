"""Provide the public class of chats, and create chats."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from ...core.checks import checked_int
from ...core.clock import Duration, to_ms
from ...core.script import Script
from ...errors import (
    ChatExists,
    HoldfastError,
    NoSuchChat,
    NoSuchMessage,
    NotAMember,
    TooManyMembers,
)
from .. import keys
from ..body import encoded_body
from ..message import Message, Undecodable
from ..options import (
    MAX_LIMIT,
    MAX_MEMBERS,
    ChatOptions,
    History,
    Keep,
    Start,
    check_edges,
    checked_history,
    checked_keep,
    checked_name,
    checked_reader,
    checked_seq,
    checked_start,
)
from ..outgoing import OutgoingMessage
from ..states import ChatStatus, chat_status, read_seq
from .messaging import AsyncMessaging

CREATE: Final = Script.load("holdfast.messages", "create")
JOIN: Final = Script.load("holdfast.messages", "join")
CHAT_STATUS: Final = Script.load("holdfast.messages", "chat_status")
LEAVE: Final = Script.load("holdfast.messages", "leave")


class AsyncChat:
    """Send messages to all members of a chat. The members read them in their inboxes.

    Create the object with `AsyncHoldfast.chat` (without a call to the server) or
    `AsyncHoldfast.create_chat`. All tasks and threads may share it. The server deletes a chat when
    its last member leaves.
    """

    def __init__(self, messaging: AsyncMessaging, chat_id: str) -> None:
        self._messaging = messaging
        self._log = messaging.chat(chat_id)
        self.chat_id = chat_id

    def __repr__(self) -> str:
        return f"AsyncChat({self.chat_id!r})"

    async def send(self, body: Any, *, sender: str, op_id: str | None = None) -> int:
        """Send a message to all members.

        Args:
            body: a JSON value, or bytes; at most 1 MiB, and not empty.
            sender: name of the member who sends the message.
            op_id: see `OutcomeUnknown`.

        Returns:
            The number of the message.

        Raises:
            NoSuchChat: the chat does not exist.
            NotAMember: the sender is not a member.
            PayloadTooLarge: the body is over the limit.
        """
        checked_name(sender, "a sender")
        stored = encoded_body(body, self._log.message)
        message = OutgoingMessage(sender, stored, b"", partial(self.send, body, sender=sender))
        messaging, unit = self._messaging, self._log.unit
        reply = await messaging.sender.send(self._log, message, op_id)
        if reply == b"missing":
            raise NoSuchChat(self.chat_id)
        if reply == b"not_member":
            raise NotAMember(sender, self.chat_id)
        if not messaging.catalog.has(unit):
            await messaging.catalog.note(unit)
        if not messaging.membership.is_active(sender, self.chat_id):
            await messaging.membership.note_activity(sender, self.chat_id)
        return int(reply)

    async def join(
        self,
        user: str,
        *,
        start: Start = "now",
        by: str | None = None,
        op_id: str | None = None,
    ) -> bool:
        """Make *user* a member. For a user who is a member already, nothing changes.

        Args:
            user: the user who joins.
            start: number of the first message that the user reads; or `now`: the next message that
                is sent; or `floor`: the oldest message that is kept. The user cannot read earlier
                messages, unless the chat has `history="open"`.
            by: the member who adds the user; None: do not check who adds the user.
            op_id: see `OutcomeUnknown`.

        Returns:
            True if the user was not a member before.

        Raises:
            NoSuchChat: the chat does not exist.
            NotAMember: *by* is not a member.
            NoSuchMessage: *start* is greater than the number of the next message.
            TooManyMembers: the chat has 10,000 members already.
        """
        checked_name(user, "a member")
        first, adder = checked_start(start), checked_reader(by)
        repeat = partial(self.join, user, start=start, by=by)
        membership = self._messaging.membership
        with self._messaging.caller.writers.operation(op_id, repeat, verb="join") as write:
            score = None
            if not adder or await self._has(
                adder
            ):  # only members may list the chat for another user
                [score] = await membership.add([user], self.chat_id, by=adder)
            reply = await self._log.write(JOIN, write, user, first, MAX_MEMBERS, adder)
        if reply[0] not in (b"joined", b"member") and reply[1:] != [b"member"]:
            await self._unlist(user, score)
        match reply[0]:
            case b"missing":
                raise NoSuchChat(self.chat_id)
            case b"not_member":
                raise NotAMember(adder, self.chat_id)
            case b"full":
                raise TooManyMembers(f"chat {self.chat_id!r}", int(reply[1]) + 1, MAX_MEMBERS)
            case b"beyond":
                raise NoSuchMessage(str(self._log.unit), int(first), int(reply[1]))
        await membership.try_to_add([user], self.chat_id, by=adder)
        return bool(reply[0] == b"joined")

    async def leave(self, user: str, *, op_id: str | None = None) -> bool:
        """Remove *user* from the members. The server deletes a chat without members.

        Args:
            user: the member who leaves.
            op_id: see `OutcomeUnknown`.

        Returns:
            True if the user was a member. False also if the chat does not exist.
        """
        checked_name(user, "a member")
        repeat = partial(self.leave, user)
        with self._messaging.caller.writers.operation(op_id, repeat, verb="leave") as write:
            score = await self._messaging.membership.score(user, self.chat_id)
            answer, is_member, exists = await self._log.write(LEAVE, write, user)
        if not is_member:
            await self._unlist(user, score)
        if answer == b"last" and not exists:
            await self._forget()
        return bool(answer != b"not_member")

    async def _has(self, user: str) -> bool:
        unit = self._log.unit
        found = await self._messaging.caller.read(unit, "ZSCORE", keys.cursors(unit), user)
        return found is not None

    async def _unlist(self, user: str, score: bytes | None) -> None:
        """Remove the chat from the list of *user* if it has *score* there: otherwise it was added
        again meanwhile."""
        if score is not None:
            await self._messaging.membership.remove(user, {self.chat_id: score}, age_ms=0)

    async def members(self, *, reader: str | None = None) -> Mapping[str, int]:
        """Return each member with the number up to which it has acknowledged messages.

        Args:
            reader: the user who gets the result, who must be a member; None: do not check this.

        Raises:
            NoSuchChat: the chat does not exist.
            NotAMember: *reader* is not a member.
        """
        who, name = checked_reader(reader), keys.cursors(self._log.unit)
        reply = await self._messaging.caller.read(
            self._log.unit, "ZRANGE", name, 0, MAX_MEMBERS, "WITHSCORES"
        )
        if not reply:
            raise NoSuchChat(self.chat_id)
        pairs = zip(reply[::2], reply[1::2], strict=True)
        found = {
            user.decode(errors="backslashreplace"): read_seq(seq, f"a score of {name}")
            for user, seq in pairs
        }
        if who and who not in found:
            raise NotAMember(who, self.chat_id)
        return found

    async def read_by(self, seq: int, *, reader: str | None = None) -> list[str]:
        """Return the members who have acknowledged the message *seq*.

        Args:
            seq: the number of the message.
            reader: as in `members`.

        Raises:
            NoSuchChat, NotAMember: as in `members`.
        """
        checked_seq(seq)
        members = await self.members(reader=reader)
        return [user for user, read_seq in members.items() if read_seq >= seq]

    async def status(self, *, limit: int = 100) -> ChatStatus:
        """Return which messages the chat keeps, and for which members.

        Args:
            limit: maximum number of members in the result, 1 to 1,000; those furthest behind.

        Raises:
            NoSuchChat: the chat does not exist.
        """
        unit, caller = self._log.unit, self._messaging.caller
        limit = checked_int(limit, "limit", 1, MAX_LIMIT)
        reply = await caller.call(CHAT_STATUS, unit, CHAT_STATUS.keys(unit), [limit])
        if not reply[2]:
            raise NoSuchChat(self.chat_id)
        stored_bytes = await caller.read(unit, "MEMORY", "USAGE", keys.log(unit))
        return chat_status(reply, stored_bytes or 0)

    async def history(
        self,
        *,
        before: int | None = None,
        after: int | None = None,
        limit: int = 50,
        reader: str | None = None,
    ) -> list[Message | Undecodable]:
        """Return a page of messages that the chat keeps, acknowledged or not, the oldest first.

        Args:
            before: return the newest messages before this number, to go back page by page; None:
                the newest messages of the chat.
            after: return the oldest messages after this number, to go forward page by page; None:
                use *before*.
            limit: maximum number of messages, 1 to 1,000. The result has fewer if they take more
                than 4 MiB.
            reader: the user who gets the messages, who must be a member, and gets only messages
                that the user may read (see `start` of `join`). None: any message is returned.

        Raises:
            NoSuchChat: the chat does not exist.
            NotAMember: *reader* is not a member.
        """
        limit = checked_int(limit, "limit", 1, MAX_LIMIT)
        check_edges(before, after)
        who = checked_reader(reader)
        return await self._log.page(limit, before=before, after=after, reader=who)

    async def redefine(
        self,
        *,
        keep: Keep | None = None,
        idle_ttl: Duration | None = None,
        history: History | None = None,
        op_id: str | None = None,
    ) -> None:
        """Change the options of the chat for all clients, from the next message on.

        Args:
            keep: as in `AsyncHoldfast.create_chat`; None: unchanged.
            idle_ttl: as in `AsyncHoldfast.create_chat`; None: unchanged.
            history: as in `AsyncHoldfast.create_chat`; None: unchanged. It applies at once. Members
                who joined while it was `open` can always read all messages.
            op_id: see `OutcomeUnknown`.

        Raises:
            NoSuchChat: the chat does not exist.
        """
        settings: list[tuple[str, str | bytes | int]] = []
        if keep is not None:
            settings.append(("keep", checked_keep(keep)))
        if idle_ttl is not None:
            settings.append(("idle_ms", to_ms(idle_ttl, "idle_ttl")))
        if history is not None:
            settings.append(("history", checked_history(history)))
        if not settings:
            raise ValueError("nothing to change: give keep, idle_ttl or history")
        repeat = partial(self.redefine, keep=keep, idle_ttl=idle_ttl, history=history)
        await self._log.redefine("", settings, op_id=op_id, repeat=repeat)

    async def _forget(self) -> None:
        try:
            await self._messaging.catalog.forget(self._log.unit)
        except HoldfastError:  # the catalog drops unused names by itself
            return


async def create_chat(
    messaging: AsyncMessaging, options: ChatOptions, body: Any, *, op_id: str | None
) -> AsyncChat:
    """Create a chat; see `AsyncHoldfast.create_chat`."""
    stored = encoded_body(body, "a message to a new chat")
    repeat = partial(create_chat, messaging, options, body)
    with messaging.caller.writers.operation(op_id, repeat, verb="create_chat") as write:
        chat_id = options.chat_id or write.label
        log = messaging.chat(chat_id)
        # Add the chat to the lists first. If the client then crashes, the lists contain a chat that
        # does not exist, which is harmless. In the other order, members would not find the chat.
        await messaging.membership.add(options.members, chat_id, by=options.sender)
        settings = (options.keep, options.idle_ms, log.channel, options.history)
        args = (options.sender, stored, *settings)
        answer = await log.send(CREATE, write, *args, members=options.members)
    if answer == b"exists":
        raise ChatExists(chat_id)
    await messaging.membership.try_to_add(options.members, chat_id, by=options.sender)
    await messaging.catalog.note(log.unit)
    return AsyncChat(messaging, chat_id)
