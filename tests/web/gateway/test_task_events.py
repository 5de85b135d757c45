"""The events of a task as Server-Sent Events, and the client for browsers."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from faults.servers import Server
from faults.waiting import eventually
from holdfast import AsyncHoldfast, TaskHandle
from holdfast.testing.background_worker import BackgroundWorker
from holdfast.web import Limits, Tokens, gateway, revoke
from queues.event_tasks import counts, go_on, renders, slow, slow_tasks, tasks, waits
from web.browsers import PATIENCE_MS
from web.relay import Relay
from web.running import SECRET, RunningApp, opened


@pytest.fixture
def live(standalone: Server, tmp_path: Path) -> Iterator[RunningApp]:
    go_on.clear()
    with opened(standalone.url, tmp_path.name, Limits(waiting=2)) as live:
        yield live


def path_of(handle: TaskHandle[Any]) -> str:
    return f"/v1/tasks/{handle.queue}/{handle.task_id}/events"


def permitted(live: RunningApp, *handles: TaskHandle[Any], **headers: str) -> Any:
    """Return a client with a token that names the tasks."""
    token = live.tokens.issue("jill", tasks=handles)
    return live.of(None, Authorization=f"Bearer {token}", **headers)


def parsed(text: str) -> list[tuple[str, str, Any]]:
    """Return id, event and data of each event of a stream."""
    found = []
    for frame in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in frame.splitlines() if line[:1] != ":")
        if "event" in fields:
            found.append((fields.get("id", ""), fields["event"], json.loads(fields["data"])))
    return found


def drain(live: RunningApp) -> None:
    live.hf.worker(tasks).run(until_idle=True)


def test_a_stream_has_all_events_and_the_end(live: RunningApp) -> None:
    handle = live.hf.enqueue(renders.call(2))
    drain(live)
    answer = permitted(live, handle).get(path_of(handle))
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    found = parsed(answer.text)
    assert [(number, kind) for number, kind, _ in found] == [
        *(("1", "progress"), ("2", "event"), ("3", "progress"), ("4", "event"), ("", "end")),
    ]
    assert found[0][2]["data"] == {"done": 1, "total": 2, "message": "rendering"}
    assert (found[1][2]["number"], found[1][2]["attempt"]) == (2, 1)
    assert found[-1][2] == {"state": "done"}


def test_a_stream_continues_after_an_event(live: RunningApp) -> None:
    handle = live.hf.enqueue(counts.call(1200))
    drain(live)
    client = permitted(live, handle)
    found = parsed(client.get(path_of(handle), headers={"Last-Event-ID": "1198"}).text)
    assert [number for number, _, _ in found] == ["1199", "1200", ""]
    found = parsed(client.get(path_of(handle), params={"after": "100"}).text)
    assert found[0] == ("200", "gap", {"first": 101, "last": 200, "reason": "dropped"})
    assert len(found) == 1002
    assert client.get(path_of(handle), params={"after": "x"}).status_code == 400


def test_only_an_authorized_user_follows(live: RunningApp) -> None:
    """A token of the user alone, and one that names another task, are refused."""
    handle, other = live.hf.enqueue(waits.call()), live.hf.enqueue(waits.call())
    for client in (live.of("jill"), permitted(live, other)):
        assert client.get(path_of(handle)).status_code == 403
    assert live.of(None).get(path_of(handle)).status_code == 401


def test_a_user_has_some_streams_at_once(live: RunningApp) -> None:
    handle = live.hf.enqueue(waits.call())
    client = permitted(live, handle)
    with client.stream("GET", path_of(handle)), client.stream("GET", path_of(handle)):
        assert client.get(path_of(handle)).status_code == 429
    go_on.set()
    drain(live)

    def is_free() -> bool:
        return bool(client.get(path_of(handle)).status_code == 200)

    eventually(is_free)


def test_events_come_while_the_task_runs(live: RunningApp) -> None:
    handle = live.hf.enqueue(waits.call())
    with (
        BackgroundWorker(live.hf.worker(tasks)),
        permitted(live, handle).stream("GET", path_of(handle)) as answer,
    ):
        text = ""
        for part in answer.iter_text():
            text += part
            if "began" in text:
                go_on.set()
    assert [kind for _, kind, _ in parsed(text)] == ["event", "event", "end"]


async def test_a_client_that_reads_nothing_is_cut_off(
    standalone: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes back with the last event that it has read, and gets a gap for what is gone."""
    monkeypatch.setattr(sys.modules["holdfast.web.gateway.event_stream"], "STALL_S", 0.1)
    async with AsyncHoldfast.from_url(standalone.url, namespace=tmp_path.name) as hf:
        handle = await hf.enqueue(counts.call(1500))
        await hf.worker(tasks).run(until_idle=True)
        tokens = Tokens(SECRET)
        app = gateway(hf, authenticator=tokens, limits=Limits(waiting=1))
        scope = scope_of(path_of(handle), tokens.issue("jill", tasks=[handle]))
        taken: list[bytes] = []

        async def send(message: Any) -> None:
            taken.append(message.get("body", b""))
            if len(taken) > 4:  # the buffers are full
                await asyncio.sleep(60)

        await asyncio.wait_for(app(scope, asyncio.Event().wait, send), 30)
        last = parsed(b"".join(taken[:4]).decode())[-1][0]
        assert last == "501"  # after the gap and an event
        headers = [*scope["headers"], (b"last-event-id", b"10")]
        taken.clear()
        await asyncio.wait_for(app({**scope, "headers": headers}, asyncio.Event().wait, send), 30)
        assert parsed(b"".join(taken).decode())[0][2] == {
            "first": 11,
            "last": 500,
            "reason": "dropped",
        }


