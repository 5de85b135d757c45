"""Errors that clients get when the server of the gateway fails."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from faults.proxy import Proxy
from faults.servers import Server
from faults.waiting import eventually
from holdfast.messages._sync.chat import CREATE
from holdfast.messages._sync.mailbox import DELIVER
from holdfast.messages._sync.sender import SEND
from web.gateway.test_stream import device
from web.running import RunningApp, opened

KEY = {"Idempotency-Key": "mine"}


def problem(
    live: RunningApp, path: str, body: object, headers: dict[str, str]
) -> dict[str, object]:
    """Return the problem of a request; it must be a 503 with a Retry-After."""
    answer = live.of("jill").post(path, json=body, headers=headers)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    return dict(answer.json())


def warmed(live: RunningApp) -> str:
    """Create a chat, and load the scripts so that later calls use their digests."""
    live.hf.mailbox("jack").send("warm", sender="jill")
    chat = live.hf.create_chat(["jill"], sender="jill", body="warm")
    chat.send("warm", sender="jill")
    return chat.chat_id


Order = Callable[[str], tuple[str, object, str]]

WRITES: dict[str, Order] = {
    "mailbox": lambda chat: ("/v1/mailboxes/jack", "hi", DELIVER.sha1),
    "chat": lambda chat: (f"/v1/chats/{chat}/messages", "hi", SEND.sha1),
    "create": lambda chat: ("/v1/chats", {"members": [], "body": "hi"}, CREATE.sha1),
}


@pytest.mark.parametrize("headers", [{}, KEY], ids=["no key", "key"])
@pytest.mark.parametrize("name", WRITES)
def test_a_lost_reply_is_reported_with_the_key_to_repeat_it(
    proxy: Proxy, name: str, headers: dict[str, str]
) -> None:
    """And the repeat is applied once, and answers the same."""
    with opened(proxy.url, f"trouble-{name}-{len(headers)}") as live:
        chat = warmed(live)
        path, body, sha = WRITES[name](chat)
        proxy.drop_reply(match=sha.encode())
        lost = problem(live, path, body, headers)
        assert lost["type"] == "urn:holdfast:problem:outcome-unknown"
        key = str(lost["idempotency_key"])
        assert not headers or key == "mine"
        again = [
            live.of("jill").post(path, json=body, headers={"Idempotency-Key": key}).json()
            for _ in range(2)
        ]
        assert again[0] == again[1]
        assert live.hf.mailbox("jack").status().unread == 1 + (name == "mailbox")
        assert len(live.hf.chat(chat).history()) == 2 + (name == "chat")
        assert len(live.hf.inbox("jill").chats()) == 1 + (name == "create")


def test_a_lost_reply_is_reported_on_a_stream(proxy: Proxy) -> None:
    with opened(proxy.url, "trouble-stream") as live:
        to = f"chat:{warmed(live)}"
        with device(live, "jill", sources=[]) as jill:
            proxy.drop_reply(match=SEND.sha1.encode())
            jill.say(type="send", to=to, body="hi", id=1)
            key = jill.hear("error")["problem"]["idempotency_key"]
            for _ in range(2):
                jill.say(type="send", to=to, body="hi", key=key)
                assert jill.hear("sent")["seq"] == 3


def test_an_outage_is_reported_without_naming_the_server(fresh_server: Server) -> None:
    """Hide the address of the server; requests work again when the server is back."""
    with opened(fresh_server.url, "trouble-outage") as live:
        warmed(live)
        fresh_server.kill()
        found = problem(live, "/v1/mailboxes/jack", "hi", {})
        assert found["type"] == "urn:holdfast:problem:unavailable"
        assert str(fresh_server.port) not in json.dumps(found)
        fresh_server.start()
        send = lambda: live.of("jill").post("/v1/mailboxes/jack", json="hi")  # noqa: E731
        eventually(lambda: send().status_code == 201)
