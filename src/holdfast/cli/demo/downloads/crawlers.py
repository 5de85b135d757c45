"""A process of crawlers, for ever.

    python -m holdfast.cli.demo.downloads.crawlers http://127.0.0.1:8080 2

The server is `HOLDFAST_URL`, in the namespace `HOLDFAST_NAMESPACE`.
"""

from __future__ import annotations

import os
import random
import sys
import threading
import time
from contextlib import suppress
from typing import Any, Final

from .... import Holdfast, HoldfastError
from ..examples import example_file, load_example

PAGES: Final = 1_000
PAUSE_S: Final = 0.1


def main(site: str, crawlers: int) -> None:
    """Fetch pages of *site*, with as many *crawlers* at once."""
    example = load_example(example_file("downloads.py"))
    where = os.environ["HOLDFAST_URL"], os.environ["HOLDFAST_NAMESPACE"]
    with Holdfast.from_url(where[0], namespace=where[1]) as hf:
        threads = [
            threading.Thread(target=crawl, args=(example.Crawler(hf), site), daemon=True)
            for _ in range(crawlers)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def crawl(crawler: Any, site: str) -> None:
    """Fetch one page after the other."""
    while True:
        with suppress(HoldfastError, OSError):  # the server is away, or the site is closing
            crawler.fetch(f"{site}/{random.randrange(PAGES)}")
        time.sleep(random.uniform(0, 2 * PAUSE_S))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
