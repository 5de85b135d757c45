"""`holdfast worker --health --metrics`: what probes and scrapes get."""

from __future__ import annotations

import contextlib
import secrets
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from cli.worker_programs import page, page_becomes, page_url, worker_program
from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast, TaskRegistry
from holdfast.cli import page_server
from holdfast.cli.page_server import CONNECTIONS, PageServer
from holdfast.cli.pages import ListenAddress, TextPage

tasks = TaskRegistry()


@tasks.task(queue="chores")
async def block(seconds: float) -> None:
    """Declare a task that the worker runs."""


@tasks.task(queue="chores")
def wait_for(path: str) -> None:
    """Declare a task that the worker runs."""


def test_a_worker_is_ready_while_its_claims_reach_the_server(tmp_path: Path) -> None:
    with Server() as server:
        server.stop()
        with worker_program(tmp_path, server.url, "--health", "127.0.0.1:0") as process:
            ready, live = page_url(process, "/readyz"), page_url(process, "/livez")
            page_becomes(ready, 503, f"queue 'chores': 127.0.0.1:{server.port}")
            assert page(live) == (200, "ok\n")
            server.start()
            page_becomes(ready, 200, "ok")
            server.kill()
            page_becomes(ready, 503, "queue 'chores'")
            assert page(live) == (200, "ok\n")
            server.start()
            page_becomes(ready, 200)
            assert process.stop() == 0


def test_a_blocked_worker_is_not_alive(standalone: Server, tmp_path: Path) -> None:
    """The pages are served by another thread, so they answer meanwhile."""
    namespace = secrets.token_hex(4)
    args = ("--health", "0", "--blocked-after", "1")
    with (
        worker_program(tmp_path, standalone.url, *args, namespace=namespace) as process,
        Holdfast.from_url(standalone.url, namespace=namespace) as hf,
    ):
        ready, live = page_url(process, "/readyz"), page_url(process, "/livez")
        page_becomes(ready, 200)
        hf.enqueue(block.call(5.0))
        page_becomes(live, 503, "a task has blocked the event loop for ")
        page_becomes(live, 200)


def test_a_worker_that_stops_is_not_ready(standalone: Server, tmp_path: Path) -> None:
    namespace = secrets.token_hex(4)
    with (
        worker_program(tmp_path, standalone.url, "--health", "0", namespace=namespace) as process,
        Holdfast.from_url(standalone.url, namespace=namespace) as hf,
    ):
        ready = page_url(process, "/readyz")
        page_becomes(ready, 200)
        hf.enqueue(wait_for.call(str(tmp_path / "end")))
        eventually((tmp_path / "end.awaited").exists)  # what is only claimed is given back
        process.terminate()
        page_becomes(ready, 503, "the worker is stopping")
        (tmp_path / "end").touch()
        assert process.wait() == 0


def test_health_and_metrics_may_share_an_address(standalone: Server, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    args = ("--health", f"127.0.0.1:{port}", "--metrics", f"127.0.0.1:{port}")
    with worker_program(tmp_path, standalone.url, *args) as process:
        page_becomes(page_url(process, "/readyz"), 200)
        status, text = page(page_url(process, "/metrics"))
        assert (status, "process_cpu_seconds_total" in text) == (200, True)
        assert page(f"http://127.0.0.1:{port}/other")[0] == 404


def test_an_address_that_is_taken_ends_the_command(standalone: Server, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        args = ("--health", f"127.0.0.1:{port}")
        with worker_program(tmp_path, standalone.url, *args) as process:
            assert process.wait() == 1
    assert f"cannot listen on 127.0.0.1, port {port}: Address already in use" in process.output


@pytest.mark.parametrize("text", ["localhost", "host:http", "1.2.3.4:70000", ":x", ""])
def test_what_is_no_address_is_refused(text: str, standalone: Server, tmp_path: Path) -> None:
    with worker_program(tmp_path, standalone.url, "--health", text) as process:
        assert process.wait() == 2
    assert "write HOST:PORT, such as 0.0.0.0:9100" in process.output


# The server of the pages has limits


@pytest.fixture
def server() -> Iterator[PageServer]:
    def fail() -> TextPage:
        raise ValueError("no")

    pages = {"/ok": lambda: TextPage.of_text("fine"), "/fail": fail}
    server = PageServer(ListenAddress("127.0.0.1", 0), pages)
    yield server
    server.close()


def raw(server: PageServer, request: bytes) -> bytes:
    """Send *request* and return everything that the server sends."""
    with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2]))) as connection:
        connection.settimeout(60)
        connection.sendall(request)
        received = b""
        with contextlib.suppress(ConnectionResetError):
            while part := connection.recv(65536):
                received += part
        return received


def test_it_answers_get_and_head(server: PageServer) -> None:
    answer = httpx.get(f"{server.url}/ok?x=1")
    assert (answer.status_code, answer.text) == (200, "fine\n")
    assert answer.headers["cache-control"] == "no-store"
    answer = httpx.head(f"{server.url}/ok")
    assert (answer.status_code, answer.content, answer.headers["content-length"]) == (200, b"", "5")
    assert httpx.post(f"{server.url}/ok").status_code == 405
    assert httpx.get(f"{server.url}/").status_code == 404
    assert httpx.get(f"{server.url}/fail").status_code == 500
    assert httpx.get(f"{server.url}/ok", headers={"Host": "evil.test"}).status_code == 421


def test_nonsense_is_answered_or_closed(server: PageServer) -> None:
    assert raw(server, b"\r\n\r\n").startswith(b"HTTP/1.1 405 ")
    assert raw(server, b"\x16\x03\x01\x00\xff\r\n\r\n").startswith(b"HTTP/1.1 405 ")
    assert raw(server, b"GET\r\n\r\n").startswith(b"HTTP/1.1 421 ")
    assert httpx.get(f"{server.url}/ok").status_code == 200


def test_a_long_request_is_refused(server: PageServer) -> None:
    """It is closed while the client still sends, so the answer may be lost."""
    answer = raw(server, b"GET /ok HTTP/1.1\r\nX: " + b"x" * 20_000)
    assert not answer or answer.startswith(b"HTTP/1.1 431 ")
    assert httpx.get(f"{server.url}/ok").status_code == 200


def test_a_slow_request_is_closed(monkeypatch: pytest.MonkeyPatch, server: PageServer) -> None:
    monkeypatch.setattr(page_server, "REQUEST_S", 0.2)
    assert raw(server, b"GET /ok HTT") == b""


def test_connections_are_bounded(server: PageServer) -> None:
    """Idle connections end after some seconds; others are served then."""
    port = int(server.url.rpartition(":")[2])
    with contextlib.ExitStack() as closing:
        for _ in range(CONNECTIONS):
            closing.enter_context(socket.create_connection(("127.0.0.1", port)))
        eventually(lambda: raw(server, b"GET /ok HTTP/1.1\r\nHost: localhost\r\n\r\n") == b"")
    eventually(lambda: b"fine" in raw(server, b"GET /ok HTTP/1.1\r\nHost: localhost\r\n\r\n"))
