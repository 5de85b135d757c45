"""Several requests on one connection, sent before any is answered."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time

import pytest

from faults.servers import Server
from faults.waiting import eventually
from holdfast.web import Limits
from web.running import RunningApp, opened


class Line:
    """A connection, without a client that means well."""

    def __init__(self, live: RunningApp, user: str) -> None:
        self._app = live
        self._token = live.tokens.issue(user)
        self._socket = socket.create_connection(("127.0.0.1", live.port), 60)
        self._file = self._socket.makefile("rb")

    def request(self, method: str, path: str, body: object = None) -> bytes:
        """Return the bytes of a request."""
        data = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: {self._app.host}\r\n"
            f"Authorization: Bearer {self._token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        )
        return head.encode() + data

    def send(self, data: bytes, size: int = 1 << 20) -> None:
        """Send *data* in pieces of *size* bytes."""
        for i in range(0, len(data), size):
            self._socket.sendall(data[i : i + size])

    def push(self, data: bytes) -> None:
        """Send *data*, or as much as the server takes before the connection ends."""
        with contextlib.suppress(OSError):
            self._socket.sendall(data)

    def answer(self) -> tuple[int, object]:
        """Read the next response; return its status and its JSON."""
        status = int(self._file.readline().split()[1])
        length = 0
        while (line := self._file.readline().strip().lower()) != b"":
            if line.startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        data = self._file.read(length)
        return status, json.loads(data) if data else None

    def close(self) -> None:
        """Hang up."""
        self._file.close()
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


@pytest.mark.parametrize("size", [1 << 20, 7])
def test_answers_come_in_the_order_of_the_requests(standalone: Server, size: int) -> None:
    """A long poll among them holds up those behind it, and none is lost or mixed up."""
    with opened(standalone.url, f"pipelining-{size}") as live:
        line = Line(live, "jill")
        line.send(
            line.request("POST", "/v1/mailboxes/jill", "one")
            + line.request("GET", "/v1/mailbox")
            + line.request("GET", "/v1/inbox?timeout=20")
            + line.request("POST", "/v1/mailboxes/jill", "two")
            + line.request("GET", "/nowhere")
            + line.request("POST", "/v1/mailboxes/jill", {"broken": 1})[:-1]
            + b"]"
            + line.request("GET", "/v1/mailbox/latest?n=1"),
            size,
        )
        assert line.answer() == (201, {"seq": 1})
        status, mail = line.answer()
        assert (status, len(mail["messages"])) == (200, 1)  # type: ignore[index]
        time.sleep(0.3)
        assert live.hf.mailbox("jill").status().unread == 1  # the poll is still waiting
        live.hf.create_chat(["jill"], sender="jack", body="woken")
        status, inbox = line.answer()
        assert inbox["batches"][0]["messages"][0]["body"] == "woken"  # type: ignore[index]
        assert line.answer() == (201, {"seq": 2})
        assert line.answer()[0] == 404
        assert line.answer()[0] == 400
        status, latest = line.answer()
        assert latest["messages"][0]["body"] == "two"  # type: ignore[index]
        line.close()


def test_hundreds_in_one_write(standalone: Server) -> None:
    """Each is answered once, in order."""
    with opened(standalone.url, "pipelining-many") as live:
        line = Line(live, "jill")
        requests = [line.request("POST", "/v1/mailboxes/jack", n) for n in range(100)]
        sender = threading.Thread(target=lambda: line.send(b"".join(requests)))
        sender.start()
        assert [line.answer() for _ in requests] == [(201, {"seq": n + 1}) for n in range(100)]
        sender.join()
        line.close()
        bodies = [message.body for message in live.hf.mailbox("jack").fetch(limit=200).messages]
        assert bodies == list(range(100))


@pytest.mark.parametrize("apart", [False, True])
def test_who_hangs_up_waits_no_longer(standalone: Server, apart: bool) -> None:
    """Also with a request behind the long poll: its place is free, and what follows is not done."""
    with opened(standalone.url, f"pipelining-gone-{apart}", Limits(waiting=1)) as live:
        line, other = Line(live, "jill"), live.of("jill")
        poll = line.request("GET", "/v1/mailbox?timeout=60")
        late = line.request("POST", "/v1/mailboxes/jack", "never")
        line.send(line.request("GET", "/v1/inbox?timeout=0") + poll + (b"" if apart else late))
        assert line.answer()[0] == 200  # so the poll is next, and takes the only place to wait
        eventually(lambda: other.get("/v1/mailbox?timeout=0.01").status_code == 429)
        if apart:
            line.send(late, 7)
        line.close()
        eventually(lambda: other.get("/v1/mailbox?timeout=0.01").status_code == 200)
        assert live.hf.mailbox("jack").status().unread == 0


def test_what_comes_early_is_bounded(standalone: Server) -> None:
    """A client that sends more and more behind a long poll is not read at some point."""
    with opened(standalone.url, "pipelining-flood") as live:
        line = Line(live, "jill")
        line.send(line.request("GET", "/v1/mailbox?timeout=20"))
        flood = line.request("POST", "/v1/mailboxes/jack", "x" * 1000) * 20_000
        sender = threading.Thread(target=line.push, args=(flood,))
        sender.start()
        sender.join(2)
        assert sender.is_alive()
        line.close()
        sender.join(10)
        assert not sender.is_alive()
