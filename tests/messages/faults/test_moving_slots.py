"""Waiting readers and send batches follow the slot of a chat to another node."""

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from faults.clusters import Cluster
from faults.halves import Half
from faults.waiting import eventually
from holdfast import AsyncHoldfast, Holdfast, Message
from holdfast.core.names import Namespace, Unit
from holdfast.messages import keys
from messages.waiting import Waiting

WAKE_S = 50.0
"""A notification comes within this time; the next poll comes after minutes."""


@pytest.fixture(scope="module")
def own_cluster() -> Iterator[Cluster]:
    with Cluster(
        3, "--cluster-node-timeout", "5000"
    ) as cluster:  # a node on a busy machine must not count as failed
        yield cluster


def is_followed(cluster: Cluster, unit: Unit) -> bool:
    where = cluster.owner(unit.slot)
    return bool(where.execute("PUBSUB", "SHARDNUMSUB", unit.channel)[1])


@pytest.mark.parametrize("half_way", [False, True], ids=["moved", "half-way"])
def test_a_waiting_reader_follows_a_moved_slot(
    half: Half, own_cluster: Cluster, half_way: bool
) -> None:
    """Move the slot back and forth, also while the message is sent."""
    namespace = f"moving-{half_way}-{half.name}"
    unit = Namespace.of(namespace).unit(keys.CHAT, "c")
    with Holdfast.from_url(
        f"{own_cluster.url}?socket_timeout=60", namespace=namespace
    ) as direct_client:
        chat = direct_client.create_chat(["a", "b"], sender="a", body=1, chat_id="c")
        inbox = half.client(own_cluster.url, namespace).inbox("b")
        for n in (1, 2, 3):
            for batch in half.do(inbox.fetch()):
                half.do(inbox.ack(batch))
            waiting = Waiting(lambda: half.do(inbox.fetch(timeout=60)))
            eventually(lambda: is_followed(own_cluster, unit), reason="the reader waits")
            with (
                ThreadPoolExecutor(1) as threads,
                own_cluster.moving_slot(unit.slot, own_cluster.other_primary(unit.slot)) as move,
            ):
                if half_way:  # the sender has to wait: no node has all keys of the chat
                    move.migrate(limit=1)
                    sent = threads.submit(chat.send, "hi", sender="a")
                    time.sleep(0.2)
            if half_way:
                assert sent.result() == n + 1
            else:
                assert chat.send("hi", sender="a") == n + 1
            assert waiting.woken_since(waiting.began_at) < WAKE_S
            assert [(each.source, each.upto) for each in waiting.found] == [("c", n + 1)]


async def test_send_batches_follow_a_moved_slot(own_cluster: Cluster) -> None:
    url, namespace = f"{own_cluster.url}?socket_timeout=60", "moving-batch"
    slot = Namespace.of(namespace).unit(keys.CHAT, "c").slot
    async with AsyncHoldfast.from_url(url, namespace=namespace) as hf:
        chat = await hf.create_chat(["a"], sender="a", body="first", chat_id="c")
        await asyncio.gather(*[chat.send(n, sender="a") for n in range(50)])
        with own_cluster.moving_slot(slot, own_cluster.other_primary(slot)) as move:
            move.migrate(limit=1)
            sends = [asyncio.create_task(chat.send(n, sender="a")) for n in range(50, 100)]
            await asyncio.sleep(0.1)  # the node answers TRYAGAIN
        numbers = await asyncio.gather(*sends)
        numbers += await asyncio.gather(*[chat.send(n, sender="a") for n in range(100, 150)])
        there = await chat.history(limit=1_000)
    assert sorted(numbers) == [*range(52, 152)]
    sent = {each.seq: each.body for each in there if isinstance(each, Message)}
    assert [sent[seq] for seq in numbers] == [*range(50, 150)]
