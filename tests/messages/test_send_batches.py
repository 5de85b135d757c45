"""Messages that coroutines send to one chat at the same time share calls."""

import asyncio
import random
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from conftest import Site
from faults.proxy import Proxy
from faults.servers import Server
from holdfast import (
    AsyncChat,
    AsyncHoldfast,
    Holdfast,
    Message,
    NoSuchChat,
    NotAMember,
    OutcomeUnknown,
    PayloadTooLarge,
    PrometheusMetrics,
    ServerRefused,
    TraceContext,
    use_trace,
)
from holdfast.core.names import Namespace
from holdfast.messages import keys
from holdfast.messages._async.sender import SEND
from holdfast.messages.outgoing import MAX_BYTES, MAX_MESSAGES

SENDS = 1_000


@pytest.fixture
def direct_client(standalone: Server) -> Iterator[Holdfast]:
    """Return a client without the proxy, and a chat of *a* and *b*."""
    with Holdfast.from_url(standalone.url, namespace=f"many-{secrets.token_hex(4)}") as hf:
        hf.create_chat(["a", "b"], sender="a", body="first", chat_id="c").send("x", sender="a")
        yield hf


@pytest.fixture
async def proxied(direct_client: Holdfast, proxy: Proxy) -> AsyncIterator[AsyncChat]:
    """Return the same chat of a client that is connected through the proxy."""
    async with AsyncHoldfast.from_url(proxy.url, namespace=direct_client.namespace) as hf:
        chat = hf.chat("c")
        await chat.send("connected", sender="a")
        yield chat


async def kept(chat: AsyncChat) -> dict[int, Message]:
    page = await chat.history(limit=1_000)
    while page[0].seq > 1:
        page = [*await chat.history(limit=1_000, before=page[0].seq), *page]
    assert all(isinstance(message, Message) for message in page)
    return {message.seq: message for message in page if isinstance(message, Message)}


def read(hf: Holdfast) -> dict[int, Any]:
    page = hf.chat("c").history(limit=1_000)
    return {each.seq: each.body for each in page if isinstance(each, Message)}


async def test_each_number_leads_to_its_own_message(hf: AsyncHoldfast) -> None:
    chat = await hf.create_chat(["a", "b", "c"], sender="a", body="first", chat_id="c", keep=5_000)

    async def send(sender: str, *numbers: int) -> list[tuple[int, str, int]]:
        return [(await chat.send(n, sender=sender), sender, n) for n in numbers]

    sends = [send("abc"[n % 3], n) for n in range(SENDS)]
    few = [send("abc"[n % 3], *range(SENDS * n, SENDS * n + 20)) for n in range(1, 11)]
    sent = [each for one in await asyncio.gather(*sends, *few) for each in one]
    stored = await kept(chat)
    assert len(stored) == len(sent) + 1
    for seq, sender, n in sent:
        assert (stored[seq].sender, stored[seq].body) == (sender, n)
    for one in range(len(sends), len(sent), 20):
        assert sent[one : one + 20] == sorted(sent[one : one + 20])


