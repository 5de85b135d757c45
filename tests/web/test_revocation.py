"""Nothing is delivered or sent with tokens that are revoked or over, or by closed clients."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator

import pytest

from faults.monitor import watching
from faults.servers import Server
from faults.waiting import eventually
from holdfast import AsyncHoldfast
from holdfast.web import Tokens, revoke
from holdfast.web.gateway import stream_session
from holdfast.web.revocation import READ_EVERY_S
from web.gateway.test_stream import PATIENCE_S, closed, device
from web.running import SECRET, RunningApp, opened

NEVER_S = 3600.0


@pytest.fixture
def live(standalone: Server) -> Iterator[RunningApp]:
    """Serve a gateway for tests of revoked tokens."""
    with opened(standalone.url, "revocation") as live:
        yield live


@pytest.fixture
def no_pings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable the pings of streams, because each ping checks the token."""
    monkeypatch.setattr(stream_session, "PING_S", NEVER_S)


def end_tokens(live: RunningApp, server: Server, user: str) -> None:
    """Revoke from another client, and wait until each gateway has to know it."""

    async def run() -> None:
        async with AsyncHoldfast.from_url(server.url, namespace=live.hf.namespace) as hf:
            await revoke(hf, user)

    asyncio.run(run())
    time.sleep(READ_EVERY_S)


def test_requests_with_a_revoked_token_are_refused(live: RunningApp, standalone: Server) -> None:
    """Within a second, and only those of this user; new tokens are good."""
    jill, jack = live.of("jill"), live.of("jack")
    assert jill.get("/v1/mailbox").status_code == 200
    end_tokens(live, standalone, "jill")
    answer = jill.get("/v1/mailbox")
    assert (answer.status_code, "invalid_token" in answer.headers["www-authenticate"]) == (
        401,
        True,
    )
    assert jill.post("/v1/mailboxes/jack", json=1).status_code == 401
    assert jack.get("/v1/mailbox").json()["messages"] == []
    assert live.of("jill").get("/v1/mailbox").status_code == 200
    end_tokens(live, standalone, "jill")
    end_tokens(live, standalone, "jill")


def test_passes_are_revoked_as_well(live: RunningApp, standalone: Server) -> None:
    """On the dashboard, and for metrics."""
    ann = live.visitor("operator", Accept="application/json")
    metrics = {"Authorization": f"Bearer {live.passes.issue('ann', 'viewer')}"}
    assert ann.get("/queues").status_code == 200
    assert live.of(None, **metrics).get("/metrics").status_code == 200
    end_tokens(live, standalone, "ann")
    assert ann.get("/queues").status_code == 401
    assert ann.post("/queue/pause", json={"queue": "email"}).status_code == 401
    assert live.of(None, **metrics).get("/metrics").status_code == 401
    assert live.visitor("operator").get("/queues.json").status_code == 200


def test_a_long_poll_with_a_revoked_token_gets_nothing(
    live: RunningApp, standalone: Server
) -> None:
    """The token was valid when the poll began."""
    jill, answers = live.of("jim"), list[int]()
    poll = threading.Thread(
        target=lambda: answers.append(jill.get("/v1/mailbox?timeout=60").status_code)
    )
    poll.start()
    time.sleep(0.3)
    end_tokens(live, standalone, "jim")
    live.hf.mailbox("jim").send("late", sender="jack")
    poll.join(PATIENCE_S)
    assert answers == [401]


@pytest.mark.parametrize("source", ["mailbox", "chat"])
@pytest.mark.usefixtures("no_pings")
def test_nothing_is_delivered_with_a_revoked_token(
    live: RunningApp, standalone: Server, source: str
) -> None:
    """The stream ends instead."""
    user = f"joe-{source}"
    chat = live.hf.create_chat([user], sender="jack", body="before")
    with device(live, user) as joe:
        joe.hear("batch")
        end_tokens(live, standalone, user)
        if source == "chat":
            chat.send("late", sender="jack")
        else:
            live.hf.mailbox(user).send("late", sender="jack")
        assert joe.hear("error")["problem"]["status"] == 401
        assert closed(joe) == 4401


@pytest.mark.parametrize("kind", ["send", "ack"])
@pytest.mark.usefixtures("no_pings")
def test_nothing_is_sent_with_a_revoked_token(
    live: RunningApp, standalone: Server, kind: str
) -> None:
    """A revoked token cannot acknowledge messages either."""
    user = f"jane-{kind}"
    live.hf.mailbox(user).send("read me", sender="jack")
    with device(live, user) as jane:
        position = jane.hear("batch")["position"]
        end_tokens(live, standalone, user)
        if kind == "send":
            jane.say(type="send", to=f"mailbox:{user}", body="late")
        else:
            jane.say(type="ack", source="mailbox", position=position)
        assert jane.hear("error")["problem"]["status"] == 401
        assert closed(jane) == 4401
    assert live.hf.mailbox(user).status().unread == 1


