"""A process that publishes logs to feeds, or one that keeps what a feed brings; both for a while.

    python -m holdfast.cli.demo.logs.carrier publish FOLDER BEGAN_AT SECONDS
    python -m holdfast.cli.demo.logs.carrier keep FOLDER CONSUMER

Killed and started again, each goes on where it was: that is what feeds are for. The server is
`HOLDFAST_URL`, in the namespace `HOLDFAST_NAMESPACE`.
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

from .... import FeedSealed, FileFeed, FileTaken, Holdfast, OutcomeUnknown, ServerUnavailable

ALL: Final = "archive"
"""The feed whose files go to each of `KEEPERS`."""

SHARED: Final = "logs"
"""The feed whose files go to one of `COUNTERS` each."""

KEEPERS: Final = ("mirror-1", "mirror-2")
COUNTERS: Final = ("geo-1", "geo-2")
LEASE_S: Final = 3.0
BUDGET: Final = 8 << 20
PAUSE_S: Final = 0.2
AWAY: Final = (ServerUnavailable, OutcomeUnknown, FileTaken)
"""What passes: the server is away, or was for so long that another one took the file."""


def feeds(hf: Holdfast) -> list[FileFeed]:
    """Both of them, as they are meant to be."""
    return [
        hf.file_feed(ALL, consumers=KEEPERS, budget=BUDGET, lease=LEASE_S),
        hf.file_feed(SHARED, consumers=COUNTERS, mode="share", budget=BUDGET, lease=LEASE_S),
    ]


def publish(hf: Holdfast, folder: Path, began_at: float, seconds: float) -> None:
    """Publish all logs of *folder*, spread over the time; then there are no more."""
    logs = sorted(path for path in folder.rglob("*.log"))
    for number, log in enumerate(logs):
        time.sleep(max(0.0, began_at + seconds * number / len(logs) - time.time()))
        for feed in feeds(hf):
            name = log.relative_to(folder).as_posix()
            _insist(partial(_publish, feed, log, name))
    for feed in feeds(hf):
        _insist(feed.seal)


def keep(hf: Holdfast, folder: Path, consumer: str) -> None:
    """Save what comes, until no more will come."""

    def save() -> None:
        for file in hf.file_feed(ALL).consumer(consumer).files():
            with file:
                file.save_to(folder)

    _insist(save)


def _publish(feed: FileFeed, log: Path, name: str) -> None:
    # Sealed it is only by a publisher that had published all, and was killed then.
    with log.open("rb") as content, suppress(FeedSealed):
        feed.publish(content, name=name)


def _insist(step: Callable[[], object]) -> None:
    """Begin *step* again until it is done: publishing and consuming go on where they were."""
    while True:
        try:
            step()
        except AWAY:
            time.sleep(PAUSE_S)
        else:
            return


def main() -> None:
    """Do as the arguments say."""
    role, folder, *more = sys.argv[1:]
    where = os.environ["HOLDFAST_URL"], os.environ["HOLDFAST_NAMESPACE"]
    with Holdfast.from_url(where[0], namespace=where[1]) as hf:
        if role == "publish":
            publish(hf, Path(folder), *map(float, more))
        else:
            keep(hf, Path(folder), *more)


if __name__ == "__main__":
    main()
