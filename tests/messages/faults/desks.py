"""Where actors write and read: a chat or a mailbox of either half, or the textbook's chat."""

import json
import time
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import redis

from faults.halves import Half, Interrupted
from faults.interrupts import struck
from holdfast import Batch, Message, OutcomeUnknown, ServerUnavailable

PLACE = "place"
"""The name of the chat, or of the mailbox."""

AGAIN_S = 0.005
PATIENCE_S = 20.0


class News(NamedTuple):
    """What one fetch brought.

    Attributes:
        seqs: numbers of messages.
        bodies: of them.
        gap: first, last and reason of what is missing before them.
        batch: to acknowledge it by.
    """

    seqs: list[int]
    bodies: list[Any]
    gap: tuple[int, int, str] | None = None
    batch: Any = None

    @property
    def upto(self) -> int:
        """The last number."""
        return self.seqs[-1] if self.seqs else self.gap[1] if self.gap else 0


NOTHING = News([], [])


class Desk(Protocol):
    """What an actor needs."""

    def send(self, body: Any, sender: str, op_id: str) -> int:
        """Send exactly once, whatever happens; the number of the message."""
        ...

    def fetch(self, limit: int) -> News:
        """What is new, perhaps after a while."""
        ...

    def ack(self, news: News) -> None:
        """Be done with it."""
        ...

    def join(self, user: str) -> None:
        """Be a member."""
        ...

    def leave(self, user: str, chat: str = PLACE) -> None:
        """Be one no longer."""
        ...

    def close(self) -> None:
        """Leave no connection."""
        ...


class HoldfastDesk:
    """Ours.

    Args:
        half: which one.
        url: of the server.
        namespace: of the round.
        kind: `chat` or `mailbox`.
        user: who sits here.
        access: see `opened`.
        storm_s: see `Half`.
        alarm_s: see `struck`.
    """

    def __init__(
        self,
        half: str,
        url: str,
        namespace: str,
        *,
        kind: str,
        user: str,
        access: str = "",
        storm_s: float = 0.0,
        alarm_s: float = 0.0,
    ) -> None:
        self._half = Half(half, storm_s=storm_s)
        self._alarm_s = alarm_s
        self._hf = hf = self._half.client(url, namespace, access)
        self._place = hf.chat(PLACE) if kind == "chat" else hf.mailbox(PLACE)
        self._reading = hf.inbox(user) if kind == "chat" else self._place

    def send(self, body: Any, sender: str, op_id: str) -> int:
        return self._insist(lambda: self._place.send(body, sender=sender, op_id=op_id))

    def fetch(self, limit: int) -> News:
        try:
            found = self._done(lambda: self._reading.fetch(limit=limit, timeout=0.05))
        except (ServerUnavailable, Interrupted):
            time.sleep(AGAIN_S)
            return NOTHING
        batches: list[Batch] = [found] if isinstance(found, Batch) else found
        return _news(batches[0]) if any(batches) else NOTHING

    def ack(self, news: News) -> None:
        self._done(lambda: self._reading.ack(news.batch))

    def join(self, user: str) -> None:
        self._insist(lambda: self._place.join(user, start="floor"))

    def leave(self, user: str, chat: str = PLACE) -> None:
        self._insist(lambda: self._hf.chat(chat).leave(user))

    def close(self) -> None:
        self._half.close()

    def _done(self, do: Callable[[], Any]) -> Any:
        return self._half.do(struck(do, self._alarm_s))

    def _insist(self, do: Callable[[], Any]) -> Any:
        until_s = time.monotonic() + PATIENCE_S
        while True:
            try:
                return self._done(do)
            except OutcomeUnknown as error:
                do = error.repeat
            except Interrupted:
                continue  # it has a name, or is harmless to repeat
            except ServerUnavailable:
                if time.monotonic() > until_s:
                    raise
                time.sleep(AGAIN_S)


def _news(batch: Batch) -> News:
    bodies = [message.body for message in batch.messages if isinstance(message, Message)]
    gap = (batch.gap.first, batch.gap.last, batch.gap.reason) if batch.gap else None
    return News([message.seq for message in batch.messages], bodies, gap, batch)


class SeedDesk:
    """The chat that everybody writes first (Redis in Action, section 6.5.2).

    Numbers come from a counter, under a lock that is kept for ever; messages lie in a ZSET by their
    number; and who fetches has thereby read. Only what is tested here is there.
    """

    def __init__(self, half: str, url: str, namespace: str, *, kind: str, user: str) -> None:
        del half, kind
        self._client = redis.Redis.from_url(url)
        self._ids, self._messages = f"{namespace}:ids", f"{namespace}:msgs"
        self._chat, self._lock = f"{namespace}:chat", f"{namespace}:lock"
        self._user = user

    def send(self, body: Any, sender: str, op_id: str) -> int:
        del sender
        until_s = time.monotonic() + 1.0
        while not self._client.setnx(self._lock, op_id):
            if time.monotonic() > until_s:
                raise TimeoutError("could not get the lock")
            time.sleep(0.001)
        try:
            seq = int(self._client.incr(self._ids))
            self._client.zadd(self._messages, {json.dumps({"id": seq, "body": body}): seq})
        finally:
            self._client.delete(self._lock)
        return seq

    def fetch(self, limit: int) -> News:
        seen = self._client.zscore(self._chat, self._user) or 0
        found: Any = self._client.zrangebyscore(self._messages, seen + 1, "inf", 0, limit)
        if not found:
            time.sleep(AGAIN_S)
            return NOTHING
        messages = [json.loads(each) for each in found]
        self._client.zadd(self._chat, {self._user: messages[-1]["id"]})
        return News([each["id"] for each in messages], [each["body"] for each in messages])

    def ack(self, news: News) -> None:
        """Done already, that is the trouble."""

    def join(self, user: str) -> None:
        raise NotImplementedError

    def leave(self, user: str, chat: str = PLACE) -> None:
        raise NotImplementedError

    def close(self) -> None:
        self._client.close()


DESKS: dict[str, Callable[..., Desk]] = {
    "holdfast": HoldfastDesk,
    "seed": SeedDesk,
}
