"""The authorization hook: asked for every route and frame that touches a user or a chat."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from faults.servers import Server
from holdfast.web.gateway.authorization import ACTIONS
from web.gateway.test_stream import device
from web.running import RunningApp, opened

Hook = Callable[[str, str, str], bool | Awaitable[bool]]


@dataclass
class Rules:
    """A hook that notes what it is asked, and refuses some of it."""

    refused: set[str] = field(default_factory=set)
    asked: list[tuple[str, str, str]] = field(default_factory=list)

    def may(self, user: str, action: str, target: str) -> bool:
        self.asked.append((user, action, target))
        return action not in self.refused and f"{action} {target}" not in self.refused

    async def may_later(self, user: str, action: str, target: str) -> bool:
        return self.may(user, action, target)


@pytest.fixture(params=["plain", "coroutine"])
def rules(request: pytest.FixtureRequest) -> tuple[Rules, Hook]:
    """Rules, and the hook that asks them, of either kind."""
    rules = Rules()
    return rules, rules.may if request.param == "plain" else rules.may_later


@contextmanager
def guarded(server: Server, hook: Any) -> Iterator[RunningApp]:
    """Serve a gateway with the authorization hook *hook*, and a chat of jill and jack."""
    with opened(server.url, f"permission-{id(hook)}", may=hook) as live:
        live.chat = live.hf.create_chat(["jack"], sender="jill", body="hello")
        yield live


def requests(chat: str) -> dict[str, tuple[str, str, dict[str, Any]]]:
    """Return the requests that affect another user or a chat, keyed by the action they need."""
    path = f"/v1/chats/{chat}"
    return {
        "mailbox.send": ("POST", "/v1/mailboxes/jack", {"json": 1}),
        "chat.create": ("POST", "/v1/chats", {"json": {"members": [], "body": 1}}),
        "chat.invite": ("POST", "/v1/chats", {"json": {"members": ["jack"], "body": 1}}),
        "chat.invite ": ("POST", f"{path}/members", {"json": {"user": "joe"}}),
        "chat.add": ("POST", f"{path}/members", {"json": {"user": "joe"}}),
        "chat.send": ("POST", f"{path}/messages", {"json": 1}),
        "chat.read": ("GET", f"{path}/messages/1", {}),
        "chat.read ": ("GET", f"{path}/history", {}),
        "chat.members": ("GET", f"{path}/members", {}),
        "chat.ack": ("POST", "/v1/inbox/ack", {"json": {"chat": chat, "position": "1:1"}}),
        "chat.ack ": ("POST", "/v1/inbox/ack-all", {"json": {"positions": {chat: "1:1"}}}),
        "chat.leave": ("DELETE", f"{path}/members/me", {}),
        "task.follow": ("GET", "/v1/tasks/reports/unheard-of/events", {}),
    }


def test_each_request_is_asked_for(standalone: Server, rules: tuple[Rules, Hook]) -> None:
    """What is refused does nothing; nothing else is refused."""
    rule, hook = rules
    with guarded(standalone, hook) as live:
        jill, chat = live.of("jill"), live.chat.chat_id
        before = [message.seq for message in live.chat.history()]
        for action, (method, path, options) in requests(chat).items():
            rule.refused, rule.asked = {action.strip()}, []
            answer = jill.request(method, path, **options)
            assert (answer.status_code, rule.asked[-1][:2]) == (403, ("jill", action.strip()))
            assert answer.json()["type"] == "urn:holdfast:problem:forbidden"
        rule.refused = set()
        assert [message.seq for message in live.chat.history()] == before
        assert set(live.chat.members()) == {"jill", "jack"}
        assert live.hf.mailbox("jack").status().unread == 0
        assert set(live.hf.inbox("jill").chats()) == {chat}
        for action, (method, path, options) in requests(chat).items():
            code = jill.request(method, path, **options).status_code
            assert code < 300 or (action.strip(), code) == (
                "chat.ack",
                409,
            )  # a position of another chat
        assert {action for _, action, _ in rule.asked} == set(ACTIONS)


def test_a_refused_chat_stops_no_other_acknowledgement(
    standalone: Server, rules: tuple[Rules, Hook]
) -> None:
    rule, hook = rules
    with guarded(standalone, hook) as live:
        for n in range(3):
            live.hf.create_chat(["jack"], sender="jill", body=1, chat_id=f"c{n}")
        jack = live.of("jack")
        batches = jack.get("/v1/inbox").json()["batches"]
        positions = {each["chat"]: each["position"] for each in batches}
        assert len(positions) == 4
        rule.refused = {"chat.ack c1"}
        answer = jack.post("/v1/inbox/ack-all", json={"positions": positions})
        assert answer.status_code == 403
        assert [batch.source for batch in live.hf.inbox("jack").fetch()] == ["c1"]
        rule.refused = set()
        live.hf.chat("c1").leave("jack")
        live.hf.chat("c2").send(2, sender="jill")
        [batch] = jack.get("/v1/inbox").json()["batches"]
        positions["c2"] = batch["position"]
        answer = jack.post("/v1/inbox/ack-all", json={"positions": positions})
        assert answer.status_code == 404
        assert live.hf.inbox("jack").fetch() == []
        del positions["c1"]
        for _ in range(2):
            answer = jack.post("/v1/inbox/ack-all", json={"positions": positions})
            assert answer.status_code == 204
        wrong: list[dict[str, object]] = [{"c2": "soon"}, {"": "1:1"}, {"c2": 1}]
        for given in wrong:
            answer = jack.post("/v1/inbox/ack-all", json={"positions": given})
            assert answer.status_code == 400


def test_each_frame_is_asked_for(standalone: Server, rules: tuple[Rules, Hook]) -> None:
    """Sends and acknowledgements are refused one by one; the stream stays."""
    rule, hook = rules
    with guarded(standalone, hook) as live, device(live, "jill", sources=[]) as jill:
        source = f"chat:{live.chat.chat_id}"
        rule.refused = {"mailbox.send", "chat.send", "chat.ack"}
        for frame in (
            {"type": "send", "to": "mailbox:jack", "body": 1},
            {"type": "send", "to": source, "body": 1},
            {"type": "ack", "source": source, "position": "1:1"},
        ):
            jill.say(**frame)
            assert jill.hear("error")["problem"]["status"] == 403
        assert rule.asked == [
            ("jill", "mailbox.send", "jack"),
            ("jill", "chat.send", live.chat.chat_id),
            ("jill", "chat.ack", live.chat.chat_id),
        ]
        rule.refused = set()
        jill.say(type="send", to=source, body=1)
        assert jill.hear("sent")["seq"] == 2


def test_chats_that_may_not_be_read_are_nowhere(
    standalone: Server, rules: tuple[Rules, Hook]
) -> None:
    """Neither in lists, nor in the inbox, nor on a stream; other chats come all the same."""
    rule, hook = rules
    with guarded(standalone, hook) as live:
        other = live.hf.create_chat(["jack"], sender="jill", body="open")
        for n in range(150):  # more than one answer of the inbox holds
            live.chat.send(n, sender="jill")
        rule.refused = {f"chat.read {live.chat.chat_id}"}
        jack = live.of("jack")
        assert [each["id"] for each in jack.get("/v1/chats").json()["chats"]] == [other.chat_id]
        assert jack.get("/v1/inbox/unread").json()["unread"] == {other.chat_id: 1}
        for query in ("limit=10", "limit=10&timeout=5"):
            batches = jack.get(f"/v1/inbox?{query}").json()["batches"]
            assert [each["chat"] for each in batches] == [other.chat_id]
        with device(live, "jack") as phone:
            batch = phone.hear("batch")
            assert batch["source"] == f"chat:{other.chat_id}"
            live.chat.send("more", sender="jill")
            phone.silent()


def test_a_hook_that_fails_allows_nothing(standalone: Server) -> None:
    """The error of the hook is only logged."""

    def fail(user: str, action: str, target: str) -> bool:
        raise ValueError("a secret of the application")

    with guarded(standalone, fail) as live:
        answer = live.of("jill").post("/v1/mailboxes/jack", json=1)
        assert (answer.status_code, "secret" in answer.text) == (500, False)
        assert live.hf.mailbox("jack").status().unread == 0


@pytest.mark.parametrize("answer", [None, 0, ""])
def test_only_what_is_true_is_allowed(standalone: Server, answer: Any) -> None:
    """A hook that forgets to answer allows nothing."""
    with guarded(standalone, lambda *_: answer) as live:
        assert live.of("jill").post("/v1/mailboxes/jack", json=1).status_code == 403


def test_no_hook_makes_a_member(standalone: Server) -> None:
    """Whatever it allows, only members read and write."""
    with guarded(standalone, lambda *_: True) as live:
        eve, path = live.of("eve"), f"/v1/chats/{live.chat.chat_id}"
        assert eve.get(f"{path}/history").status_code == 404
        assert eve.post(f"{path}/messages", json=1).status_code == 404
        assert eve.post(f"{path}/members", json={"user": "eve"}).status_code == 404
