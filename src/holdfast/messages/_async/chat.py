"""The chat as its members see it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from ...core.checks import checked_int
from ...core.clock import Duration
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
    checked_idle_ms,
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
    """A chat by id: its members send to all of them, and read in their inboxes.

    Made by `AsyncHoldfast.chat` and `AsyncHoldfast.create_chat`; costs nothing, and serves all
    tasks and threads. It ends when its last member leaves.
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
            body: a JSON value, or bytes; at most 1 MiB, and no empty text.
            sender: a member.
            op_id: see `OutcomeUnknown`.

        Returns:
            Its number.

        Raises:
            NoSuchChat: there is none.
            NotAMember: the sender is no member.
            PayloadTooLarge: the body is over the limit.
        """
        checked_name(sender, "a sender")
        stored = encoded_body(body, self._log.message)
        message = OutgoingMessage(sender, stored, b"", partial(self.send, body, sender=sender))
        reply = await self._messaging.sender.send(self._log, message, op_id)
        if reply == b"missing":
            raise NoSuchChat(self.chat_id)
        if reply == b"stranger":
            raise NotAMember(sender, self.chat_id)
        if not self._messaging.catalog.has(self._log.unit):
            await self._messaging.catalog.note(self._log.unit)
        if not self._messaging.membership.has_acted(sender, self.chat_id):
            await self._messaging.membership.acts(sender, self.chat_id)
        return int(reply)

    async def join(
        self,
        user: str,
        *,
        start: Start = "now",
        by: str | None = None,
        op_id: str | None = None,
    ) -> bool:
        """Make *user* a member. Who is one already stays where it is.

        Args:
            user: who.
            start: what it reads: `now`, what is sent from now on; `floor`, all that is kept; or
                the number of the first message to read. It never sees what was sent before, unless
                the chat was created with `history="open"`.
            by: who adds it, and must be a member; None: anybody may.
            op_id: see `OutcomeUnknown`.

        Returns:
            Whether it became one by this call.

        Raises:
            NoSuchChat: there is none.
            NotAMember: *by* is no member.
            NoSuchMessage: *start* is beyond the next message.
            TooManyMembers: 10,000 are members already.
        """
        checked_name(user, "a member")
        first, adding = checked_start(start), checked_reader(by)
        again = partial(self.join, user, start=start, by=by)
        with self._messaging.caller.writers.operation(op_id, again, verb="join") as write:
            note = None
            if not adding or await self._has(adding):  # for a stranger no list is touched
                [note] = await self._messaging.membership.add([user], self.chat_id, by=adding)
            reply = await self._log.write(JOIN, write, user, first, MAX_MEMBERS, adding)
        if reply[0] not in (b"joined", b"member") and reply[1:] != [b"member"]:
            await self._take_off(user, note)
        match reply[0]:
            case b"missing":
                raise NoSuchChat(self.chat_id)
            case b"stranger":
                raise NotAMember(adding, self.chat_id)
            case b"full":
                raise TooManyMembers(f"chat {self.chat_id!r}", int(reply[1]) + 1, MAX_MEMBERS)
            case b"beyond":
                raise NoSuchMessage(str(self._log.unit), int(first), int(reply[1]))
        await _add_again(self._messaging, [user], self.chat_id, adding)
        return bool(reply[0] == b"joined")

    async def leave(self, user: str, *, op_id: str | None = None) -> bool:
        """Let *user* be a member no longer. When the last one leaves, the chat is gone.

        Args:
            user: who.
            op_id: see `OutcomeUnknown`.

        Returns:
            Whether it was a member; False also if there is no such chat.
        """
        checked_name(user, "a member")
        again = partial(self.leave, user)
        with self._messaging.caller.writers.operation(op_id, again, verb="leave") as write:
            noted = await self._messaging.membership.noted(user, self.chat_id)
            answer, is_member, exists = await self._log.write(LEAVE, write, user)
        if not is_member:
            await self._take_off(user, noted)
        if answer == b"last" and not exists:
            await self._forget()
        return bool(answer != b"stranger")

    async def _has(self, user: str) -> bool:
        unit = self._log.unit
        found = await self._messaging.caller.read(unit, "ZSCORE", keys.cursors(unit), user)
        return found is not None

    async def _take_off(self, user: str, noted: bytes | None) -> None:
        """Take the chat off the list of *user*, unless it was noted anew since then."""
        if noted is not None:
            await self._messaging.membership.remove(user, {self.chat_id: noted}, age_ms=0)

    async def members(self, *, reader: str | None = None) -> Mapping[str, int]:
        """The members, and the number up to which each has acknowledged.

        Args:
            reader: who wants to know, and must be a member; None: anybody may.

        Raises:
            NoSuchChat: there is none.
            NotAMember: *reader* is no member.
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
        """The members who have acknowledged the message *seq*.

        Args:
            seq: its number.
            reader: as of `members`.

        Raises:
            NoSuchChat, NotAMember: as of `members`.
        """
        checked_seq(seq)
        members = await self.members(reader=reader)
        return [user for user, read_seq in members.items() if read_seq >= seq]

    async def status(self, *, limit: int = 100) -> ChatStatus:
        """What it keeps, and who holds that back; for people and dashboards.

        Args:
            limit: members at most, those furthest behind; 1 to 1,000.

        Raises:
            NoSuchChat: there is none.
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
        """Messages that are kept, read or not; the oldest of them first, as people read.

        Args:
            before: those before this number, to go back page by page; None the newest ones.
            after: instead the oldest ones after this number, to follow what is sent.
            limit: how many at most, 1 to 1,000; fewer come if they take more than 4 MiB.
            reader: who wants to see them, and must be a member. A member who joined later sees what
                was sent since (see `start` of `join`). None: anybody may see all, so name the
                reader if the answer goes to a user.

        Raises:
            NoSuchChat: there is none.
            NotAMember: *reader* is no member.
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
        """Change how long messages are kept, for everyone, from the next message on.

        Args:
            keep: as in `AsyncHoldfast.create_chat`; None leaves it as it is.
            idle_ttl: likewise.
            history: likewise; it holds at once. Members who joined while it was `open` may read
                everything ever after.
            op_id: see `OutcomeUnknown`.

        Raises:
            NoSuchChat: there is none.
        """
        settings: list[tuple[str, str | bytes | int]] = []
        if keep is not None:
            settings.append(("keep", checked_keep(keep)))
        if idle_ttl is not None:
            settings.append(("idle_ms", checked_idle_ms(idle_ttl)))
        if history is not None:
            settings.append(("history", checked_history(history)))
        if not settings:
            raise ValueError("say what is to change: keep, idle_ttl or history")
        again = partial(self.redefine, keep=keep, idle_ttl=idle_ttl, history=history)
        await self._log.redefine("", settings, op_id=op_id, repeat=again)

    async def _forget(self) -> None:
        try:
            await self._messaging.catalog.forget(self._log.unit)
        except HoldfastError:  # a list for people: it forgets by itself
            return


