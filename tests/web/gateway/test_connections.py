"""Connections that are held without being used: half a request, half a body, silent WebSockets."""

from __future__ import annotations

import json
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest

from faults.servers import Server
from faults.waiting import eventually
from holdfast.web import Limits
from holdfast.web.gateway import stream_session
from web.gateway.test_stream import closed, device, raw
from web.running import RunningApp, opened

PATIENCE_S = 60.0


@pytest.fixture
def live(standalone: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningApp]:
    """Serve a gateway with short timeouts."""
    for name in ("HEAD_S", "BODY_IDLE_S"):
        monkeypatch.setattr(f"holdfast.web.server_protocols.{name}", 0.5)
    monkeypatch.setattr("holdfast.web.server_protocols.BODY_S", 2.0)
    with opened(standalone.url, "connections") as live:
        yield live


def line_to(live: RunningApp) -> socket.socket:
    """Open a TCP connection without sending anything."""
    return socket.create_connection(("127.0.0.1", live.port), PATIENCE_S)


def is_cut_off(line: socket.socket) -> bool:
    """Wait until the gateway ends a connection."""
    with suppress(ConnectionError):
        while line.recv(65536):
            pass
    return True


def head(live: RunningApp, path: str = "/v1/mailboxes/jack", **more: str) -> bytes:
    """Return a request line and headers, without the empty line that ends them."""
    token = live.tokens.issue("jill")
    lines = [
        f"POST {path} HTTP/1.1",
        f"Host: {live.host}",
        f"Authorization: Bearer {token}",
        "Content-Type: application/json",
        *(f"{name.replace('_', '-')}: {value}" for name, value in more.items()),
    ]
    return "".join(f"{line}\r\n" for line in lines).encode()


STARTS = {
    "nothing": b"",
    "half a request line": b"GET /v1/mail",
    "a request line": b"GET /v1/mailbox HTTP/1.1\r\n",
    "half the headers": b"GET /v1/mailbox HTTP/1.1\r\nHost: localhost\r\nAccept",
    "all but the last line": b"GET /v1/mailbox HTTP/1.1\r\nHost: localhost\r\n",
    "line breaks": b"\r\n\r\n",
}


@pytest.mark.parametrize("begun", STARTS.values(), ids=STARTS)
def test_half_a_request_is_cut_off(live: RunningApp, begun: bytes) -> None:
    """Wherever it stops."""
    with line_to(live) as line:
        line.sendall(begun)
        assert is_cut_off(line)


@pytest.mark.parametrize("begun", [b"GET /v1/mail", b"GET /chat HTTP/1.1\r\nHost: localhost\r\n"])
def test_half_a_request_after_a_whole_one_is_cut_off(live: RunningApp, begun: bytes) -> None:
    """On a connection that was kept alive; at once or later."""
    whole = f"GET /chat/icon.svg HTTP/1.1\r\nHost: {live.host}\r\n\r\n".encode()
    with line_to(live) as line, line_to(live) as other:
        line.sendall(whole)
        assert b"</svg>" in line.recv(65536) or b"</svg>" in line.recv(65536)
        line.sendall(begun)
        other.sendall(whole + begun)
        assert is_cut_off(line)
        assert is_cut_off(other)


@pytest.mark.parametrize("is_chunked", [True, False])
def test_half_a_body_is_cut_off(live: RunningApp, *, is_chunked: bool) -> None:
    """Whether its length is announced or not, and whether it is wanted or not."""
    more = {"Transfer_Encoding": "chunked"} if is_chunked else {"Content_Length": "1000"}
    begun = b"\r\n" + (b"3\r\nabc\r\n" if is_chunked else b"abc")
    with line_to(live) as line, line_to(live) as refused:
        line.sendall(head(live, **more) + begun)
        refused.sendall(head(live, "/nowhere", **more) + begun)
        assert is_cut_off(line)
        assert is_cut_off(refused)
    assert live.hf.mailbox("jack").status().unread == 0


