"""A refresher to be killed; notes when it selected which rows: `refresher.py URL NS FOLDER`."""

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from holdfast import Holdfast


def main() -> None:
    """Refresh rows until the process is killed."""
    url, namespace, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])

    class Noted:
        def load(self, ids: Sequence[Any]) -> dict[Any, Any]:
            with (folder / f"loads-{os.getpid()}").open("a") as loads:
                loads.write(f"{time.monotonic()} {' '.join(map(str, ids))};\n")
            return {row_id: {"n": row_id} for row_id in ids}

    with Holdfast.from_url(url, namespace=namespace) as hf:
        cache = hf.row_cache("stock", source=Noted(), lease=2.0)
        cache.refresh_due()
        print("ready", flush=True)
        cache.run()


if __name__ == "__main__":
    main()
