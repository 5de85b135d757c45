"""Somebody who looks at the dashboard, screen after screen, for as long as the world is checked."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request
from contextlib import suppress
from itertools import cycle
from typing import Final, Self

SCREENS: Final = (
    "overview", "queues", "queue?name=email", "tasks?queue=email&state=delayed", "failures",
    "workers", "locks", "semaphores", "mailboxes", "chats", "counters",
    "completions?name=guild:3", "rows", "feeds", "tallies", "server",
)  # fmt: skip
PAUSE_S: Final = 2.0
PATIENCE_S: Final = 30.0


class Visitor:
    """`with Visitor(link):` has each screen looked at in turn.

    Args:
        link: of the dashboard, with the pass in it.

    Attributes:
        seen: how many screens came.
    """

    def __init__(self, link: str) -> None:
        where, _, pass_ = link.partition("#token=")
        self._where = where.removesuffix("/login")
        self._headers = {"Authorization": f"Bearer {pass_}"}
        self._over = threading.Event()
        self._looking = threading.Thread(target=self._look, name="visitor", daemon=True)
        self.seen = 0

    def __enter__(self) -> Self:
        self._looking.start()
        return self

    def __exit__(self, *ended: object) -> None:
        self._over.set()
        self._looking.join()

    def _look(self) -> None:
        for screen in cycle(SCREENS):
            if self._over.wait(PAUSE_S):
                return
            request = urllib.request.Request(  # noqa: S310  (the link is our own)
                f"{self._where}/{screen}", headers=self._headers
            )
            with (
                suppress(urllib.error.URLError, OSError),  # while its server is away
                urllib.request.urlopen(request, timeout=PATIENCE_S) as answer,  # noqa: S310
            ):
                answer.read()
                self.seen += 1