@pytest.mark.parametrize("part", ["head", "body"])
def test_who_sends_drop_by_drop_is_cut_off(live: RunningApp, part: str) -> None:
    """Each byte comes in time, but not the whole."""
    with line_to(live) as line:
        line.settimeout(0.1)
        if part == "body":
            line.sendall(head(live, Content_Length="100000") + b"\r\n")
        deadline = time.monotonic() + PATIENCE_S
        with suppress(ConnectionError):
            while time.monotonic() < deadline:
                line.sendall(b"x")
                with suppress(TimeoutError):
                    if not line.recv(4096):
                        break
        assert time.monotonic() < deadline


def test_slow_clients_that_get_on_are_served(live: RunningApp) -> None:
    """A body that takes longer than the pause between two of its parts may."""
    body = b'"' + b"x" * 6 + b'"'
    with line_to(live) as line:
        line.sendall(head(live, Content_Length=str(len(body))) + b"\r\n")
        for byte in body:
            time.sleep(0.1)
            line.sendall(bytes([byte]))
        assert line.recv(4096).startswith(b"HTTP/1.1 201 ")


def test_long_polls_outlive_the_deadlines(live: RunningApp) -> None:
    """The deadlines are for requests, not for responses."""
    answer = live.of("jim").get("/v1/mailbox?timeout=3")
    assert (answer.status_code, answer.json()["messages"]) == (200, [])


def test_tls_where_there_is_none_is_cut_off(live: RunningApp) -> None:
    """Close a connection after half a TLS handshake too."""
    context = ssl.create_default_context()
    with line_to(live) as line, pytest.raises((ssl.SSLError, ConnectionError)):
        context.wrap_socket(line, server_hostname="localhost")
    with line_to(live) as line:
        line.sendall(b"\x16\x03\x01\x02")
        assert is_cut_off(line)


