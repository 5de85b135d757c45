"""The processes of a round: `python -m tallies.faults.actors publish|count URL NAMESPACE …`.

A process that was killed does all its work again; the test checks that no line counts twice.
Chunks and blocks are small, so that kills hit every kind of step.
"""

import sys
import time

from holdfast import FeedSealed, GeoKey, GeoTable, Holdfast, HoldfastError
from holdfast.tallies import chunks
from holdfast.tallies._sync import aggregation

BUDGET = 1 << 20
LEASE_S = 1.0


def publish(hf: Holdfast, folder: str) -> None:
    """Publish all files of a folder, and seal the feed."""
    feed = hf.file_feed("logs", mode="share", budget=BUDGET, lease=LEASE_S)
    try:
        failed = feed.publish_dir(folder).failed
    except FeedSealed:  # by an earlier process, which was killed when it had published all files
        return
    if failed:
        raise RuntimeError(f"not published: {failed}")
    feed.seal()


def count(hf: Holdfast, name: str, table: str) -> None:
    """Count the files of the feed until it ends."""
    feed = hf.file_feed("logs", mode="share", budget=BUDGET, lease=LEASE_S)
    key = GeoKey(GeoTable.from_mmdb(table))
    hf.tally("daily").aggregate(feed.consumer(name), key=key)


def main() -> None:
    """Repeat the work after each error, such as a timeout or a lost lease."""
    verb, url, namespace, *rest = sys.argv[1:]
    chunks.CHUNK_VALUES = 20  # type: ignore[misc]
    aggregation.COUNT_BYTES = 200_000  # type: ignore[misc]
    aggregation.COMMIT_S = 0.05  # type: ignore[misc]
    aggregation.DAY_COMMIT_VALUES = 5  # type: ignore[misc]
    print("begins", flush=True)
    while True:
        try:
            with Holdfast.from_url(url, namespace=namespace) as hf:
                if verb == "publish":
                    publish(hf, *rest)
                else:
                    count(hf, *rest)
            break
        except HoldfastError as error:
            print(f"again: {error}", flush=True)
            time.sleep(0.2)
    print("done", flush=True)


if __name__ == "__main__":
    main()
