"""The downloads demo: crawlers that share a semaphore, at a site that counts its visits.

This module is also the program of the crawlers:

    python -m holdfast_demo.downloads http://127.0.0.1:8080

It uses the server `HOLDFAST_URL` and the namespace `HOLDFAST_NAMESPACE`.
"""

from __future__ import annotations

import os
import random
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar, Final

from holdfast import Holdfast, HoldfastError

from .context import DemoContext
from .demo import Demo, Invariant, ProcessFault, until
from .example_files import example
from .processes import ProcessGroup

EXAMPLE: Final = "downloads.py"
NAMES: Final = ("crawlers-1", "crawlers-2")
CRAWLERS: Final = 3
"""Number of crawlers in each process: more than the site allows."""

PAGES: Final = 1_000
PAUSE_S: Final = 0.1


class DownloadsDemo(Demo):
    """Crawl a site with several processes, at most three downloads at once."""

    name: ClassVar = "downloads"

    def start(self, context: DemoContext) -> None:
        """Open the site and start the crawlers."""
        self._limit: int = example(EXAMPLE).AT_ONCE
        self._site: Any = self.opened.enter_context(example(EXAMPLE).Site())
        threading.Thread(target=self._site.serve_forever, daemon=True).start()
        self.opened.callback(self._site.shutdown)
        command = ("holdfast_demo.downloads", self._site.url)
        commands = dict.fromkeys(NAMES, command)
        folder = context.subfolder("downloads")
        self._crawlers = ProcessGroup(commands, context.environment(), folder)
        self.opened.enter_context(self._crawlers)

    def poll(self) -> bool:
        self._crawlers.replace_dead()
        return True

    def finish(self) -> Iterator[None]:
        """Wait for the first download, and stop the crawlers."""
        yield from until(lambda: self._site.visits > 0)
        self.end()

    def line(self) -> str:
        return f"{self._site.visits:,} downloads, {self._site.most} at once at most"

    def invariants(self) -> Iterator[Invariant]:
        """Compare the visits that the site has counted with the limit of the semaphore."""
        yield at_most(self._limit, visits=self._site.visits, most=self._site.most)

    def faults(self) -> Sequence[ProcessFault]:
        """Kill a process that may hold permits. Other crawlers get them after the lease."""
        return [ProcessFault(NAMES[0], partial(self._crawlers.kill, NAMES[0]))]

    def pids(self) -> Mapping[str, int]:
        return self._crawlers.pids


def at_most(limit: int, *, visits: int, most: int) -> Invariant:
    """Check that a site had no more visits at the same time than the semaphore allows."""
    problems = (f"there were {most} downloads at once",) if most > limit else ()
    return Invariant("semaphore", f"at most {limit} at once", visits, "downloads", problems)


def main(site: str) -> None:
    """Fetch pages of *site* with several threads."""
    where = os.environ["HOLDFAST_URL"], os.environ["HOLDFAST_NAMESPACE"]
    with Holdfast.from_url(where[0], namespace=where[1]) as hf:
        crawlers = [example(EXAMPLE).Crawler(hf) for _ in range(CRAWLERS)]
        threads = [threading.Thread(target=crawl, args=(each, site)) for each in crawlers]
        for thread in threads:
            thread.daemon = True
            thread.start()
        for thread in threads:
            thread.join()


def crawl(crawler: Any, site: str) -> None:
    """Fetch one page after the other."""
    while True:
        with suppress(HoldfastError, OSError):  # the server was killed, or the site is closing
            crawler.fetch(f"{site}/{random.randrange(PAGES)}")
        time.sleep(random.uniform(0, 2 * PAUSE_S))


if __name__ == "__main__":
    main(sys.argv[1])
