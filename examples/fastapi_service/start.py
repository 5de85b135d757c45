"""Start the service with one command: Valkey, the web process, a worker and a relay.

    python examples/fastapi_service/start.py [--once]

It needs `holdfast[cli,fastapi,server,sql]`, `aiosqlite` and `uvicorn`. With `--once` it places
orders over HTTP, checks what the service promises, and ends; otherwise it serves until Ctrl-C.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from holdfast.server import EmbeddedServer

HERE = Path(__file__).resolve().parent
PATIENCE_S = 90.0
NEEDED = ("aiosqlite", "fastapi", "sqlalchemy", "typer", "uvicorn")
INSTALL = "pip install '.[cli,fastapi,server,sql]' aiosqlite uvicorn"


class Answer(NamedTuple):
    """A response."""

    status: int
    headers: Any
    body: Any


class Browser:
    """Sends the requests of a user."""

    def __init__(self, site: str, user: str) -> None:
        self.site = site
        self.user = user

    def request(self, path: str, key: str = "", **order: str) -> Answer:
        """Send a request; with a *key* and an order, POST it."""
        headers = {"Authorization": f"Bearer token-of-{self.user}"}
        if key:
            headers |= {"Idempotency-Key": key, "Content-Type": "application/json"}
        data = json.dumps(order).encode() if order else None
        request = Request(self.site + path, data, headers)  # noqa: S310 (our own service)
        try:
            with urlopen(request, timeout=PATIENCE_S) as response:  # noqa: S310
                return Answer(response.status, response.headers, json.load(response))
        except HTTPError as error:
            with error:
                return Answer(error.code, error.headers, json.load(error))

    def events(self, path: str) -> Iterator[tuple[str, Any]]:
        """Yield the names and the data of Server-Sent Events until their end."""
        headers = {"Authorization": f"Bearer token-of-{self.user}"}
        request = Request(self.site + path, None, headers)  # noqa: S310 (our own service)
        name = ""
        with urlopen(request, timeout=PATIENCE_S) as response:  # noqa: S310
            for line in response:
                field, _, value = line.decode().rstrip("\n").partition(": ")
                if field == "event":
                    name = value
                elif field == "data":
                    yield name, json.loads(value)


def expect(what: str, found: object, wanted: object) -> None:
    """End the program if the service does not do what it promises."""
    if found != wanted:
        raise SystemExit(f"{what}: expected {wanted}, got {found}")
    print(f"{what}: {found}")


def order(site: str) -> None:
    """Place orders, repeat one, follow the invoice, and exceed the limit."""
    ann, bea = Browser(site, "ann"), Browser(site, "bea")
    first = ann.request("/orders", "key-1", item="lamp")
    again = ann.request("/orders", "key-1", item="lamp")
    expect("ordered", first.status, 201)
    expect("repeated", (again.body, again.headers["Idempotent-Replayed"]), (first.body, "true"))
    other = ann.request("/orders", "key-1", item="book")
    expect("the key with another order", other.status, 422)
    path = f"/orders/{first.body['id']}"
    events = list(ann.events(f"{path}/events"))
    expect("progress", [data["message"] for name, data in events if name == "progress"],
           ["address", "taxes", "total"])  # fmt: skip
    expect("end", events[-1], ("end", {"state": "done"}))
    expect(
        "invoice", ann.request(path).body["invoice"], f"invoice {first.body['id']}: lamp for ann"
    )
    expect("the order of another user", bea.request(path).status, 404)
    statuses = [bea.request("/orders", f"key-{n}", item="book").status for n in range(11)]
    expect("ten orders a minute", statuses, [*[201] * 10, 429])


def check_packages() -> None:
    """End the program with the command that installs what is missing."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise SystemExit(f"the service needs {', '.join(missing)}: {INSTALL}")


def wait_until_ready(site: str, web: subprocess.Popen[bytes]) -> None:
    """Return when the web process answers. End the program if the process has ended."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if (code := web.poll()) is not None:
            raise SystemExit(f"the web process ended with exit code {code}; its error is above")
        try:
            urlopen(f"{site}/healthz").close()  # noqa: S310 (our own service)
        except (URLError, OSError):
            time.sleep(0.1)
        else:
            return
    raise SystemExit(f"the service did not start within {PATIENCE_S:g} s")


def free_port() -> int:
    """Return a port that no process uses now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def main() -> None:
    """Start everything, and stop it at the end."""
    check_packages()
    with ExitStack() as ending:
        folder = ending.enter_context(tempfile.TemporaryDirectory(prefix="orders-"))
        server = ending.enter_context(EmbeddedServer.open(None))
        environment = {
            "HOLDFAST_DATABASE": f"sqlite:///{folder}/orders.db",
            **os.environ,
            "HOLDFAST_URL": server.url,
            "HOLDFAST_NAMESPACE": "orders",
        }

        def start(*command: str) -> subprocess.Popen[bytes]:
            argv = [sys.executable, "-m", *command]
            process = subprocess.Popen(argv, cwd=HERE, env=environment)  # noqa: S603 (our own)
            ending.callback(process.wait)
            ending.callback(process.terminate)
            return process

        port = str(free_port())
        web = start("uvicorn", "service.app:app", "--port", port, "--log-level", "warning")
        site = f"http://127.0.0.1:{port}"
        wait_until_ready(site, web)  # it has created the tables
        start("holdfast", "worker", "service.tasks:tasks", "--quiet")
        start("holdfast", "outbox", "run", "--quiet")
        if "--once" in sys.argv:
            order(site)
        else:
            print(f"the service is at {site}, its pages at {site}/docs; Ctrl-C ends it", flush=True)
            web.wait()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
