"""The stream: everything of a user on one WebSocket."""

from __future__ import annotations

import base64
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from faults.proxy import Proxy
from faults.servers import Server
from faults.stubborn import insist
from faults.waiting import eventually
from holdfast import Limit, Position
from holdfast.web import Limits, Tokens
from holdfast.web.gateway import stream_session
from web.gateway.test_mailbox import PNG
from web.running import SECRET, RunningApp, opened

PATIENCE_S = 60.0


class Device:
    """One end of a stream."""

    def __init__(self, line: ClientConnection) -> None:
        self.line = line

    def say(self, **frame: Any) -> None:
        """Send a frame."""
        self.line.send(json.dumps(frame))

    def hear(self, kind: str) -> dict[str, Any]:
        """Return the next frame that is not a ping, and check that it is of this kind."""
        while True:
            frame = json.loads(self.line.recv(PATIENCE_S))
            if frame["type"] != "ping":
                assert frame["type"] == kind, frame
                return dict(frame)

    def silent(self, seconds: float = 0.4) -> None:
        """Check that no frame except pings arrives for so many seconds."""
        ends_at = time.monotonic() + seconds
        with suppress(TimeoutError):
            while True:
                frame = json.loads(self.line.recv(max(0.0, ends_at - time.monotonic())))
                assert frame["type"] == "ping", frame


@contextmanager
def device(live: RunningApp, user: str, **hello: Any) -> Iterator[Device]:
    """Open a stream of *user*, and wait for its welcome."""
    with raw(live) as device:
        device.say(**{"type": "hello", "token": live.tokens.issue(user), **hello})
        assert device.hear("welcome")["user"] == user
        yield device


@contextmanager
def raw(live: RunningApp, **options: Any) -> Iterator[Device]:
    """Open a stream without sending a frame."""
    with connect(f"ws://{live.host}/v1/stream", proxy=None, max_size=None, **options) as line:
        yield Device(line)


@pytest.fixture(scope="module")
def den(standalone: Server) -> Iterator[RunningApp]:
    """Serve a gateway for tests that do not depend on the topology."""
    with opened(standalone.url, "streams") as live:
        yield live


def test_messages_are_received_and_acknowledged(live: RunningApp) -> None:
    """Of the mailbox and of all chats, what was there and what comes."""
    chat = live.hf.create_chat(["jack"], sender="jill", body="one")
    source = f"chat:{chat.chat_id}"
    with device(live, "jack") as jack:
        batch = jack.hear("batch")
        assert (batch["source"], batch["messages"][0]["body"]) == (source, "one")
        live.hf.mailbox("jack").send("mail", sender="jill")
        mail = jack.hear("batch")
        assert (mail["source"], mail["messages"][0]["body"]) == ("mailbox", "mail")
        chat.send(PNG, sender="jill")
        batch = jack.hear("batch")
        [message] = batch["messages"]
        assert base64.b64decode(message["bytes"]["base64"]) == PNG
        assert live.hf.inbox("jack").unread() == {chat.chat_id: 2}
        for frame in (batch, mail):
            seen = {"source": frame["source"], "position": frame["position"]}
            jack.say(type="ack", id=7, **seen)
            assert jack.hear("acked") == {"type": "acked", "id": 7, **seen}
        assert live.hf.inbox("jack").unread() == {chat.chat_id: 0}
        assert live.hf.mailbox("jack").status().unread == 0
        jack.silent()


def test_a_device_resumes_where_it_left_off(live: RunningApp) -> None:
    """Whatever the user's other device has acknowledged meanwhile."""
    chat = live.hf.create_chat(["jack"], sender="jill", body="one")
    source = f"chat:{chat.chat_id}"
    with device(live, "jack") as phone:
        position = phone.hear("batch")["position"]
    with device(live, "jack") as desk:
        desk.hear("batch")
        for n in range(5):
            chat.send(n, sender="jill")
        seen: list[Any] = []
        while len(seen) < 5:
            batch = desk.hear("batch")
            seen += [message["body"] for message in batch["messages"]]
        desk.say(type="ack", source=source, position=batch["position"])
        desk.hear("acked")
    with device(live, "jack", resume={source: position}) as phone:
        batch = phone.hear("batch")
        assert [message["body"] for message in batch["messages"]] == [0, 1, 2, 3, 4]
    with device(live, "jack", resume={source: batch["position"]}) as phone:
        phone.silent()


