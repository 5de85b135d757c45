"""One phone: what it takes to lose nothing over a connection that comes and goes.

* Reading: what was fetched is put on disk first and acknowledged then. Who is cut off between the
  two gets it again, and knows it by its number.
* Writing: every message has a name of its own, and is sent under that name until it is known to
  be sent. The server applies it once, however often it hears of it.

That is all. A connection has no state that would have to be restored.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from holdfast import (
    AsyncHoldfast,
    AsyncInbox,
    AsyncMailbox,
    Batch,
    Message,
    NoSuchChat,
    OutcomeUnknown,
    ServerUnavailable,
)

from .day import Act
from .journal import Journal, Record

PAUSE_S = 0.1  # without a signal
WAIT_S = 30.0  # for news, in one call
READ_S = 0.1  # what an app does with news: show it, fetch the picture, make a sound
KEEP = 100_000  # messages of a chat: who joins late wants to read what was said before


class Phone:
    """The phone of *user*.

    Args:
        hf: its own connection to the server.
        user: its owner.
        journal: what it has on disk.
    """

    def __init__(self, hf: AsyncHoldfast, user: str, journal: Journal) -> None:
        self._hf = hf
        self._user = user
        self._journal = journal

    async def read_chats(self) -> None:
        """Read all chats of the user without an end."""
        await self._read(self._hf.inbox(self._user))

    async def read_mailbox(self) -> None:
        """Read the one-to-one messages to the user without an end."""
        await self._read(self._hf.mailbox(self._user))

    async def write(self, acts: Sequence[Act], *, began_at: float) -> None:
        """Do what the day wants of the user, if that was not done before.

        Args:
            acts: of the user, in order.
            began_at: when the day began, in seconds of `time.time`.
        """
        done = {record["done"] for record in self._journal.records() if "done" in record}
        for act in acts:
            if act.id not in done:
                await asyncio.sleep(began_at + act.at - time.time())
                await self._insist(act)

    async def _read(self, source: AsyncMailbox | AsyncInbox) -> None:
        while True:
            try:
                news = await source.fetch(timeout=WAIT_S)
                for batch in [news] if isinstance(news, Batch) else news:
                    self._journal.note(*_received(batch))
                    await asyncio.sleep(READ_S)
                    await source.ack(batch)
                    self._journal.note({"acked": batch.source, "upto": batch.upto})
            except (ServerUnavailable, OutcomeUnknown):
                await asyncio.sleep(PAUSE_S)

    async def _insist(self, act: Act) -> None:
        while True:
            try:
                seq = await self._do(act)
            except OutcomeUnknown:
                self._journal.note({"unsure": act.id})
            except (ServerUnavailable, NoSuchChat):  # its first phone may be in a tunnel
                pass
            else:
                self._journal.note({"done": act.id, "seq": seq})
                return
            await asyncio.sleep(PAUSE_S)

    async def _do(self, act: Act) -> int:
        """Do it; the number of the message that this makes, 0 for none."""
        body = {"id": act.id, "text": act.text}
        match act.kind:
            case "begin":
                await self._hf.create_chat(
                    act.members,
                    sender=self._user,
                    body=body,
                    chat_id=act.to,
                    keep=KEEP,
                    op_id=act.id,
                )
                return 1
            case "join":
                await self._hf.chat(act.to).join(self._user, start="floor", op_id=act.id)
                return 0
            case "say":
                chat = self._hf.chat(act.to)
                return await chat.send(body, sender=self._user, op_id=act.id)
            case "whisper":
                mailbox = self._hf.mailbox(act.to)
                return await mailbox.send(body, sender=self._user, op_id=act.id)


def _received(batch: Batch) -> list[Record]:
    """Return a batch as records on disk."""
    records: list[Record] = []
    if batch.gap:
        records.append({"gap": batch.source, "first": batch.gap.first, "last": batch.gap.last})
    for message in batch.messages:
        record: Record = {"got": batch.source, "seq": message.seq, "from": message.sender}
        if isinstance(message, Message):
            record |= message.body
        waited_s = time.time() - message.sent_at.timestamp()
        records.append(record | {"waited_s": round(waited_s, 4)})
    return records