async def _add_again(messaging: AsyncMessaging, users: list[str], chat_id: str, by: str) -> None:
    """Note once more that *users* have a chat, now that they have.

    A reader may have taken the first note for a left-over meanwhile. This one is a hint to a hint.
    """
    try:
        await messaging.membership.add(users, chat_id, by=by)
    except HoldfastError:
        return


async def create_chat(
    messaging: AsyncMessaging, options: ChatOptions, body: Any, *, op_id: str | None
) -> AsyncChat:
    """Begin a chat; see `AsyncHoldfast.create_chat`."""
    stored = encoded_body(body, "a message to a new chat")
    again = partial(create_chat, messaging, options, body)
    with messaging.caller.writers.operation(op_id, again, verb="create_chat") as write:
        chat_id = options.chat_id or write.label
        log = messaging.chat(chat_id)
        # Before the chat: whoever is a member of it must find it.
        await messaging.membership.add(options.members, chat_id, by=options.sender)
        settings = (options.keep, options.idle_ms, log.channel, options.history)
        said = (options.sender, stored, *settings)
        answer = await log.send(CREATE, write, *said, then=options.members)
    if answer == b"exists":
        raise ChatExists(chat_id)
    await _add_again(messaging, options.members, chat_id, options.sender)
    await messaging.catalog.note(log.unit)
    return AsyncChat(messaging, chat_id)
