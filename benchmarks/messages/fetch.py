"""The inbox of a user of 100 chats: with 5 new messages in each, and with none.

Every fetch finds the same: the user is put back to where it was. That is not timed, but what the
server does for it is counted: a command for each chat of ours, two of the textbook's. Its fetch
acknowledges, ours does not; so ours is also shown with one acknowledgment for each chat.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Final

import redis

from holdfast import Holdfast
from holdfast.core.names import Namespace
from holdfast.messages import keys

from ..harness import BenchmarkRun, Case, Taken
from ..report import Table
from . import textbook

CHATS: Final = [f"chat-{n}" for n in range(100)]
NEW: Final = 5
MESSAGES: Final = 20
BODY: Final = "x" * 100
NAMESPACE: Final = "benchmarks"

COUNT: Final = 10
TARGET: Final = 8.0


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Beside the textbook."""
    bench.server.clear()
    with (
        redis.Redis.from_url(bench.server.url, decode_responses=True) as client,
        Holdfast.from_url(bench.server.url, namespace=NAMESPACE) as hf,
    ):
        _fill(hf, client)
        for new, target in ((NEW, TARGET), (0, None)):
            cases = _cases(hf, client, new)
            title = f"fetch of {len(CHATS)} chats, {new} new in each"
            yield bench.compared(title, cases[0], cases[1:], COUNT, target=target)


def _fill(hf: Holdfast, client: redis.Redis) -> None:
    """Write the same messages on both sides; another member has read none."""
    textbook.place(client, "other", CHATS, 0)
    for chat_id in CHATS:
        chat = hf.create_chat(["user", "other"], sender="other", body=BODY, chat_id=chat_id)
        for _ in range(MESSAGES - 1):
            chat.send(BODY, sender="other")
        for _ in range(MESSAGES):
            textbook.send(client, chat_id, "other", BODY)


def _cases(hf: Holdfast, client: redis.Redis, new: int) -> list[Case]:
    inbox = hf.inbox("user")

    def put_back() -> None:
        place(client, "user", MESSAGES - new)

    def fetch() -> None:
        batches = inbox.fetch(limit=1000)
        assert sum(len(batch.messages) for batch in batches) == new * len(CHATS)

    def fetch_and_ack() -> None:
        for batch in inbox.fetch(limit=1000):
            inbox.ack(batch)

    def put_textbook_back() -> None:
        textbook.place(client, "user", CHATS, MESSAGES - new)

    def fetch_textbook() -> None:
        batches = textbook.fetch(client, "user")
        assert sum(len(messages) for _, messages in batches) == new * len(CHATS)

    cases = [
        Case("holdfast", _each(put_back, fetch)),
        Case("textbook (acknowledges)", _each(put_textbook_back, fetch_textbook)),
    ]
    if new:
        cases.append(Case("holdfast, and an ack for each chat", _each(put_back, fetch_and_ack)))
    return cases


def place(client: redis.Redis, user: str, number: int) -> None:
    """Let *user* have read up to *number* in all chats."""
    namespace = Namespace.of(NAMESPACE)
    with client.pipeline(transaction=False) as pipe:
        for chat in CHATS:
            pipe.zadd(keys.cursors(namespace.unit(keys.CHAT, chat)), {user: number})
        pipe.execute()


def _each(prepare: Callable[[], None], fetch: Callable[[], None]) -> Callable[[int], Taken]:
    """Return work of fetches; each finds what was prepared."""

    def work(count: int) -> Taken:
        wall_s = cpu_s = 0.0
        for _ in range(count):
            prepare()
            cpu_from_s, from_s = time.process_time(), time.perf_counter()
            fetch()
            wall_s += time.perf_counter() - from_s
            cpu_s += time.process_time() - cpu_from_s
        return Taken(wall_s, cpu_s)

    return work
