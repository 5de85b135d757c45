"""A short sale by hand: a line every second, and what came of it."""

from __future__ import annotations

import sys

from holdfast.server import EmbeddedServer

if not __package__:
    sys.exit("run it from the folder examples: python -m fakeshop")

from . import Sale, database

READERS, SECONDS = 400, 5.0


def main() -> int:
    """Hold it; 1 if anything was sold that was not there."""
    with EmbeddedServer.open(None) as server, database(None) as url:
        sale = Sale(server.url, url, readers=READERS, seconds=SECONDS)
        last = -1
        for now in sale.run():
            if int(now.seconds) != last:
                last = int(now.seconds)
                print(
                    f"{'cache   ' if now.cached else 'database'} {now.seconds:4.1f} s: "
                    f"{now.per_second('reads'):8,.0f} reads/s, "
                    f"{now.per_second('queries'):8,.0f} SELECTs/s, mean age {now.mean_age_s:.2f} s"
                )
    print("\n".join(sale.problems) or "What was sold is gone from the shelf, and nothing else is.")
    return bool(sale.problems)


if __name__ == "__main__":
    sys.exit(main())
