"""A trace that comes in over HTTP."""

from collections.abc import Iterator

import httpx
import msgspec
import pytest
from websockets.sync.client import connect

from conftest import Site
from holdfast import AsyncHoldfast, Message
from holdfast.web import Tokens, gateway
from telemetry.recording import TRACE, Recording, parent_of, span_id, trace_of
from web.running import PATIENCE_S, SECRET, RunningApp, opened

HEADERS = {"traceparent": TRACE.traceparent, "tracestate": TRACE.tracestate}


@pytest.fixture
def live(site: Site) -> Iterator[RunningApp]:
    with opened(site.url, site.namespace) as live:
        yield live


def test_the_trace_of_a_request_is_that_of_its_message(live: RunningApp) -> None:
    jill = live.of("jill", **HEADERS)
    jill.post("/v1/mailboxes/jack", json="hi")
    live.of("jill", traceparent="nonsense").post("/v1/mailboxes/jack", json="ho")
    traced, plain = live.hf.mailbox("jack").fetch().messages
    assert isinstance(traced, Message)
    assert isinstance(plain, Message)
    assert (traced.trace, plain.trace) == (TRACE, None)
    [first, second] = live.of("jack").get("/v1/mailbox").json()["messages"]
    assert first["trace"] == HEADERS
    assert "trace" not in second
    chat = jill.post("/v1/chats", json={"members": ["jack"], "body": "hi"}).json()["id"]
    jill.post(f"/v1/chats/{chat}/messages", json="ho")
    messages = live.hf.chat(chat).history()
    assert [isinstance(each, Message) and each.trace for each in messages] == [TRACE, TRACE]


def test_a_frame_may_bring_a_trace(live: RunningApp) -> None:
    token = live.tokens.issue("jill")
    with connect(f"ws://{live.host}/v1/stream", open_timeout=PATIENCE_S) as socket:
        socket.send(msgspec.json.encode({"type": "hello", "token": token}), text=True)
        for trace in (HEADERS, {"traceparent": "nonsense"}, None):
            frame = {"type": "send", "to": "mailbox:jack", "body": 1, "trace": trace}
            socket.send(msgspec.json.encode(frame), text=True)
        done = 0
        while done < 3:
            done += msgspec.json.decode(socket.recv(PATIENCE_S))["type"] == "sent"
    messages = live.hf.mailbox("jack").fetch().messages
    assert [isinstance(each, Message) and each.trace for each in messages] == [TRACE, None, None]


async def test_a_request_its_message_and_its_reader_are_one_trace(site: Site) -> None:
    recording, tokens = Recording(), Tokens(SECRET)
    async with AsyncHoldfast.from_url(
        site.url, namespace=site.namespace, telemetry=recording.telemetry
    ) as hf:
        app = gateway(hf, authenticator=tokens)
        headers = {"Authorization": f"Bearer {tokens.issue('jill')}", **HEADERS}
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            answer = await client.post("/v1/mailboxes/jack", json="hi", headers=headers)
            assert answer.status_code == 201
        batch = await hf.mailbox("jack").fetch()
        [message] = batch.messages
        assert isinstance(message, Message)
        with recording.telemetry.process("mailbox", batch.source, message.trace):
            await hf.mailbox("jill").send("ho", sender="jack")
    sent, answered, processed = [span for span in recording.spans if "mailbox" in span.name]
    assert {trace_of(span) for span in recording.spans} == {TRACE.trace_id}
    assert parent_of(sent) == int(TRACE.span_id, 16)
    assert (parent_of(processed), parent_of(answered)) == (span_id(sent), span_id(processed))