def test_revocations_are_read_once_a_second(live: RunningApp, standalone: Server) -> None:
    """Not with each request, frame and delivery."""
    jill = live.of("jill")
    with device(live, "jill") as phone, watching(standalone) as watch:
        began = time.monotonic()
        for n in range(30):
            assert jill.get("/v1/mailbox/status").status_code == 200
            phone.say(type="send", to="mailbox:jack", body=n)
            phone.hear("sent")
            live.hf.mailbox("jill").send(n, sender="jack")
            phone.hear("batch")
        seconds = time.monotonic() - began
    reads = [words for _, words in watch.commands if "holdfast-not-before-" in " ".join(words)]
    assert len(reads) <= seconds / READ_EVERY_S + 2


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = time.time()

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize("how", ["mailbox", "chat", "send", "ack"])
@pytest.mark.usefixtures("no_pings")
def test_nothing_goes_on_with_a_token_that_is_over(standalone: Server, how: str) -> None:
    """Deliveries, sends and acknowledgements look at the clock themselves."""
    clock = Clock()
    tokens = Tokens(SECRET, clock=clock)
    with opened(standalone.url, f"over-{how}", authenticator=tokens) as live:
        chat = live.hf.create_chat(["jill"], sender="jack", body="before")
        with device(live, "jill") as jill:
            position = jill.hear("batch")["position"]
            clock.now += 10**6
            if how == "mailbox":
                live.hf.mailbox("jill").send("late", sender="jack")
            elif how == "chat":
                chat.send("late", sender="jack")
            elif how == "send":
                jill.say(type="send", to=f"chat:{chat.chat_id}", body="late")
            else:
                jill.say(type="ack", source=f"chat:{chat.chat_id}", position=position)
            assert jill.hear("error")["problem"]["status"] == 401
            assert closed(jill) == 4401
        assert len(chat.history()) == 1 + (how == "chat")
        assert dict(chat.members()) == {"jill": 0, "jack": 1 + (how == "chat")}


@pytest.mark.usefixtures("no_pings")
def test_a_stream_ends_when_its_token_does(standalone: Server) -> None:
    """Not only when something happens; and not before."""
    tokens = Tokens(SECRET)
    with opened(standalone.url, "over", authenticator=tokens) as live:
        lifetime, token = 1.5, tokens.issue("jill", lifetime=1.5)
        issued = time.time()
        with device(live, "jill") as long, device(live, "jill", token=token) as short:
            assert short.hear("error")["problem"]["status"] == 401
            assert closed(short) == 4401
            assert time.time() - issued >= lifetime - 0.1
            long.silent()


@pytest.mark.usefixtures("no_pings")
def test_a_closed_client_ends_its_streams(standalone: Server) -> None:
    """The close code asks the device to reconnect; requests get a 503."""
    clients: list[AsyncHoldfast] = []
    loops: list[asyncio.AbstractEventLoop] = []

    def keep(user: str, action: str, target: str) -> bool:
        loops[:] = [asyncio.get_running_loop()]
        return True

    with opened(standalone.url, "client-closed", may=keep, clients=clients) as live:
        with device(live, "jill") as jill:
            jill.say(type="send", to="mailbox:jack", body=1)
            jill.hear("sent")
            asyncio.run_coroutine_threadsafe(clients[0].close(), loops[0]).result(PATIENCE_S)
            assert closed(jill) == 1012
        assert live.of("jill").get("/v1/mailbox").status_code == 503


def test_a_stream_outlives_a_server_that_cannot_answer(
    fresh_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gateway asks again whether the token is revoked; the stream stays open meanwhile."""
    monkeypatch.setattr(stream_session, "PING_S", 0.3)
    with opened(fresh_server.url, "away") as live, device(live, "jill", sources=[]) as jill:
        fresh_server.kill()
        for _ in range(2):
            assert json.loads(jill.line.recv(PATIENCE_S)) == {"type": "ping"}
        jill.say(type="send", to="mailbox:jack", body=1)
        assert jill.hear("error")["problem"]["status"] == 503
        fresh_server.start()
        eventually(lambda: sent(jill))


def sent(jill: object) -> bool:
    """Return whether the gateway accepts a message again."""
    jill.say(type="send", to="mailbox:jack", body=1)  # type: ignore[attr-defined]
    while True:
        frame = json.loads(jill.line.recv(PATIENCE_S))  # type: ignore[attr-defined]
        if frame["type"] != "ping":
            return bool(frame["type"] == "sent")
