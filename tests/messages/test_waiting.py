"""Waiting readers are notified, also after the subscription is cut."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from conftest import Site
from faults.halves import Half
from faults.proxy import Proxy
from faults.servers import Server
from faults.waiting import eventually, eventually_async
from holdfast import AsyncHoldfast, Batch, Holdfast
from holdfast.core.concurrency._async.background_task import cancel_and_wait, spawn
from holdfast.core.concurrency._async.primitives import sleep
from messages.waiting import Waiting

WOKEN_S = 20.0
"""A notification comes within this time; the next poll comes after minutes."""

WAKE_S = 50.0
"""A larger limit, for tests that measure no time."""

IDLE_S = 3.0
IDLE_SHARE = 0.05
"""Share of a core while 10,000 readers wait: processor time, so other load does not matter."""


@pytest.fixture
def direct_client(site: Site) -> Iterator[Holdfast]:
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        yield hf


def is_subscribed(site: Site, kind: str, name: str) -> bool:
    channel = f"{site.namespace}:{{{kind}:{name}}}:notify"
    nodes = getattr(site.server, "nodes", [site.server])
    return any(node.execute("PUBSUB", "SHARDNUMSUB", channel)[1] for node in nodes)


def test_a_message_wakes_a_reader_of_a_mailbox(
    half: Half, site: Site, direct_client: Holdfast
) -> None:
    box = half.client(site.url, site.namespace).mailbox("jack")
    waiting = Waiting(lambda: half.do(box.fetch(timeout=60)))
    eventually(lambda: is_subscribed(site, "mailbox", "jack"))
    time.sleep(0.2)
    began = time.monotonic()
    direct_client.mailbox("jack").send("hi", sender="jill")
    assert waiting.woken_since(began) < WOKEN_S
    assert [m.body for m in waiting.found.messages] == ["hi"]


def test_a_message_wakes_a_reader_of_an_inbox(
    half: Half, site: Site, direct_client: Holdfast
) -> None:
    inbox = half.client(site.url, site.namespace).inbox("b")

    def wakes(act: Callable[[], object]) -> list[Batch]:
        waiting = Waiting(lambda: half.do(inbox.fetch(timeout=60)))
        eventually(lambda: is_subscribed(site, "inbox", "b"))
        time.sleep(0.2)
        began = time.monotonic()
        act()
        assert waiting.woken_since(began) < WOKEN_S
        for batch in waiting.found:
            half.do(inbox.ack(batch))
        found: list[Batch] = waiting.found
        return found

    def create() -> None:
        direct_client.create_chat(["a", "b"], sender="a", body=1, chat_id="c")

    [first] = wakes(create)
    assert (first.source, first.upto) == ("c", 1)
    [second] = wakes(lambda: direct_client.chat("c").send(2, sender="a"))
    assert (second.source, second.upto) == ("c", 2)
    direct_client.create_chat(["a"], sender="a", body=1, chat_id="other")
    [third] = wakes(lambda: direct_client.chat("other").join("b", start="floor"))
    assert (third.source, third.upto) == ("other", 1)
    [fourth] = wakes(lambda: direct_client.chat("other").send(2, sender="a"))
    assert (fourth.source, fourth.upto) == ("other", 2)


ADDITIONS: dict[str, Callable[[Holdfast], object]] = {
    "create": lambda hf: hf.create_chat(["a", "b"], sender="a", body=1, chat_id="c"),
    "join": lambda hf: (hf.chat("c").join("b"), hf.chat("c").send(2, sender="a")),
}


@pytest.mark.parametrize("name", ADDITIONS)
def test_a_new_member_is_notified_even_if_the_adder_is_killed(
    half: Half, site: Site, direct_client: Holdfast, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    if name == "join":
        direct_client.create_chat(["a"], sender="a", body=1, chat_id="c")
    monkeypatch.setattr(
        "holdfast.messages._sync.membership.Membership.try_to_add", lambda *_, **__: None
    )
    inbox = half.client(site.url, site.namespace).inbox("b")
    waiting = Waiting(lambda: half.do(inbox.fetch(timeout=60)))
    eventually(lambda: is_subscribed(site, "inbox", "b"))
    ADDITIONS[name](direct_client)
    assert waiting.woken_since(waiting.began_at) < WAKE_S
    assert [batch.source for batch in waiting.found] == ["c"]


def test_waiting_ends_in_time(half: Half, site: Site) -> None:
    hf = half.client(site.url, site.namespace)
    began = time.monotonic()
    assert not half.do(hf.mailbox("jack").fetch(timeout=0.3))
    assert half.do(hf.inbox("jack").fetch(timeout=0.3)) == []
    assert 0.6 <= time.monotonic() - began < 60


def test_one_subscription_wakes_all_waiting_readers(site: Site, direct_client: Holdfast) -> None:
    boxes = [direct_client.mailbox("jack") for _ in range(5)]
    for n in range(3):
        waiting = [Waiting(lambda box=box: box.fetch(timeout=60)) for box in boxes]
        eventually(lambda: is_subscribed(site, "mailbox", "jack"))
        time.sleep(0.3)
        began = time.monotonic()
        direct_client.mailbox("jack").send(n, sender="jill")
        assert all(one.woken_since(began) < WOKEN_S for one in waiting)
        assert all(one.found.upto == n + 1 for one in waiting)
        boxes[0].ack(n + 1)


@pytest.mark.parametrize("cut", ["server", "proxy"])
def test_a_cut_subscription_is_restored(
    half: Half, standalone: Server, proxy: Proxy, cut: str
) -> None:
    namespace = f"cut-{time.monotonic_ns()}"
    box = half.client(proxy.url, namespace).mailbox("jack")
    with Holdfast.from_url(standalone.url, namespace=namespace) as direct_client:
        waiting = Waiting(lambda: half.do(box.fetch(timeout=60)))
        eventually(lambda: _is_subscribed(standalone, namespace))
        time.sleep(0.2)
        if cut == "server":
            standalone.execute("CLIENT", "KILL", "TYPE", "pubsub")
            began = time.monotonic()
            direct_client.mailbox("jack").send("hi", sender="jill")
        else:
            with proxy.refuse():
                direct_client.mailbox("jack").send("hi", sender="jill")
                began = time.monotonic()
        assert waiting.woken_since(began) < WOKEN_S + 1
        assert [m.body for m in waiting.found.messages] == ["hi"]


def test_a_subscription_is_checked_every_second(
    half: Half, standalone: Server, proxy: Proxy
) -> None:
    namespace = f"asked-{time.monotonic_ns()}"
    box = half.client(proxy.url, namespace).mailbox("jack")
    with Holdfast.from_url(standalone.url, namespace=namespace) as direct_client:
        waiting = Waiting(lambda: half.do(box.fetch(timeout=60)))
        eventually(lambda: _is_subscribed(standalone, namespace))
        calls = proxy.commands["EVALSHA"]
        eventually(lambda: proxy.commands["PING"] >= 3)
        assert proxy.commands["EVALSHA"] - calls <= 2
        direct_client.mailbox("jack").send("hi", sender="jill")
        assert waiting.woken_since(0) > 0


def _is_subscribed(server: Server, namespace: str) -> bool:
    channels = server.execute("PUBSUB", "SHARDNUMSUB", f"{namespace}:{{mailbox:jack}}:notify")
    return bool(channels[1])


def scripts_called(server: Server) -> int:
    """Return how many scripts were called so far."""
    with server.client() as client:
        stats: Any = client.info("commandstats")
        return int(stats["cmdstat_evalsha"]["calls"])


@pytest.mark.parametrize("count", [1_000, pytest.param(10_000, marks=pytest.mark.long)])
async def test_many_wait_in_one_process(standalone: Server, count: int) -> None:
    namespace = f"crowd-{time.monotonic_ns()}"
    url = f"{standalone.url}?socket_timeout=60"  # all readers call at once
    async with AsyncHoldfast.from_url(url, namespace=namespace) as hf:
        boxes = [hf.mailbox(f"m{n}") for n in range(count)]
        tasks = [spawn(box.fetch(timeout=None), "waits") for box in boxes]
        channels = [f"{namespace}:{{mailbox:m{n}}}:notify" for n in (0, count - 1)]

        def all_listen() -> bool:
            return standalone.execute("PUBSUB", "SHARDNUMSUB", *channels)[1::2] == [1, 1]

        await eventually_async(all_listen, timeout=100)
        calls = -1
        while calls != (
            calls := scripts_called(standalone)
        ):  # each reader polls once more after its subscription
            await sleep(1)
        busy_s, calls = time.process_time(), scripts_called(standalone)
        await sleep(IDLE_S)
        assert time.process_time() - busy_s <= IDLE_SHARE * IDLE_S
        assert scripts_called(standalone) - calls <= 100 * IDLE_S
        lines = standalone.execute("CLIENT", "LIST", "TYPE", "pubsub").splitlines()
        assert len([line for line in lines if b"ssub=" in line and b"ssub=0" not in line]) == 1
        for n in (0, count // 2, count - 1):
            began = time.monotonic()
            await hf.mailbox(f"m{n}").send("hi", sender="jill")
            batch = await tasks[n]
            assert time.monotonic() - began < WOKEN_S
            assert len(batch.messages) == 1
        assert sum(task.done() for task in tasks) == 3
        await cancel_and_wait(*tasks)
