"""The inbox of a user of 100 chats: with 5 new messages in each, and with none.

Every fetch finds the same: the user is put back to where it was. That is not timed, but what the
server does for it is counted: a command for each chat. The textbook's fetch acknowledges, so it
takes part where ours does the same, and where there is nothing to acknowledge.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Final

import redis

from holdfast import Holdfast
from holdfast.core.names import Namespace
from holdfast.messages import keys

from ..harness import BenchmarkRun, Case, Taken
from ..report import Table
from . import textbook
from .bare import BareInbox

CHATS: Final = [f"chat-{n}" for n in range(100)]
NEW: Final = 5
MESSAGES: Final = 20
BODY: Final = "x" * 100
NAMESPACE: Final = "benchmarks"

COUNT: Final = 20
TARGET: Final = 4.0

Fetch = Callable[[], int]
"""Returns how many messages it found."""


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Fetch without and with acknowledgement, and where there is nothing new."""
    bench.server.clear()
    with ExitStack() as stack:
        client = stack.enter_context(redis.Redis.from_url(bench.server.url, decode_responses=True))
        hf = stack.enter_context(Holdfast.from_url(bench.server.url, namespace=NAMESPACE))
        bare = stack.enter_context(closing(BareInbox(bench.server.url, "user", CHATS)))
        _fill(hf, client, bare)
        inbox = hf.inbox("user")

        def fetch() -> int:
            return sum(len(batch.messages) for batch in inbox.fetch(limit=1000))

        def fetch_and_ack() -> int:
            batches = inbox.fetch(limit=1000)
            inbox.ack_all(batches)
            return sum(len(batch.messages) for batch in batches)

        def fetch_textbook() -> int:
            return sum(len(messages) for _, messages in textbook.fetch(client, "user"))

        def put_back(new: int) -> None:
            place(client, "user", MESSAGES - new)

        def put_textbook_back(new: int) -> None:
            textbook.place(client, "user", CHATS, MESSAGES - new)

        def table(title: str, new: int, *cases: Case, target: float | None = None) -> Table:
            title = f"{title} {len(CHATS)} chats, {new} new in each"
            return bench.compared(title, cases[0], cases[1:], COUNT, target=target)

        yield table(
            "fetch",
            NEW,
            Case("holdfast", _each(put_back, fetch, NEW)),
            Case("bare connection", _each(bare.put_back, bare.fetch, NEW)),
        )
        yield table(
            "fetch and acknowledge",
            NEW,
            Case("holdfast, fetch and ack_all", _each(put_back, fetch_and_ack, NEW)),
            Case("textbook", _each(put_textbook_back, fetch_textbook, NEW)),
            Case("bare connection", _each(bare.put_back, bare.fetch_and_ack, NEW)),
            target=TARGET,
        )
        yield table(
            "fetch",
            0,
            Case("holdfast", _each(put_back, fetch, 0)),
            Case("textbook", _each(put_textbook_back, fetch_textbook, 0)),
            Case("bare connection", _each(bare.put_back, bare.fetch, 0)),
        )


def _fill(hf: Holdfast, client: redis.Redis, bare: BareInbox) -> None:
    """Write the same messages everywhere; another member has read none."""
    textbook.place(client, "other", CHATS, 0)
    for chat_id in CHATS:
        chat = hf.create_chat(["user", "other"], sender="other", body=BODY, chat_id=chat_id)
        for _ in range(MESSAGES - 1):
            chat.send(BODY, sender="other")
        for _ in range(MESSAGES):
            textbook.send(client, chat_id, "other", BODY)
            bare.send(chat_id, "other", BODY)


def place(client: redis.Redis, user: str, number: int) -> None:
    """Let *user* have read up to *number* in all chats."""
    namespace = Namespace.of(NAMESPACE)
    with client.pipeline(transaction=False) as pipe:
        for chat in CHATS:
            pipe.zadd(keys.cursors(namespace.unit(keys.CHAT, chat)), {user: number})
        pipe.execute()


def _each(put_back: Callable[[int], None], fetch: Fetch, new: int) -> Callable[[int], Taken]:
    """Return work of fetches; each finds *new* messages in each chat."""

    def work(count: int) -> Taken:
        wall_s = cpu_s = 0.0
        for _ in range(count):
            put_back(new)
            cpu_from_s, from_s = time.process_time(), time.perf_counter()
            found = fetch()
            wall_s += time.perf_counter() - from_s
            cpu_s += time.process_time() - cpu_from_s
            assert found == new * len(CHATS)
        return Taken(wall_s, cpu_s)

    return work