def test_a_device_from_another_epoch_is_notified_of_the_reset(live: RunningApp) -> None:
    """The device gets the messages that are still stored."""
    chat = live.hf.create_chat(["jack"], sender="jill", body="one")
    with device(live, "jack", resume={f"chat:{chat.chat_id}": "17:9"}) as jack:
        batch = jack.hear("batch")
        assert batch["gap"] == {"first": 1, "last": 9, "reason": "reset"}
        assert batch["messages"][0]["body"] == "one"


def test_a_new_member_is_not_shown_earlier_messages(live: RunningApp) -> None:
    """Whatever it says that it has."""
    chat = live.hf.create_chat(["jill"], sender="jill", body="before")
    epoch = live.hf.inbox("jill").fetch(after={chat.chat_id: Position(0, 0)})[0].epoch
    chat.join("joe")
    chat.send("after", sender="jill")
    for position in ("0:0", f"{epoch}:0", f"{epoch}:1", f"{epoch}:1:1", "17:9", "17:9:5"):
        with device(live, "joe", resume={f"chat:{chat.chat_id}": position}) as joe:
            batch = joe.hear("batch")
            assert [each["body"] for each in batch["messages"]] == ["after"], position
    history = live.of("joe").get(f"/v1/chats/{chat.chat_id}/history?after=0").json()
    assert [each["body"] for each in history["messages"]] == ["after"]


def test_a_position_of_an_older_version_is_a_reset(live: RunningApp) -> None:
    """An old position has no send time, so the stream restarts and misses no message."""
    live.hf.mailbox("jack").send("one", sender="jill")
    with device(live, "jack", resume={"mailbox": "0:0"}) as jack:
        position = jack.hear("batch")["position"]
    old = position.rpartition(":")[0]
    with device(live, "jack", resume={"mailbox": old}) as jack:
        batch = jack.hear("batch")
        assert (batch["gap"]["reason"], len(batch["messages"])) == ("reset", 1)
        jack.say(type="ack", source="mailbox", position=old)
        assert jack.hear("error")["problem"]["status"] == 409
        jack.say(type="ack", source="mailbox", position=position)
        assert jack.hear("acked")["position"] == position
    with device(live, "jack", resume={"mailbox": position}) as jack:
        jack.silent()


def test_messages_are_sent(live: RunningApp) -> None:
    """To chats and mailboxes; the same key sends once, and errors name the frame."""
    chat = live.hf.create_chat(["jack"], sender="jill", body="one")
    with device(live, "jill", sources=[]) as jill:
        for _ in range(2):
            jill.say(type="send", id="a", to=f"chat:{chat.chat_id}", body={"text": "hi"}, key="k")
            assert jill.hear("sent")["seq"] == 2
        packed = {"base64": base64.b64encode(PNG).decode()}
        jill.say(type="send", id="b", to="mailbox:jack", bytes=packed)
        assert jill.hear("sent")["id"] == "b"
        assert live.hf.mailbox("jack").fetch().messages[0].body == PNG
        for to, kind, key in (
            ("chat:nowhere", "not-found", "x"),
            ("jack", "bad-request", "x"),
            ("mailbox:jack", "bad-request", ""),
            ("mailbox:jack", "bad-request", "x" * 201),
        ):
            jill.say(type="send", id="c", to=to, body=1, key=key)
            error = jill.hear("error")
            assert error["id"] == "c"
            assert error["problem"]["type"] == f"urn:holdfast:problem:{kind}"


@pytest.mark.parametrize(
    ("hello", "code"),
    [
        ({"type": "hello"}, 4401),
        ({"type": "hello", "token": "hf1.x.y"}, 4401),
        ({"type": "ack", "source": "mailbox", "position": "1:1"}, 4400),
        ({"type": "hello", "token": "TOKEN", "resume": {"chat:1": "x"}}, 4400),
        ({"type": "hello", "token": "TOKEN", "resume": {"nowhere": "1:1"}}, 4400),
        ({"type": "hello", "token": "TOKEN", "sources": ["all"]}, 4400),
        ({"type": "hello", "token": "TOKEN", "more": 1}, 4400),
        ([], 4400),
    ],
)
def test_a_client_without_a_valid_hello_is_refused(den: RunningApp, hello: Any, code: int) -> None:
    """With an error that says why, and a code."""
    if isinstance(hello, dict) and hello.get("token") == "TOKEN":
        hello = hello | {"token": den.tokens.issue("jill")}
    with raw(den) as client:
        client.line.send(json.dumps(hello))
        assert client.hear("error")["problem"]["status"] == code - 4000
        assert closed(client) == code


