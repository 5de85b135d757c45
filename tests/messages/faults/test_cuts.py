"""Senders and readers with connections that are cut at random: no loss, and one order."""

import contextlib
import random
import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from faults.proxy import Proxy
from faults.servers import Server
from holdfast import Batch, Holdfast, Message, OutcomeUnknown, ServerUnavailable

SENDERS, EACH = 3, 25


def retried(do: Callable[[], Any]) -> Any:
    while True:
        try:
            return do()
        except OutcomeUnknown as error:
            do = error.repeat
        except ServerUnavailable:
            time.sleep(0.005)


def read_all(url: str, namespace: str, user: str, rng: random.Random) -> list[list[int]]:
    """Read all messages, and return the numbers of each batch.

    The reader crashes now and then: it loses its state between a fetch and an acknowledgment.
    """
    shown: list[list[int]] = []
    bodies: dict[int, Any] = {}
    acknowledged = 0
    while acknowledged < SENDERS * EACH + 1:
        with Holdfast.from_url(url, namespace=namespace) as hf:
            inbox = hf.inbox(user)
            for _ in range(rng.randint(1, 8)):
                with contextlib.suppress(ServerUnavailable):
                    for batch in inbox.fetch(limit=rng.randint(1, 20), timeout=0.05):
                        check(batch, acknowledged, bodies)
                        shown.append([message.seq for message in batch.messages])
                        if rng.random() < 0.7:
                            inbox.ack(batch)
                            acknowledged = batch.upto
    assert sorted(bodies) == list(range(1, SENDERS * EACH + 2))
    for sender in range(SENDERS):
        own = [n for _, (who, n) in sorted(bodies.items()) if who == sender]
        assert own == list(range(EACH)), "each once, in the order in which it was sent"
    return shown


def check(batch: Batch, acknowledged: int, bodies: dict[int, Any]) -> None:
    """Check that *batch* has no hole, and begins after what was acknowledged."""
    assert batch.gap is None
    first = batch.messages[0].seq
    assert first > acknowledged
    assert first <= max(bodies, default=0) + 1, "nothing is skipped"
    for n, message in enumerate(batch.messages):
        assert isinstance(message, Message)
        assert message.seq == first + n
        assert bodies.setdefault(message.seq, message.body) == message.body


def run(server: Server, seed: int) -> None:
    rng, namespace = random.Random(seed), f"cuts-{secrets.token_hex(4)}"
    over = threading.Event()
    with Proxy(server.address) as proxy, ThreadPoolExecutor(8) as threads:
        with Holdfast.from_url(server.url, namespace=namespace) as direct_client:
            users = [f"s{n}" for n in range(SENDERS)]
            direct_client.create_chat([*users, "r", "q"], sender="s0", body=[-1, 0], chat_id="c")

        def send(n: int) -> None:
            with Holdfast.from_url(proxy.url, namespace=namespace) as hf:
                chat = hf.chat("c")
                for i in range(EACH):
                    retried(lambda i=i: chat.send([n, i], sender=f"s{n}"))  # type: ignore[misc]

        def cut() -> None:  # counts replies, so that some calls succeed on a slow machine too
            due = 0
            while not over.wait(0.002):
                if proxy.replies >= due:
                    proxy.cut()
                    due = proxy.replies + rng.randint(5, 150)

        cutting = threads.submit(cut)
        readers = [
            threads.submit(read_all, proxy.url, namespace, user, random.Random(f"{seed}{user}"))
            for user in ("r", "q")
        ]
        try:
            for sending in [threads.submit(send, n) for n in range(SENDERS)]:
                sending.result(110)
            for reading in readers:
                assert reading.result(110)
        finally:
            over.set()
            cutting.result()


LATER = [pytest.param(number, marks=pytest.mark.long) for number in range(8, 30)]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("number", [*range(8), *LATER])
def test_cut_connections_lose_nothing(standalone: Server, number: int) -> None:
    run(standalone, number)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_cut_connections_lose_nothing_in_a_thousand_rounds(standalone: Server, seed: int) -> None:
    for number in range(1000):
        run(standalone, seed + number)
