"""Publish logs to feeds, or save the files of a feed: the program of child processes.

    python -m holdfast_demo.logs.carrier publish FOLDER BEGAN_AT SECONDS
    python -m holdfast_demo.logs.carrier keep FOLDER CONSUMER

After a kill, a new process continues where the old one ended. The program uses the server
`HOLDFAST_URL` and the namespace `HOLDFAST_NAMESPACE`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from holdfast import FeedSealed, FileFeed, FileTaken, Holdfast, OutcomeUnknown, ServerUnavailable

ARCHIVE: Final = "archive"
"""Name of the feed that sends each file to all `KEEPERS`."""

SHARED: Final = "logs"
"""Name of the feed that sends each file to one of `COUNTERS`."""

KEEPERS: Final = ("mirror-1", "mirror-2")
COUNTERS: Final = ("geo-1", "geo-2")
LEASE_S: Final = 3.0
BUDGET: Final = 8 << 20
PAUSE_S: Final = 0.2
PASSING: Final = (ServerUnavailable, OutcomeUnknown, FileTaken)
"""Errors after which a step is repeated: the server was killed, and perhaps a file was assigned to
another consumer meanwhile."""


def feeds(hf: Holdfast) -> list[FileFeed]:
    """Return both feeds."""
    return [
        hf.file_feed(ARCHIVE, consumers=KEEPERS, budget=BUDGET, lease=LEASE_S),
        hf.file_feed(SHARED, consumers=COUNTERS, mode="share", budget=BUDGET, lease=LEASE_S),
    ]


def publish(hf: Holdfast, folder: Path, began_at: float, seconds: float) -> None:
    """Publish all logs in *folder*, spread over *seconds* from *began_at* on; seal the feeds."""
    logs = sorted(path for path in folder.rglob("*.log"))
    for number, log in enumerate(logs):
        time.sleep(max(0.0, began_at + seconds * number / len(logs) - time.time()))
        for feed in feeds(hf):
            _repeat(partial(_publish, feed, log, log.relative_to(folder).as_posix()))
    for feed in feeds(hf):
        _repeat(feed.seal)


def keep(hf: Holdfast, folder: Path, consumer: str) -> None:
    """Save all files for *consumer* in *folder*, until the feed is sealed and all are saved."""

    def save() -> None:
        for file in hf.file_feed(ARCHIVE).consumer(consumer).files():
            with file:
                file.save_to(folder)

    _repeat(save)


def _publish(feed: FileFeed, log: Path, name: str) -> None:
    # Ignore FeedSealed: an earlier publisher had published all files and sealed the feed when it
    # was killed.
    with log.open("rb") as content, suppress(FeedSealed):
        feed.publish(content, name=name)


def _repeat(step: Callable[[], object]) -> None:
    """Repeat *step* until it succeeds. Publishing and consuming continue where they ended."""
    while True:
        try:
            step()
        except PASSING:
            time.sleep(PAUSE_S)
        else:
            return


def main() -> None:
    """Call `publish` or `keep` with the arguments of the command line."""
    role, folder, *more = sys.argv[1:]
    where = os.environ["HOLDFAST_URL"], os.environ["HOLDFAST_NAMESPACE"]
    with Holdfast.from_url(where[0], namespace=where[1]) as hf:
        if role == "publish":
            publish(hf, Path(folder), *map(float, more))
        else:
            keep(hf, Path(folder), *more)


if __name__ == "__main__":
    main()
