"""Mailboxes over HTTP."""

from __future__ import annotations

import base64
import threading
import time
from urllib.parse import quote

import pytest

from holdfast.web.gateway.mailbox_routes import PER_SENDER
from web.running import RunningApp

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def test_a_message_is_sent_fetched_and_acknowledged(live: RunningApp) -> None:
    """Fetching changes nothing; acknowledging does, and twice is once."""
    jill, jack = live.of("jill"), live.of("jack")
    assert jill.post("/v1/mailboxes/jack", json={"text": "hi"}).json() == {"seq": 1}
    for _ in range(2):
        batch = jack.get("/v1/mailbox").json()
        [message] = batch["messages"]
        assert (message["seq"], message["sender"], message["body"]) == (1, "jill", {"text": "hi"})
        assert message["sent_at"].endswith("Z")
        assert batch["gap"] is None
    for _ in range(2):
        answer = jack.post("/v1/mailbox/ack", json={"position": batch["position"]})
        assert (answer.status_code, answer.content) == (204, b"")
    assert jack.get("/v1/mailbox").json() == {"messages": [], "gap": None, "position": None}
    assert jack.get("/v1/mailbox/latest?n=5").json()["messages"] == [message]


def test_status_shows_whether_too_much_waits(live: RunningApp) -> None:
    """And since when, and whether anybody has been there."""
    jack = live.of("jack")
    live.hf.mailbox("jack").send("one", sender="jill")
    status = jack.get("/v1/mailbox/status").json()
    assert (status["unread"], status["last_seen_at"], status["read_seq"]) == (1, None, 0)
    assert status["oldest_at"].endswith("Z")


def test_a_picture_stays_what_it_is(live: RunningApp) -> None:
    """Ignore the type that the sender gives, and detect the type from the bytes."""
    jill, jack = live.of("jill"), live.of("jack")
    jill.post("/v1/mailboxes/jack", content=PNG, headers={"Content-Type": "text/html"})
    [message] = jack.get("/v1/mailbox").json()["messages"]
    assert base64.b64decode(message["bytes"]["base64"]) == PNG
    assert message["bytes"]["type"] == "image/png"
    assert live.hf.mailbox("jack").fetch().messages[0].body == PNG


def test_what_is_new_is_waited_for(live: RunningApp) -> None:
    """A long poll answers as soon as there is something, or after its timeout with nothing."""
    jack = live.of("jack")
    begun = time.monotonic()
    assert jack.get("/v1/mailbox?timeout=0.3").json()["messages"] == []
    assert time.monotonic() - begun >= 0.3
    sender = threading.Timer(0.5, lambda: live.hf.mailbox("jack").send("now", sender="jill"))
    sender.start()
    [message] = jack.get("/v1/mailbox?timeout=15").json()["messages"]
    sender.join()
    assert message["body"] == "now"


@pytest.mark.parametrize("name", ["a b", "ä/ö", "%2F", "{x}:y", "..x", "\N{SNOWMAN}", "a\nb"])
def test_names_may_be_odd(live: RunningApp, name: str) -> None:
    """A name is one segment of the path, encoded; nothing in it means anything."""
    path = f"/v1/mailboxes/{quote(name, safe='')}"
    assert live.of("jill").post(path, json="hi").status_code == 201
    [message] = live.of(name).get("/v1/mailbox").json()["messages"]
    assert message["body"] == "hi"
    assert live.hf.mailbox(name).status().unread == 1


def test_the_same_key_sends_once(live: RunningApp) -> None:
    """A key is bound to its user: the same key of another user is a different key."""
    for user, seq in (("jill", 1), ("jill", 1), ("joe", 2)):
        answer = live.of(user).post(
            "/v1/mailboxes/jack", json="hi", headers={"Idempotency-Key": "once"}
        )
        assert answer.json() == {"seq": seq}


def test_a_full_mailbox_is_reported(live: RunningApp) -> None:
    """The error has the form of RFC 9457."""
    live.hf.mailbox("jack", capacity=1).send("one", sender="jill")
    answer = live.of("jill").post("/v1/mailboxes/jack", json="two")
    assert answer.status_code == 409
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["type"] == "urn:holdfast:problem:mailbox-full"


def test_one_user_cannot_fill_a_mailbox(live: RunningApp) -> None:
    """Others can still send."""
    eve, jill, jack = (live.of(user) for user in ("eve", "jill", "jack"))
    for n in range(PER_SENDER):
        live.hf.mailbox("jack").send(n, sender="eve", per_sender=PER_SENDER)
    answer = eve.post("/v1/mailboxes/jack", json="more")
    assert (answer.status_code, answer.json()["type"]) == (409, "urn:holdfast:problem:mailbox-full")
    assert jill.post("/v1/mailboxes/jack", json="hello").status_code == 201
    position = jack.get("/v1/mailbox").json()["position"]
    assert jack.post("/v1/mailbox/ack", json={"position": position}).status_code == 204
    assert eve.post("/v1/mailboxes/jack", json="more").status_code == 201


def test_the_position_of_a_lost_mailbox_is_stale(live: RunningApp) -> None:
    """Nothing is acknowledged under numbers of another incarnation."""
    live.hf.mailbox("jack").send("one", sender="jill")
    answer = live.of("jack").post("/v1/mailbox/ack", json={"position": "17:1"})
    assert (answer.status_code, answer.json()["type"]) == (
        409,
        "urn:holdfast:problem:stale-position",
    )
    assert live.hf.mailbox("jack").status().unread == 1
