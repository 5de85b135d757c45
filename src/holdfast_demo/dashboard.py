"""The dashboard of the world: `holdfast serve` in a process of its own, and a visitor of it."""

from __future__ import annotations

import re
import threading
import time
import urllib.error
import urllib.request
from contextlib import suppress
from itertools import cycle
from typing import Final, Self

from .context import DemoContext
from .processes import ProcessGroup

NAME: Final = "dashboard"
LINK: Final = re.compile(r"dashboard: (http\S+)")
START_S: Final = 60.0
POLL_S: Final = 0.05
VISIT_EVERY_S: Final = 2.0
VISIT_TIMEOUT_S: Final = 30.0
SCREENS: Final = (
    "overview", "queues", "queue?name=email", "tasks?queue=email&state=delayed", "failures",
    "workers", "locks", "semaphores", "mailboxes", "chats", "counters",
    "completions?name=guild:3", "rows", "feeds", "tallies", "server",
)  # fmt: skip


class DashboardProcess(ProcessGroup):
    """`with DashboardProcess(context, port=0) as site:` serves the dashboard; port 0 is a free one.

    No secret is given, so it makes a token itself.
    """

    def __init__(self, context: DemoContext, *, port: int) -> None:
        command = ["holdfast", "serve", "--namespace", context.namespace, "--port", str(port)]
        folder = context.subfolder(NAME)
        super().__init__({NAME: command}, context.environment(), folder, replaced_at_most=0)

    def link(self) -> str:
        """Return a link that signs its user in; wait until it can be opened.

        Raises:
            ProcessFailed: the dashboard did not start.
            TimeoutError: it did not start in time.
        """
        ends_s = time.monotonic() + START_S
        while time.monotonic() < ends_s:
            if found := LINK.search(self.log(NAME)):
                return found[1]
            self.replace_dead()
            time.sleep(POLL_S)
        raise TimeoutError(f"the dashboard does not start: {self.log(NAME)}")


class DashboardVisitor:
    """`with DashboardVisitor(link):` opens one screen of the dashboard after the other.

    Args:
        link: the link with its token.
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
                suppress(urllib.error.URLError, OSError),  # while its server is away
                urllib.request.urlopen(request, timeout=VISIT_TIMEOUT_S) as answer,  # noqa: S310
            ):
                answer.read()
