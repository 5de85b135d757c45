"""Chats and the inbox over HTTP."""

from __future__ import annotations

import base64
import threading

from conftest import Site
from holdfast.core.names import Namespace
from holdfast.messages import keys
from web.gateway.test_mailbox import PNG
from web.running import RunningApp


def test_a_chat_from_its_beginning_to_its_end(live: RunningApp) -> None:
    """Create, send, fetch, acknowledge, read back, add, leave."""
    jill, jack, joe = (live.of(user) for user in ("jill", "jack", "joe"))
    made = jill.post("/v1/chats", json={"members": ["jack"], "body": "hello"})
    assert made.status_code == 201
    chat = made.json()["id"]
    assert made.headers["location"] == f"/v1/chats/{chat}"
    path = f"/v1/chats/{chat}"
    assert jack.post(f"{path}/messages", json={"text": "hi"}).json() == {"seq": 2}

    [batch] = jack.get("/v1/inbox").json()["batches"]
    assert batch["chat"] == chat
    assert [message["body"] for message in batch["messages"]] == ["hello", {"text": "hi"}]
    assert jack.get("/v1/inbox/unread").json()["unread"] == {chat: 2}
    seen = {"chat": chat, "position": batch["position"]}
    assert jack.post("/v1/inbox/ack", json=seen).status_code == 204
    assert jack.get("/v1/inbox").json() == {"batches": [], "skipped_chats": 0}
    assert jack.get("/v1/chats").json() == {"chats": [{"id": chat, "unread": 0}]}

    assert jill.post(f"{path}/members", json={"user": "joe"}).status_code == 204
    members = joe.get(f"{path}/members").json()["members"]
    assert members == {"jill": 1, "jack": 2, "joe": 2}
    assert joe.get(f"{path}/history").json() == {"messages": []}, "it was sent before joe came"
    assert joe.get(f"{path}/messages/1").status_code == 404
    [first] = jack.get(f"{path}/history?before=2&limit=1").json()["messages"]
    assert (first["seq"], first["body"]) == (1, "hello")
    [second] = jack.get(f"{path}/history?after=1").json()["messages"]
    assert second["seq"] == 2

    for _ in range(2):
        assert jill.delete(f"{path}/members/me").status_code == 204
    assert jill.get("/v1/chats").json() == {"chats": []}
    assert jill.get(f"{path}/history").status_code == 404


def test_a_picture_begins_a_chat_and_is_read_raw(live: RunningApp) -> None:
    """As it was sent, and harmless wherever it is opened."""
    jill, packed = live.of("jill"), base64.b64encode(PNG).decode()
    body = {"members": [], "bytes": {"base64": packed}}
    chat = jill.post("/v1/chats", json=body).json()["id"]
    answer = jill.get(f"/v1/chats/{chat}/messages/1")
    assert (answer.content, answer.headers["content-type"]) == (PNG, "image/png")
    assert "sandbox" in answer.headers["content-security-policy"]
    script = {"Content-Type": "text/html"}
    jill.post(f"/v1/chats/{chat}/messages", content=b"<script>", headers=script)
    answer = jill.get(f"/v1/chats/{chat}/messages/2")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == "attachment"
    jill.post(f"/v1/chats/{chat}/messages", json=[1, None])
    assert jill.get(f"/v1/chats/{chat}/messages/3").json() == [1, None]
    assert jill.get(f"/v1/chats/{chat}/messages/4").status_code == 404


def test_the_inbox_waits_for_any_chat(live: RunningApp) -> None:
    """Also for one that does not exist yet when the waiting begins."""
    jack = live.of("jack")
    later = threading.Timer(
        0.5, lambda: live.hf.create_chat(["jack"], sender="jill", body="surprise")
    )
    later.start()
    [batch] = jack.get("/v1/inbox?timeout=15").json()["batches"]
    later.join()
    assert batch["messages"][0]["body"] == "surprise"


def test_a_gap_is_reported(live: RunningApp) -> None:
    """What was not kept is named."""
    chat = live.hf.create_chat(["jack"], sender="jill", body="1", keep=2)
    for n in range(2, 6):
        chat.send(str(n), sender="jill")
    [batch] = live.of("jack").get("/v1/inbox").json()["batches"]
    assert batch["gap"] == {"first": 1, "last": 3, "reason": "dropped"}
    assert [message["body"] for message in batch["messages"]] == ["4", "5"]


def test_the_same_key_makes_one_chat(live: RunningApp) -> None:
    """So a client that never got the answer just asks again."""
    jill, key = live.of("jill"), {"Idempotency-Key": "k"}
    ids = {
        jill.post("/v1/chats", json={"members": [], "body": "x"}, headers=key).json()["id"]
        for _ in range(3)
    }
    assert len(ids) == 1
    assert len(jill.get("/v1/chats").json()["chats"]) == 1


def test_what_is_nested_too_deeply_blocks_nothing(live: RunningApp, site: Site) -> None:
    """It could be decoded, but not be put into an answer."""
    chat = live.hf.create_chat(["jack"], sender="jill", body="fine")
    unit = Namespace.of(live.hf.namespace).unit(keys.CHAT, chat.chat_id)
    site.client.xadd(keys.log(unit), {"jill": b"j" + b"[" * 950 + b"]" * 950}, id="2-1")
    site.client.hset(keys.meta(unit), "top", 2)
    [batch] = live.of("jack").get("/v1/inbox").json()["batches"]
    assert ["body" in message for message in batch["messages"]] == [True, False]
    assert "undecodable" in batch["messages"][1]


def test_what_cannot_be_read_blocks_nothing(live: RunningApp, site: Site) -> None:
    """It is handed out as such, and acknowledged like any other."""
    chat = live.hf.create_chat(["jack"], sender="jill", body="fine")
    unit = Namespace.of(live.hf.namespace).unit(keys.CHAT, chat.chat_id)
    site.client.delete(keys.log(unit))
    site.client.xadd(keys.log(unit), {"jill": b"?"}, id="1-0")
    [batch] = live.of("jack").get("/v1/inbox").json()["batches"]
    assert "undecodable" in batch["messages"][0]
    answer = live.of("jack").get(f"/v1/chats/{chat.chat_id}/messages/1")
    assert (answer.status_code, "cannot be decoded" in answer.json()["detail"]) == (404, True)
