"""A process with many threads, each of which reads one cold row once: `reader.py URL NS FOLDER`."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from holdfast import Holdfast

THREADS = 125


def main() -> None:
    """Wait for the word, read, and tell what was read."""
    url, namespace, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])

    class Counted:
        def load(self, ids: Sequence[Any]) -> dict[Any, Any]:
            with (folder / "loads").open("a") as loads:
                loads.write(f"{list(ids)}\n")
            time.sleep(0.2)
            return {row_id: {"n": row_id} for row_id in ids}

    wrong = []
    with Holdfast.from_url(f"{url}?socket_timeout=60", namespace=namespace) as hf:
        cache = hf.row_cache("cold", source=Counted(), lease=60.0)

        def read() -> None:
            row = cache.get(7, timeout=60)
            if row.value != {"n": 7}:
                wrong.append(row)

        threads = [threading.Thread(target=read) for _ in range(THREADS)]
        (folder / f"ready-{os.getpid()}").touch()
        while not (folder / "go").exists():
            time.sleep(0.005)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    print("read", THREADS - len(wrong), flush=True)


if __name__ == "__main__":
    main()
