"""Polite crawlers: never more than three downloads at once from a host."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from faults.processes import Process
from faults.servers import Server
from holdfast import Holdfast
from holdfast_demo.example_files import example_file, load_example

EXAMPLE = example_file("downloads.py")
AT_ONCE = 8


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the example with slow pages, so that all downloads overlap."""
    example = load_example(EXAMPLE)
    monkeypatch.setattr(example, "PAGE_S", 0.5)
    return example


@pytest.fixture
def pages(example: Any) -> Iterator[Any]:
    with example.Site() as pages:
        threading.Thread(target=pages.serve_forever, daemon=True).start()
        yield pages
        pages.shutdown()


def fetch_all(crawler: Any, urls: list[str]) -> list[bytes | None]:
    with ThreadPoolExecutor(AT_ONCE) as threads:
        return list(threads.map(crawler.fetch, urls))


def test_three_at_once(
    example: Any, pages: Any, standalone: Server, request: pytest.FixtureRequest
) -> None:
    """Limit the threads of one process as well as processes."""
    urls = [f"{pages.url}/{number}" for number in range(AT_ONCE)]
    with Holdfast.from_url(standalone.url, namespace=request.node.name) as hf:
        contents = fetch_all(example.Crawler(hf), urls)
    assert contents == [f"page /{number}\n".encode() for number in range(AT_ONCE)]
    assert pages.most == 3


def test_the_site_notices_impoliteness(example: Any, pages: Any) -> None:
    """Exceed the limit without a semaphore: the site counts that."""
    fetch_all(example.Crawler(None), [f"{pages.url}/{number}" for number in range(AT_ONCE)])
    assert pages.most > 3


def test_private_pages_stay_private(
    example: Any, pages: Any, standalone: Server, request: pytest.FixtureRequest
) -> None:
    """Read `robots.txt` before any other page."""
    with Holdfast.from_url(standalone.url, namespace=request.node.name) as hf:
        assert example.Crawler(hf).fetch(f"{pages.url}/private/diary") is None


@pytest.mark.long  # twelve interpreters; the crawlers of the world are processes, too
def test_the_example_by_hand(standalone: Server) -> None:
    """Run six processes with three downloads at once, for every page but the private one."""
    with Process.python(EXAMPLE, standalone.url, name="downloads") as process:
        assert process.wait(100.0) == 0, process.output
        rude, polite = re.findall(r"(\d+) of 31 pages, (\d+) at once", process.output)
    assert rude[0] == polite[0] == "30"
    assert int(polite[1]) <= 3
