"""What actors write to and read from: a chat or a mailbox of either half, or a textbook chat."""

import json
import random
import time
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import redis

from faults.halves import Half, Interrupted
from faults.interrupts import struck
from holdfast import Batch, Message, OutcomeUnknown, ServerUnavailable

TARGET = "target"
"""The name of the chat, or of the mailbox."""

AGAIN_S = 0.005
PATIENCE_S = 20.0


class Fetched(NamedTuple):
    """The result of one fetch.

    Attributes:
        seqs: the numbers of the messages.
        bodies: the bodies of the messages.
        gap: first number, last number and reason of the gap before them.
        batch: the batch, to acknowledge it.
    """

    seqs: list[int]
    bodies: list[Any]
    gap: tuple[int, int, str] | None = None
    batch: Any = None

    @property
    def upto(self) -> int:
        """Return the last number."""
        return self.seqs[-1] if self.seqs else self.gap[1] if self.gap else 0


NOTHING = Fetched([], [])


class Endpoint(Protocol):
    """The operations of an actor."""

    def send(self, body: Any, sender: str, op_id: str) -> int:
        """Send a message exactly once, whatever fails; return its number."""
        ...

    def fetch(self, limit: int) -> Fetched:
        """Return new messages; wait for a short time if there are none."""
        ...

    def ack(self, result: Fetched) -> None:
        """Acknowledge *result*."""
        ...

    def join(self, user: str) -> None:
        """Make *user* a member."""
        ...

    def leave(self, user: str, chat: str = TARGET) -> None:
        """Remove *user* from the members."""
        ...

    def close(self) -> None:
        """Close all connections."""
        ...


class HoldfastEndpoint:
    """A chat or mailbox of Holdfast.

    Args:
        half: `sync` or `async`.
        url: URL of the server.
        namespace: namespace of the round.
        kind: `chat` or `mailbox`.
        user: the user who sends or reads.
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
        self._target = hf.chat(TARGET) if kind == "chat" else hf.mailbox(TARGET)
        self._reading = hf.inbox(user) if kind == "chat" else self._target
        self._is_inbox = kind == "chat"

    def send(self, body: Any, sender: str, op_id: str) -> int:
        return self._retry(lambda: self._target.send(body, sender=sender, op_id=op_id))

    def fetch(self, limit: int) -> Fetched:
        try:
            found = self._do(lambda: self._reading.fetch(limit=limit, timeout=0.05))
        except (ServerUnavailable, Interrupted):
            time.sleep(AGAIN_S)
            return NOTHING
        batches: list[Batch] = [found] if isinstance(found, Batch) else found
        return _fetched(batches[0]) if any(batches) else NOTHING

    def ack(self, result: Fetched) -> None:
        if self._is_inbox and random.random() < 0.5:
            self._do(lambda: self._reading.ack_all([result.batch]))
        else:
            self._do(lambda: self._reading.ack(result.batch))

    def join(self, user: str) -> None:
        self._retry(lambda: self._target.join(user, start="floor"))

    def leave(self, user: str, chat: str = TARGET) -> None:
        self._retry(lambda: self._hf.chat(chat).leave(user))

    def close(self) -> None:
        self._half.close()

    def _do(self, do: Callable[[], Any]) -> Any:
        return self._half.do(struck(do, self._alarm_s))

    def _retry(self, do: Callable[[], Any]) -> Any:
        until_s = time.monotonic() + PATIENCE_S
        while True:
            try:
                return self._do(do)
            except OutcomeUnknown as error:
                do = error.repeat
            except Interrupted:
                continue  # it has an operation id, or can be repeated safely
            except ServerUnavailable:
                if time.monotonic() > until_s:
                    raise
                time.sleep(AGAIN_S)


def _fetched(batch: Batch) -> Fetched:
    bodies = [message.body for message in batch.messages if isinstance(message, Message)]
    gap = (batch.gap.first, batch.gap.last, batch.gap.reason) if batch.gap else None
    return Fetched([message.seq for message in batch.messages], bodies, gap, batch)


class TextbookEndpoint:
    """The chat of a textbook (Redis in Action, section 6.5.2), as far as it is tested here.

    Numbers come from a counter, under a lock that never expires. Messages are in a ZSET, scored by
    their number. A fetch acknowledges what it returns.
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

    def fetch(self, limit: int) -> Fetched:
        seen = self._client.zscore(self._chat, self._user) or 0
        found: Any = self._client.zrangebyscore(self._messages, seen + 1, "inf", 0, limit)
        if not found:
            time.sleep(AGAIN_S)
            return NOTHING
        messages = [json.loads(each) for each in found]
        self._client.zadd(self._chat, {self._user: messages[-1]["id"]})
        return Fetched([each["id"] for each in messages], [each["body"] for each in messages])

    def ack(self, result: Fetched) -> None:
        """Do nothing: the fetch has acknowledged already."""

    def join(self, user: str) -> None:
        raise NotImplementedError

    def leave(self, user: str, chat: str = TARGET) -> None:
        raise NotImplementedError

    def close(self) -> None:
        self._client.close()


ENDPOINTS: dict[str, Callable[..., Endpoint]] = {
    "holdfast": HoldfastEndpoint,
    "textbook": TextbookEndpoint,
}