async def test_an_idle_stream_beats_until_its_token_is_revoked(
    standalone: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["holdfast.web.gateway.event_stream"], "KEEP_ALIVE_S", 0.1)
    async with AsyncHoldfast.from_url(standalone.url, namespace=tmp_path.name) as hf:
        handle = await hf.enqueue(waits.call())
        tokens = Tokens(SECRET)
        app = gateway(hf, authenticator=tokens)
        sent: list[dict[str, Any]] = []

        async def send(message: Any) -> None:
            sent.append(message)
            if sum(b"heartbeat" in each.get("body", b"") for each in sent) == 3:
                await revoke(hf, "jill")

        scope = scope_of(path_of(handle), tokens.issue("jill", tasks=[handle]))
        await asyncio.wait_for(app(scope, asyncio.Event().wait, send), 30)
        assert sum(b"heartbeat" in each.get("body", b"") for each in sent) >= 3
        assert sent[-1]["more_body"] is False
        assert "end" not in [kind for _, kind, _ in parsed(body_of(sent))]
        sent.clear()
        await app(scope, asyncio.Event().wait, send)
        assert sent[0]["status"] == 401


def scope_of(path: str, token: str) -> dict[str, Any]:
    """Return the ASGI scope of a GET request with *token*."""
    return {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1"), (b"authorization", f"Bearer {token}".encode())],
        "client": ("127.0.0.1", 1),
    }


def body_of(sent: list[dict[str, Any]]) -> str:
    """Return the body of a response."""
    return b"".join(each.get("body", b"") for each in sent).decode()


@pytest.fixture
def page(browser: Browser, live: RunningApp) -> Iterator[Page]:
    with browser.new_context(bypass_csp=True) as context:
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        yield page


FOLLOW = """
async ([base, queue, id, token]) => {
  const {TaskEvents} = await import(`${base}/v1/task-events.js`);
  window.seen = []; window.states = []; window.ended = "";
  const events = window.events = new TaskEvents(queue, id, {token, base});
  events.addEventListener("event", ({detail}) => window.seen.push(detail.number));
  events.addEventListener("gap", ({detail}) => window.seen.push([detail.first, detail.last]));
  events.addEventListener("state", ({detail}) => window.states.push(detail));
  events.addEventListener("end", ({detail}) => { window.ended = detail.state; });
  events.addEventListener("refused", ({detail}) => { window.ended = detail; });
}
"""


def test_a_browser_survives_a_lost_network(live: RunningApp, page: Page) -> None:
    """It gets each event once, in order, although its connections are cut again and again."""
    handle = live.hf.enqueue(slow.call(60))
    token = live.tokens.issue("jill", tasks=[handle])
    with Relay(live.port) as relay, BackgroundWorker(live.hf.worker(slow_tasks)):
        base = relay.url
        page.goto(f"{base}/v1/task-events.js")
        page.evaluate(FOLLOW, [base, "slow", handle.task_id, token])
        for upto in (5, 20, 40):
            page.wait_for_function(f"window.seen.length >= {upto}")
            relay.cut()
        page.context.set_offline(True)
        page.wait_for_function("window.states.at(-1) === 'connecting'")
        page.context.set_offline(False)
        page.wait_for_function("window.ended")
    assert page.evaluate("window.ended") == "done"
    assert page.evaluate("window.seen") == list(range(1, 61))
    assert page.evaluate("window.states.filter((state) => state === 'online').length") >= 4


def test_a_browser_gets_the_refusal(live: RunningApp, page: Page) -> None:
    page.goto(f"{live.url}/v1/task-events.js")
    page.evaluate(FOLLOW, [live.url, "slow", "other", live.tokens.issue("jill")])
    page.wait_for_function("window.ended")
    assert page.evaluate("[window.ended, window.states.at(-1)]") == [403, "closed"]
