"""Run the role of one process of a round: `python -m files.faults.actors ROLE URL NAMESPACE …`."""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from holdfast import (
    BudgetExceeded,
    FeedSealed,
    FileTaken,
    Holdfast,
    HoldfastError,
    ServerUnavailable,
)

BUDGET = 2**20
LEASES_S = {"broadcast": 20.0, "share": 1.0}
"""Seconds of a lease. In `broadcast`, no paused consumer may lose its file; in `share`, it must."""


def publish(hf: Holdfast, sent: Path, mode: str, *consumers: str) -> None:
    """Publish a folder and seal the feed; continue what a killed publisher began."""
    share = mode == "share"
    feed = hf.file_feed(
        "logs",
        consumers=None if share else consumers,
        budget=BUDGET,
        mode="share" if share else "broadcast",
        lease=LEASES_S[mode],
    )
    result = feed.publish_dir(sent)
    assert not result.failed, result.failed
    feed.seal()


def save(hf: Holdfast, folder: Path, name: str) -> None:
    """Save every file into *folder*."""
    for file in hf.file_feed("logs").consumer(name).files():
        try:
            with file:
                file.save_to(folder)
        except FileTaken:
            continue


def append(hf: Holdfast, folder: Path, name: str) -> None:
    """Append the lines of each file to an output file of its own, and acknowledge them.

    The size of the output file is the position, so no line is there twice after a kill.
    A consumer that was paused for longer than its lease may write after its successor. It then
    writes the same bytes to the same place.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for file in hf.file_feed("logs").consumer(name).files():
        try:
            (folder / file.id).touch()
            with file, (folder / file.id).open("r+b") as out:
                size = out.seek(0, os.SEEK_END)
                for block in file.blocks(start=max(size, file.offset)):
                    assert block.offset == size, (block.offset, size)
                    os.pwrite(out.fileno(), block.data, size)
                    size = block.end
                    file.ack(size)
                (folder / f"{file.id}.name").write_text(file.name)
        except FileTaken:
            continue


ROLES: dict[str, Callable[..., None]] = {"publish": publish, "save": save, "append": append}


def main() -> None:
    """Play a role until it ends; retry when the server is unavailable or the budget is used up."""
    role, url, namespace, folder, *rest = sys.argv[1:]
    while True:
        try:
            with Holdfast.from_url(url, namespace=namespace) as hf:
                ROLES[role](hf, Path(folder), *rest)
        except (BudgetExceeded, ServerUnavailable) as error:
            print(role, error, flush=True)
            time.sleep(0.1)
        except FeedSealed:
            return  # killed after it sealed the feed; the consumers have read everything since
        except HoldfastError as error:
            print("Traceback", role, os.getpid(), repr(error), flush=True)
            raise
        else:
            print("done", flush=True)
            return


if __name__ == "__main__":
    main()