def closed(device: Device) -> int | None:
    """Wait until the gateway closes the stream, and return the close code."""
    with pytest.raises(ConnectionClosed) as caught:
        device.line.recv(PATIENCE_S)
    return caught.value.rcvd.code if caught.value.rcvd else None


def test_frames_that_are_none(den: RunningApp) -> None:
    """Binary ones, and what is no JSON, end the stream with a word."""
    for nonsense in (b"\x00", "{", '{"type":"dance"}'):
        with device(den, "jill", sources=[]) as jill:
            jill.line.send(nonsense)
            jill.hear("error")
            assert closed(jill) == 4400


def test_frames_are_not_compressed(den: RunningApp) -> None:
    """Otherwise a few bytes of any client would become hundreds of large frames."""
    with raw(den, compression="deflate") as device:
        assert device.line.protocol.extensions == []


def test_a_token_may_come_as_a_header(den: RunningApp) -> None:
    headers = {"Authorization": f"Bearer {den.tokens.issue('jill')}"}
    with raw(den, additional_headers=headers) as jill:
        jill.say(type="hello")
        assert jill.hear("welcome")["user"] == "jill"


@pytest.mark.parametrize("origin", ["https://evil.test", "null"])
def test_pages_of_other_sites_open_no_stream(
    den: RunningApp, origin: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Browsers ask no server before they open one, so the gateway must look. It logs no error."""
    headers = {"Origin": origin}
    for _ in range(3):
        with pytest.raises(InvalidStatus) as caught, raw(den, additional_headers=headers):
            pass
        assert caught.value.response.status_code == 403
    assert not [each for each in caplog.records if each.levelname == "ERROR"]


def test_its_own_page_opens_one(den: RunningApp) -> None:
    """A page of the same origin may open a stream."""
    with raw(den, additional_headers={"Origin": den.url}):
        pass


def test_a_non_member_receives_nothing(den: RunningApp) -> None:
    """A user who is not a member gets the same error whether or not the chat exists."""
    chat = den.hf.create_chat(["jack"], sender="jill", body="for members only")
    with device(den, "eve", resume={f"chat:{chat.chat_id}": "1:0"}) as eve:
        answers = []
        for name in (chat.chat_id, "nowhere"):
            eve.say(type="ack", source=f"chat:{name}", position="1:1")
            answers.append(eve.hear("error")["problem"])
            eve.say(type="send", to=f"chat:{name}", body="let me in")
            answers.append(eve.hear("error")["problem"])
        assert all(answer == answers[0] for answer in answers)
        eve.silent()


def test_an_added_member_receives_the_chat(den: RunningApp) -> None:
    """From then on; and who leaves hears no more."""
    chat = den.hf.create_chat(["jill"], sender="jill", body="before")
    with device(den, "joe") as joe:
        chat.join("joe")
        chat.send("after", sender="jill")
        assert [each["body"] for each in joe.hear("batch")["messages"]] == ["after"]
        chat.leave("joe")
        chat.send("gone", sender="jill")
        joe.silent()


def test_a_slow_reader_costs_one_batch(den: RunningApp) -> None:
    """The gateway reads no further than the device takes."""
    chat = den.hf.create_chat(["slow", "fast"], sender="jill", body="0")
    for _ in range(40):
        chat.send(b"x" * 900_000, sender="jill")
    with raw(den, max_queue=1) as slow:
        slow.say(type="hello", token=den.tokens.issue("slow"))
        time.sleep(1.0)  # nothing is read meanwhile
        with device(den, "fast") as fast:
            fast.hear("batch")
        slow.hear("welcome")
        seen: list[int] = []
        while len(seen) < 41:
            seen += [message["seq"] for message in slow.hear("batch")["messages"]]
        assert seen == list(range(1, 42))


def test_too_many_streams_of_one_user(standalone: Server) -> None:
    """As many as long polls; another one goes as soon as one has ended."""
    with opened(standalone.url, "streams-many", Limits(waiting=1)) as live:
        with device(live, "jill"):
            with raw(live) as second:
                second.say(type="hello", token=live.tokens.issue("jill"))
                assert second.hear("error")["problem"]["status"] == 429
                assert closed(second) == 4429
            with device(live, "jack"):
                pass
        eventually(lambda: welcomed(live, "jill"))


def welcomed(live: RunningApp, user: str) -> bool:
    """Return whether the gateway accepts one more stream of *user*."""
    with raw(live) as device:
        device.say(type="hello", token=live.tokens.issue(user))
        return json.loads(device.line.recv(PATIENCE_S))["type"] == "welcome"


def test_frames_have_a_rate(standalone: Server) -> None:
    """Who sends faster is read slower; nothing is lost."""
    with (
        opened(standalone.url, "streams-rate", Limits(user=Limit(5, per=0.25))) as live,
        device(live, "jill", sources=[]) as jill,
    ):
        begun = time.monotonic()
        for n in range(15):
            jill.say(type="send", to="mailbox:jack", body=n)
        assert [jill.hear("sent")["seq"] for _ in range(15)] == list(range(1, 16))
        assert time.monotonic() - begun >= 0.4


def test_a_stream_ends_with_its_token(standalone: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each ping checks the token again."""
    monkeypatch.setattr(stream_session, "PING_S", 0.2)
    now = [time.time()]
    tokens = Tokens(SECRET, clock=lambda: now[0])
    with (
        opened(standalone.url, "streams-token", authenticator=tokens) as live,
        device(live, "jill") as jill,
    ):
        assert json.loads(jill.line.recv(PATIENCE_S)) == {"type": "ping"}
        now[0] += 10**9
        jill.hear("error")
        assert closed(jill) == 4401


def test_a_silent_client_is_disconnected(
    standalone: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Close a stream that does not log in, after a short time."""
    monkeypatch.setattr(stream_session, "HELLO_S", 0.2)
    with opened(standalone.url, "streams-silent") as live, raw(live) as silent:
        assert silent.hear("error")["problem"]["status"] == 400
        assert closed(silent) == 4400


def test_a_stream_outlives_an_outage_of_the_server(fresh_server: Server) -> None:
    """The device is notified, and gets later messages without a new request."""
    with (
        Proxy(fresh_server.address) as proxy,
        opened(f"redis://127.0.0.1:{proxy.address[1]}", "streams-outage") as live,
        device(live, "jack") as jack,
    ):
        live.hf.mailbox("jack").send("before", sender="jill")
        jack.hear("batch")
        fresh_server.kill()
        jack.say(type="send", to="mailbox:jill", body="lost?")
        problem = jack.hear("error")["problem"]
        assert problem["status"] == 503
        fresh_server.start()
        insist(lambda: live.hf.mailbox("jack").send("after", sender="jill"))
        while (frame := json.loads(jack.line.recv(PATIENCE_S)))["type"] != "batch":
            assert frame["type"] in ("error", "ping")
        assert frame["messages"][-1]["body"] == "after"


def test_streams_end_with_the_gateway(standalone: Server) -> None:
    """The close code asks the device to reconnect."""
    codes: list[int | None] = []
    with opened(standalone.url, "streams-end") as live:
        context = device(live, "jill")
        jill = context.__enter__()
        waiter = threading.Thread(target=lambda: codes.append(closed(jill)))
        waiter.start()
    waiter.join(PATIENCE_S)
    assert codes == [1012]


def test_tokens_do_not_get_into_logs(
    standalone: Server, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """No log record contains a token, wherever the client sent it."""
    caplog.set_level("DEBUG")
    token = Tokens(SECRET).issue("jill")
    with opened(standalone.url, "streams-logs") as live:
        with device(live, "jill"):
            pass
        live.of("jill").get(f"/v1/mailbox?token={token}")
        live.of(None, Authorization=f"Bearer {token}x").get(f"/v1/mailbox?token={token}")
        with socket.create_connection(("127.0.0.1", live.port)) as line:
            line.sendall(f"nonsense {token}\r\n\r\n".encode())
            line.recv(1000)
    output = "".join(capfd.readouterr())
    records = [
        record for record in caplog.records if record.name.startswith(("uvicorn", "holdfast"))
    ]
    assert not any(token in record.getMessage() for record in records)
    assert token not in output