async def test_a_thousand_messages_take_a_few_calls(proxied: AsyncChat, proxy: Proxy) -> None:
    """The first message is sent alone, the others in batches."""
    before = proxy.commands["EVALSHA"]
    await asyncio.gather(*[proxied.send(n, sender="a") for n in range(SENDS)])
    assert proxy.commands["EVALSHA"] - before == 1 + -(-(SENDS - 1) // MAX_MESSAGES)


async def test_telemetry_does_not_change_the_number_of_calls(
    direct_client: Holdfast, proxy: Proxy
) -> None:
    metrics = PrometheusMetrics()
    async with AsyncHoldfast.from_url(
        proxy.url, namespace=direct_client.namespace, telemetry=metrics
    ) as hf:
        await hf.chat("c").send("connected", sender="a")
        before = proxy.commands["EVALSHA"]
        await asyncio.gather(*[hf.chat("c").send(n, sender="a") for n in range(20)])
        assert proxy.commands["EVALSHA"] - before == 2


async def test_large_messages_share_no_call(proxied: AsyncChat, proxy: Proxy) -> None:
    before, large = proxy.commands["EVALSHA"], b"x" * (MAX_BYTES // 2)
    numbers = await asyncio.gather(*[proxied.send(large, sender="a") for _ in range(5)])
    assert proxy.commands["EVALSHA"] - before == 5
    assert numbers == sorted(numbers)


async def test_each_message_is_refused_by_itself(hf: AsyncHoldfast) -> None:
    """The sender is no member, or the body is too large or empty. The others are sent."""
    chat = await hf.create_chat(["a", "b"], sender="a", body="first", chat_id="c")
    senders = ["a", "x", "b", "y", "a", "x"]
    found = await asyncio.gather(
        *[chat.send(n, sender=sender) for n, sender in enumerate(senders)],
        chat.send(b"x" * (2 << 20), sender="a"),
        chat.send("", sender="a"),
        return_exceptions=True,
    )
    assert [each for each in found if isinstance(each, int)] == [2, 3, 4]
    assert [str(found[n]) for n in (1, 3, 5)] == [str(NotAMember(x, "c")) for x in "xyx"]
    assert [type(each) for each in found[6:]] == [PayloadTooLarge, ValueError]
    assert [(each.sender, each.body) for each in (await kept(chat)).values()][1:] == [
        ("a", 0),
        ("b", 2),
        ("a", 4),
    ]


async def test_sends_to_a_deleted_chat_fail_for_each_caller(hf: AsyncHoldfast) -> None:
    chat = await hf.create_chat(["a"], sender="a", body="first", chat_id="c")
    await chat.leave("a")
    sends = [chat.send(n, sender="a") for n in range(10)]
    found = await asyncio.gather(*sends, return_exceptions=True)
    assert {type(each) for each in found} == {NoSuchChat}
    assert len({id(each) for each in found}) == 10


@pytest.mark.parametrize("keep", [1_000, "until_read"])
async def test_sending_acknowledges_own_messages_if_all_are_read(
    hf: AsyncHoldfast, keep: Any
) -> None:
    chat = await hf.create_chat(["a", "b"], sender="a", body="first", chat_id="c", keep=keep)
    await asyncio.gather(*[chat.send(n, sender=name) for n, name in enumerate("aaabba")])
    assert await chat.members() == {"a": 4, "b": 0}
    inbox = hf.inbox("b")
    for batch in await inbox.fetch():
        await inbox.ack(batch)
    await asyncio.gather(*[chat.send(n, sender=name) for n, name in enumerate("bbab")])
    assert await chat.members() == {"a": 4, "b": 9}  # a sent between them


async def test_each_message_keeps_its_trace(hf: AsyncHoldfast) -> None:
    chat = await hf.create_chat(["a"], sender="a", body="first", chat_id="c")
    traces = [TraceContext(f"00-{n:032x}-{n:016x}-01") if n % 3 else None for n in range(1, 20)]

    async def send(trace: TraceContext | None) -> int:
        with use_trace(trace):
            return await chat.send("x", sender="a")

    numbers = await asyncio.gather(*[send(trace) for trace in traces])
    stored = await kept(chat)
    assert [stored[seq].trace for seq in numbers] == traces


async def test_a_trace_that_cannot_be_encoded_fails_one_message(hf: AsyncHoldfast) -> None:
    chat = await hf.create_chat(["a"], sender="a", body="first", chat_id="c")

    async def send(n: int) -> int:
        with use_trace(TraceContext("00-\udcff") if n == 2 else None):
            return await chat.send(n, sender="a")

    found = await asyncio.gather(*[send(n) for n in range(5)], return_exceptions=True)
    assert isinstance(found[2], UnicodeEncodeError)
    assert [each for each in found if isinstance(each, int)] == [2, 3, 4, 5]
    assert [each.body for each in (await kept(chat)).values()] == ["first", 0, 1, 3, 4]


@pytest.mark.parametrize("fault_kind", ["drop_reply", "drop_request"])
async def test_each_unknown_message_is_repeated_by_itself(
    proxied: AsyncChat, direct_client: Holdfast, proxy: Proxy, fault_kind: str
) -> None:
    fault = getattr(proxy, fault_kind)(2, match=SEND.sha1.encode())
    found = await asyncio.gather(
        *[proxied.send(n, sender="a") for n in range(10)], return_exceptions=True
    )
    assert fault.fired == 1
    first = found[0]  # sent alone before the others; the fault may have hit it too
    assert (await first.repeat() if isinstance(first, OutcomeUnknown) else first) == 4
    unknown = [each for each in found[1:] if isinstance(each, OutcomeUnknown)]
    assert len({each.op_id for each in unknown}) == 9
    applied = fault_kind == "drop_reply"
    answers: dict[int, int] = {}
    for n in (7, 3, 9):
        answers[n] = await unknown[n - 1].repeat()
        assert answers[n] == (4 + n if applied else 4 + len(answers))
    for n in (3, 9, 7):
        op_id = unknown[n - 1].op_id
        assert direct_client.chat("c").send(n, sender="a", op_id=op_id) == answers[n]
        assert await proxied.send(n, sender="a", op_id=op_id) == answers[n]
    stored = read(direct_client)
    assert [stored[seq] for seq in answers.values()] == [*answers]
    sent = {*range(10)} if applied else {0, *answers}
    assert Counter(stored.values()) == Counter(["first", "x", "connected", *sent])


async def test_a_late_call_sends_only_what_was_not_repeated(hf: AsyncHoldfast, site: Site) -> None:
    """A call may arrive after one of its messages was repeated."""
    chat = await hf.create_chat(["a", "b"], sender="a", body="first", chat_id="c")
    assert await chat.send("second", sender="a", op_id="hf:0123456789abc.7:2") == 2
    unit = Namespace.of(site.namespace).unit(keys.CHAT, "c")
    messages = ["1", "a", 'j"one"', "", "2", "a", 'j"second"', "", "3", "x", 'j"three"', ""]
    args: list[str | int] = ["0123456789abc", 7, unit.channel, *messages]
    log = chat._log
    for _ in range(2):
        reply = await chat._messaging.caller.call(SEND, unit, SEND.keys(log.unit), args)
        assert reply == [b"3", b"2", b"not_member"]
    assert [each.body for each in (await kept(chat)).values()] == ["first", "second", "one"]
    await chat.join("x")
    assert await chat.send("three", sender="x", op_id="hf:0123456789abc.7:3") == 4
    assert await chat.send("one", sender="a", op_id="hf:0123456789abc.7:1") == 3


async def test_a_cancelled_send_cancels_no_other(hf: AsyncHoldfast, seed: int) -> None:
    """The cancelled message is sent once at most; the others get their own numbers."""
    rng = random.Random(seed)
    chat = await hf.create_chat(["a"], sender="a", body="first", chat_id="c", keep=5_000)
    outcomes: dict[int, int | None] = {}
    for turn in range(10):
        numbers = range(turn * 100, turn * 100 + 100)
        tasks = [asyncio.create_task(chat.send(n, sender="a")) for n in numbers]
        for _ in range(rng.randrange(8)):
            await asyncio.sleep(0)
        for task in rng.sample(tasks, 50):
            task.cancel()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        for n, each in zip(numbers, found, strict=True):
            assert isinstance(each, int | asyncio.CancelledError)
            outcomes[n] = each if isinstance(each, int) else None
    assert await chat.send("last", sender="a") > 500
    stored = await kept(chat)
    assert max(Counter(each.body for each in stored.values()).values()) == 1
    for n, seq in outcomes.items():
        assert seq is None or stored[seq].body == n


async def test_a_full_server_refuses_each_message(fresh_server: Server) -> None:
    async with AsyncHoldfast.from_url(fresh_server.url, namespace="full") as hf:
        chat = await hf.create_chat(["a"], sender="a", body="first", chat_id="c")
        await chat.send("second", sender="a")
        fresh_server.execute("CONFIG", "SET", "maxmemory", "1")
        sends = [chat.send(n, sender="a") for n in range(10)]
        found = await asyncio.gather(*sends, return_exceptions=True)
        assert {type(each) for each in found} == {ServerRefused}
        assert len({id(each) for each in found}) == 10
        fresh_server.execute("CONFIG", "SET", "maxmemory", "0")
        assert len(await kept(chat)) == 2


def test_each_event_loop_has_its_own_batches(direct_client: Holdfast, standalone: Server) -> None:
    hf = AsyncHoldfast.from_url(standalone.url, namespace=direct_client.namespace)
    chat = hf.chat("c")

    async def begin() -> None:
        sends = [asyncio.create_task(chat.send(n, sender="a")) for n in range(10)]
        await sends[0]
        await chat._messaging.caller.close_connections()

    async def send() -> list[int]:
        numbers = await asyncio.gather(*[chat.send(n, sender="a") for n in range(10, 20)])
        await hf.close()
        return numbers

    asyncio.run(begin())
    numbers = asyncio.run(send())
    stored = read(direct_client)
    assert [stored[seq] for seq in numbers] == [*range(10, 20)]