def test_who_takes_no_answer_is_cut_off(
    standalone: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though it asks politely."""
    monkeypatch.setattr("holdfast.web.server_protocols.STALL_S", 0.5)
    with opened(standalone.url, "connections-stall") as live:
        for _ in range(3):
            live.hf.mailbox("jill").send(b"x" * 10**6, sender="jack")
        with socket.socket() as line:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            line.connect(("127.0.0.1", live.port))
            request = head(live).replace(b"POST /v1/mailboxes/jack", b"GET /v1/mailbox")
            line.sendall((request + b"\r\n") * 4)
            time.sleep(3)
            line.settimeout(PATIENCE_S)
            got = 0
            with suppress(ConnectionError):
                while part := line.recv(65536):
                    got += len(part)
            assert got < 12_000_000


def test_one_address_has_so_many_connections(standalone: Server) -> None:
    """And another one as soon as one of them is gone; a proxy has all it wants."""
    limits = Limits(connections=3)
    with opened(standalone.url, "connections-many", limits) as live, ExitStack() as lines:
        held = [lines.enter_context(line_to(live)) for _ in range(3)]
        with line_to(live) as line:
            assert is_cut_off(line)
        held[0].close()
        eventually(lambda: is_served(live))
        with device(live, "jill"):
            assert not is_served(live)
    with (
        opened(standalone.url, "connections-many", limits, proxies=["127.0.0.0/8"]) as live,
        ExitStack() as lines,
    ):
        for _ in range(5):
            lines.enter_context(line_to(live))
        assert is_served(live)


def is_served(live: RunningApp) -> bool:
    """Return whether one more connection gets a response."""
    with line_to(live) as line, suppress(ConnectionError):
        line.sendall(f"GET /chat/icon.svg HTTP/1.1\r\nHost: {live.host}\r\n\r\n".encode())
        return line.recv(100).startswith(b"HTTP/1.1 200 ")
    return False


def test_all_addresses_have_so_many_connections(standalone: Server) -> None:
    """The connections of proxies count too."""
    limits = Limits(all_connections=3)
    with (
        opened(standalone.url, "connections-all", limits, proxies=["127.0.0.1"]) as live,
        ExitStack() as lines,
    ):
        for _ in range(3):
            lines.enter_context(line_to(live))
        with line_to(live) as line:
            assert is_cut_off(line)


# WebSockets


def test_a_first_frame_is_small(standalone: Server) -> None:
    """Also in parts, and in parts that are empty; later ones may be large."""
    with opened(standalone.url, "connections-hello") as live:
        with raw(live) as large:
            large.line.send('{"type": "hello", "token": "' + "x" * 200_000 + '"}')
            assert closed(large) == 1009
        for part in ("x" * 10_000, ""):
            with raw(live) as parts, suppress(Exception):
                parts.line.send(part for _ in range(3000))
                assert closed(parts) in (1009, None)
        with device(live, "jill", sources=[]) as jill:
            jill.say(type="send", to="mailbox:jack", body="x" * 900_000)
            assert jill.hear("sent")["seq"] == 1


def test_a_client_without_hello_is_disconnected(
    standalone: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a handshake: it need not answer, nor even read."""
    monkeypatch.setattr("holdfast.web.stream_connection.HELLO_S", 0.2)
    monkeypatch.setattr(stream_session, "HELLO_S", 0.2)
    monkeypatch.setattr("holdfast.web.server_protocols.LINGER_S", 0.2)
    with (
        opened(standalone.url, "connections-silent", Limits(connections=4)) as live,
        ExitStack() as lines,
    ):
        for begun in (b"", b"\x81", b"\x81\xfe\xff\xff", b"\x01\x80\0\0\0\0"):
            line = lines.enter_context(line_to(live))
            line.sendall(upgrade(live) + begun)
        eventually(lambda: is_served(live))
        assert is_cut_off(line)


def test_one_address_has_few_streams_without_a_user(standalone: Server) -> None:
    """Streams with a user do not count."""
    with (
        opened(standalone.url, "connections-arriving", Limits(arriving=2)) as live,
        ExitStack() as lines,
    ):
        for user in ("jill", "jack", "joe"):
            lines.enter_context(device(live, user))
        held = [lines.enter_context(raw(live)) for _ in range(2)]
        with pytest.raises(Exception, match="429"):
            lines.enter_context(raw(live))
        held[0].line.close()
        eventually(lambda: is_let_in(live))


def is_let_in(live: RunningApp) -> bool:
    """Return whether the gateway accepts one more stream that has not sent a frame."""
    with suppress(Exception), raw(live):
        return True
    return False


def test_who_does_not_take_its_pongs_is_cut_off(standalone: Server) -> None:
    """Unread pongs would fill the memory."""
    ping = b"\x89\xfd" + b"\0" * 4 + b"x" * 125
    with opened(standalone.url, "connections-pings") as live, line_to(live) as line:
        line.sendall(upgrade(live))
        assert line.recv(4096).startswith(b"HTTP/1.1 101 ")
        hello = json.dumps({"type": "hello", "token": live.tokens.issue("jill")}).encode()
        line.sendall(b"\x81\xfe" + len(hello).to_bytes(2) + b"\0" * 4 + hello)
        assert b"welcome" in line.recv(4096)
        with pytest.raises(ConnectionError):
            send_for_long(line, ping * 1000)


def send_for_long(line: socket.socket, data: bytes) -> None:
    """Send much, and take nothing."""
    for _ in range(1000):
        line.sendall(data)


def upgrade(live: RunningApp) -> bytes:
    """Return a request that opens a stream."""
    return (
        f"GET /v1/stream HTTP/1.1\r\nHost: {live.host}\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    ).encode()


# The log


def test_malformed_requests_are_one_line(
    live: RunningApp, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many there are, and of whichever kind."""
    monkeypatch.setattr("holdfast.web.server_protocols.LOGGER._warned_at", float("-inf"))
    monkeypatch.setattr("holdfast.web.server_protocols.LOGGER._count", 0)
    caplog.set_level("INFO")
    for n in range(20):
        with line_to(live) as line:
            line.sendall(f"nonsense {n}\r\n\r\n".encode())
            assert b"400" in line.recv(4096)
        with line_to(live) as line:
            line.sendall(head(live, Upgrade="nonsense", Connection="upgrade") + b"\r\n")
            line.recv(4096)
    with raw(live) as binary:
        binary.line.socket.sendall(b"\x81\x82\0\0\0\0\xff\xff")
        assert closed(binary) in (1007, None)
    warned = [each for each in caplog.records if each.levelname in ("WARNING", "ERROR")]
    assert [each.getMessage().partition(" could")[0] for each in warned] == ["1 request"]
