"""Run the dashboard in a separate process, and open its screens."""

from __future__ import annotations

import re
import secrets
import threading
import time
import urllib.error
import urllib.request
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import cycle
from typing import Final, Self

from .context import DemoContext
from .processes import ProcessGroup

NAME: Final = "dashboard"
LINK: Final = re.compile(r"dashboard: (http\S+)")
START_S: Final = 60.0
POLL_S: Final = 0.05
CODE_BYTES: Final = 4
"""Number of random bytes in a short link, so that other users of this machine cannot guess it."""

VISIT_EVERY_S: Final = 2.0
VISIT_TIMEOUT_S: Final = 30.0
SCREENS: Final = (
    "overview", "queues", "queue?name=email", "tasks?queue=email&state=delayed", "failures",
    "workers", "locks", "semaphores", "mailboxes", "chats", "counters",
    "completions?name=guild:3", "rows", "feeds", "tallies", "server",
)  # fmt: skip


class DashboardProcess(ProcessGroup):
    """Serve the dashboard in a separate process: `with DashboardProcess(context, port=0) as site:`.

    Port 0 means any free port. The dashboard creates its own token, because it gets no secret.
    """

    def __init__(self, context: DemoContext, *, port: int) -> None:
        command = ["holdfast", "serve", "--namespace", context.namespace, "--port", str(port)]
        folder = context.subfolder(NAME)
        super().__init__({NAME: command}, context.environment(), folder, replaced_at_most=0)

    def link(self) -> str:
        """Wait until the dashboard has started. Return a link that signs its user in.

        Raises:
            ProcessFailed: the dashboard did not start.
            TimeoutError: the dashboard did not start in time.
        """
        ends_s = time.monotonic() + START_S
        while time.monotonic() < ends_s:
            if found := LINK.search(self.log(NAME)):
                return found[1]
            self.replace_dead()
            time.sleep(POLL_S)
        raise TimeoutError(f"the dashboard does not start: {self.log(NAME)}")


class ShortLink:
    """Serve a short link on this machine that redirects to *target*: `with ShortLink(…) as link:`.

    It is needed because the link with the token is longer than a line of a terminal, so that the
    user cannot click on it there.

    Args:
        target: the link that signs its user in.
    """

    def __init__(self, target: str) -> None:
        path = f"/{secrets.token_hex(CODE_BYTES)}"

        class Redirect(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                found = self.path == path
                self.send_response(302 if found else 404)
                if found:
                    self.send_header("Location", target)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Log nothing, because the demo uses the screen."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Redirect)
        self._serving = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.link = f"http://localhost:{self._server.server_port}{path}"

    def __enter__(self) -> str:
        self._serving.start()
        return self.link

    def __exit__(self, *ended: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._serving.join()


class DashboardVisitor:
    """Open one screen of the dashboard after the other in a thread: `with DashboardVisitor(link):`.

    Args:
        link: the link that `DashboardProcess.link` returns.
    """

    def __init__(self, link: str) -> None:
        where, _, token = link.partition("#token=")
        self._where = where.removesuffix("/login")
        self._headers = {"Authorization": f"Bearer {token}"}
        self._over = threading.Event()
        self._visiting = threading.Thread(target=self._visit, name="visitor", daemon=True)

    def __enter__(self) -> Self:
        self._visiting.start()
        return self

    def __exit__(self, *ended: object) -> None:
        self._over.set()
        self._visiting.join()

    def _visit(self) -> None:
        for screen in cycle(SCREENS):
            if self._over.wait(VISIT_EVERY_S):
                return
            request = urllib.request.Request(  # noqa: S310  (the link is our own)
                f"{self._where}/{screen}", headers=self._headers
            )
            with (
                suppress(urllib.error.URLError, OSError),  # the Valkey server was killed
                urllib.request.urlopen(request, timeout=VISIT_TIMEOUT_S) as answer,  # noqa: S310
            ):
                answer.read()
