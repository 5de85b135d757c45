"""A short day by hand: a line every second, and what came of it."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from holdfast.server import EmbeddedServer

if not __package__:
    sys.exit("run it from the folder examples: python -m fakegarage")

from .day import Day
from .garage import Garage

SEED, CLIENTS, SECONDS = 1, 24, 10.0


def main() -> int:
    """Run it; 1 if anybody misses anything."""
    day, shown_at = Day.make(seed=SEED, clients=CLIENTS, seconds=SECONDS), 0.0
    with EmbeddedServer.open(None) as server, tempfile.TemporaryDirectory() as folder:
        garage = Garage(day, seed=SEED, server=server.socket, folder=Path(folder))
        for _ in garage.run():
            if time.monotonic() - shown_at >= 1.0:
                shown_at = time.monotonic()
                print(garage.progress_line())
    print(garage.progress_line())
    problems = garage.problems()
    print("\n".join(problems) or "Everybody has everything, in order.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
