"""A server that receives what the SDK of Sentry sends: envelopes over HTTP."""

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


class Receiver:
    """Keeps the items of all envelopes.

    Attributes:
        dsn: what the SDK is given.
        items: the type and the content of each item.
    """

    def __init__(self, port: int) -> None:
        self.dsn = f"http://key@127.0.0.1:{port}/1"
        self.items: list[tuple[str, Any]] = []

    def take(self, body: bytes) -> None:
        """Keep the items of an envelope."""
        _, _, rest = body.partition(b"\n")
        while rest:
            line, _, rest = rest.partition(b"\n")
            header = json.loads(line)
            size = header.get("length", rest.find(b"\n"))
            content, rest = rest[:size], rest[size + 1 :]
            if header["type"] != "client_report":
                self.items.append((header["type"], json.loads(content)))

    @property
    def events(self) -> list[dict[str, Any]]:
        """Return the errors."""
        return [content for kind, content in self.items if kind == "event"]

    @property
    def transactions(self) -> list[dict[str, Any]]:
        """Return the transactions."""
        return [content for kind, content in self.items if kind == "transaction"]

    @property
    def spans(self) -> list[dict[str, Any]]:
        """Return the spans that were sent one by one."""
        return [span for kind, content in self.items if kind == "span" for span in content["items"]]


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Yield a receiver that listens until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            receiver.take(body)
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *args: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver = Receiver(server.server_port)
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield receiver
        server.shutdown()
        thread.join()
