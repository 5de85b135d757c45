"""Fake Crawler: at most three downloads at once from one host, however many processes there are.

    python downloads.py                     # on a Valkey of its own
    python downloads.py redis://localhost   # on yours

A site says in its `robots.txt` what may be fetched, and bears only so much at once. Each crawler
holds a place of the host's semaphore while it downloads. The crawlers may be processes on many
machines: the server counts. A process that waits for a permit sleeps until its turn, first come,
first served; the place of a crawler that is killed is free after its lease.

Here six processes fetch from a site that this program serves itself on this machine, first
without asking anybody, then politely. The site counts who comes at once.

There is no fence: a site could not check one. A crawler that was frozen for longer than its lease
may for a moment be one too many, which a site bears.
"""

import secrets
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing import get_context
from urllib.parse import urlsplit
from urllib.request import urlopen
from urllib.robotparser import RobotFileParser

from holdfast import Holdfast
from holdfast.server import EmbeddedServer

AT_ONCE = 3
CRAWLERS = 6
PAGES = 30
PAGE_S = 0.05  # how long the site takes for a page
ROBOTS = b"User-agent: *\nDisallow: /private/\n"


class Crawler:
    """Fetches what may be fetched.

    Args:
        hf: counts the downloads; None: they are not counted.
    """

    def __init__(self, hf: Holdfast | None) -> None:
        self._hf = hf
        self._robots: dict[str, RobotFileParser] = {}

    def fetch(self, url: str) -> bytes | None:
        """Return the content of a URL; None if its site forbids it."""
        parts = urlsplit(url)
        site = f"{parts.scheme}://{parts.netloc}"
        if site not in self._robots:
            rules = RobotFileParser()
            rules.parse(self._download(f"{site}/robots.txt").decode().splitlines())
            self._robots[site] = rules
        return self._download(url) if self._robots[site].can_fetch("*", url) else None

    def _download(self, url: str) -> bytes:
        if self._hf is None:
            return _get(url)
        # One semaphore for each host. The first process sets the limit; a process that sets
        # another one later gets a DefinitionConflict.
        places = self._hf.semaphore(f"host:{urlsplit(url).netloc}", limit=AT_ONCE)
        with places.hold(timeout=60.0):
            return _get(url)


def _get(url: str) -> bytes:
    with urlopen(url, timeout=10.0) as response:  # noqa: S310  (http, of this program)
        content: bytes = response.read()
        return content


class Site(ThreadingHTTPServer):
    """Pages that each take a moment.

    Attributes:
        visits: how many were asked for.
        most: how many at the same time, at most.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Page)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.visits = self.most = 0
        self._now = 0
        self._counting = threading.Lock()

    @contextmanager
    def visit(self) -> Iterator[None]:
        """Count one more while the block runs."""
        with self._counting:
            self.visits += 1
            self._now += 1
            self.most = max(self.most, self._now)
        try:
            yield
        finally:
            with self._counting:
                self._now -= 1


class Page(BaseHTTPRequestHandler):
    """Answers one request."""

    server: Site

    def do_GET(self) -> None:
        """Send the page, or robots.txt."""
        with self.server.visit():
            time.sleep(PAGE_S)
        # The last byte is sent when the visit is over: the crawler's is, when it has that.
        content = ROBOTS if self.path == "/robots.txt" else f"page {self.path}\n".encode()
        with suppress(ConnectionError):  # a crawler that was killed meanwhile
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the base class's name)
        """Log nothing: a line for each page would hide the result."""


crawler = Crawler(None)
"""Of this process."""


def begin(url: str | None, namespace: str) -> None:
    """Make the crawler of a process; without a URL an impolite one."""
    global crawler  # noqa: PLW0603  (that is how a pool's processes are set up)
    crawler = Crawler(Holdfast.from_url(url, namespace=namespace) if url else None)


def fetch(url: str) -> bytes | None:
    """Return what the crawler of this process gets."""
    return crawler.fetch(url)


def crawl(url: str | None, namespace: str) -> int:
    """Fetch all pages with some processes; return how many were under way at once."""
    with Site() as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        setting_up = partial(begin, url, namespace)
        # Spawned, as programs on other machines would be: they share nothing but the server.
        with ProcessPoolExecutor(
            CRAWLERS, mp_context=get_context("spawn"), initializer=setting_up
        ) as pool:
            urls = [f"{site.url}/{number}" for number in range(PAGES)]
            contents = list(pool.map(fetch, [*urls, f"{site.url}/private/diary"]))
        site.shutdown()
    fetched = sum(content is not None for content in contents)
    print(f"  {fetched} of {len(contents)} pages, {site.most} at once; the others are private")
    return site.most


def main(url: str) -> int:
    """Crawl twice; the exit code is 1 if the site saw too many polite crawlers at once."""
    namespace = f"fakecrawler-{secrets.token_hex(4)}"
    print(f"{CRAWLERS} processes without a semaphore:")
    crawl(None, namespace)
    print(f"{CRAWLERS} processes, a semaphore of {AT_ONCE} for the host:")
    return 0 if crawl(url, namespace) <= AT_ONCE else 1


if __name__ == "__main__":
    if sys.argv[1:]:
        sys.exit(main(sys.argv[1]))
    with EmbeddedServer.open(None) as server:
        sys.exit(main(server.url))
