"""Serve a few pages over HTTP, for health probes and for Prometheus.

The server runs in its own thread, so that it answers even while a task blocks the event loop of a
worker. It reads only the request line and headers of a request.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Mapping
from typing import Final

from ..errors.one_line_logger import logger_of
from .pages import LOOPBACK_NAMES, ListenAddress, Status, TextPage

logger: Final = logger_of("holdfast.worker")

REQUEST_BYTES: Final = 8192
"""Bytes of a request line and its headers at most."""

CONNECTIONS: Final = 32
"""Open connections at most. The server closes further ones at once."""

REQUEST_S: Final = 5.0
"""Seconds that a connection may last."""


class PageServer:
    """Serves pages from its own thread until `close`.

    Args:
        address: the address on which to listen. Port 0 selects a free port.
        pages: path → function that returns the page. The function runs in the thread of the server,
            so it must be fast.
    """

    def __init__(self, address: ListenAddress, pages: Mapping[str, Callable[[], TextPage]]) -> None:
        self._address = address
        self._pages = pages
        self._connections = 0
        self._socket = address.bound()
        self._loop = asyncio.new_event_loop()
        self._over = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="holdfast pages", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Return the URL of the pages, without a path."""
        host = f"[{self._address.host}]" if ":" in self._address.host else self._address.host
        return f"http://{host}:{self._socket.getsockname()[1]}"

    def close(self) -> None:
        """Stop serving."""
        with contextlib.suppress(RuntimeError):  # raised if the loop has ended
            self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()
        self._socket.close()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._answer, sock=self._socket, limit=REQUEST_BYTES)
        try:
            await self._over.wait()
        finally:
            server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        try:
            if self._connections <= CONNECTIONS:
                with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
                    async with asyncio.timeout(REQUEST_S):
                        writer.write(await self._response(reader))
                        await writer.drain()
        finally:
            self._connections -= 1
            writer.close()

    async def _response(self, reader: asyncio.StreamReader) -> bytes:
        try:
            request = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            return _http(TextPage.of_text("too long", Status.REQUEST_HEADER_FIELDS_TOO_LARGE))
        line, *headers = request.decode("latin-1").split("\r\n")
        method, path, *_ = [*line.split(" "), "", ""]
        return _http(self._page(method, path.partition("?")[0], headers), body=method != "HEAD")

    def _page(self, method: str, path: str, headers: list[str]) -> TextPage:
        if method not in ("GET", "HEAD"):
            return TextPage.of_text("only GET and HEAD", Status.METHOD_NOT_ALLOWED)
        if self._address.is_loopback and _host(headers) not in LOOPBACK_NAMES:
            # The name of a foreign site may resolve to the loopback address (DNS rebinding).
            text = "this host is not served here"
            return TextPage.of_text(text, Status.MISDIRECTED_REQUEST)
        if path not in self._pages:
            return TextPage.of_text("not found", Status.NOT_FOUND)
        try:
            return self._pages[path]()
        except Exception:
            logger.exception("the page %s failed", path)
            return TextPage.of_text("failed", Status.INTERNAL_SERVER_ERROR)


def _host(headers: list[str]) -> str:
    """Return the name in the header `Host`, without its port."""
    for header in headers:
        name, _, value = header.partition(":")
        if name.lower() == "host":
            host, colon, port = value.strip().rpartition(":")
            return host if colon and port.isdecimal() else value.strip()
    return ""


def _http(page: TextPage, *, body: bool = True) -> bytes:
    head = (
        f"HTTP/1.1 {page.status.value} {page.status.phrase}\r\n"
        f"Content-Type: {page.content_type}\r\n"
        f"Content-Length: {len(page.body)}\r\n"
        "Cache-Control: no-store\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode("latin-1") + (page.body if body else b"")
