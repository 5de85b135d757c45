"""Processes of a round: `python -m tallies.faults.actors publish|count URL NAMESPACE …`.

Each does all its work again from the beginning when it was killed; that nothing is counted twice is
what is tested. Pieces are small, so that a kill meets every kind of step.
"""

import sys
import time

from holdfast import GeoKey, GeoTable, Holdfast, HoldfastError
from holdfast.tallies import parts
from holdfast.tallies._sync import aggregation as reading

BUDGET = 1 << 20
LEASE_S = 1.0


def publish(hf: Holdfast, folder: str) -> None:
    """Send all files of a folder, and say that these were all."""
    feed = hf.file_feed("logs", mode="share", budget=BUDGET, lease=LEASE_S)
    failed = feed.publish_dir(folder).failed
    if failed:
        raise RuntimeError(f"not published: {failed}")
    feed.seal()


def count(hf: Holdfast, name: str, table: str) -> None:
    """Count what comes, until all is counted."""
    feed = hf.file_feed("logs", mode="share", budget=BUDGET, lease=LEASE_S)
    key = GeoKey(GeoTable.from_mmdb(table))
    hf.tally("daily").aggregate(feed.consumer(name), key=key)


def main() -> None:
    """Insist: a server that is slow, or a lease that was lost, is no reason to stop."""
    verb, url, namespace, *rest = sys.argv[1:]
    parts.PART_VALUES = 20  # type: ignore[misc]
    reading.AT_ONCE = 200_000  # type: ignore[misc]
    reading.COMMIT_S = 0.05  # type: ignore[misc]
    reading.DAY_VALUES = 5  # type: ignore[misc]
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
