"""Which files a folder holds."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from .paths import PARTS


def walked(root: Path, failed: dict[str, Exception]) -> Iterator[Path]:
    """The regular files below *root*, in order; what cannot be looked into goes to *failed*.

    Files that are still being saved (`save_to`) are left out.
    """

    def unreadable(error: OSError) -> None:
        failed[Path(error.filename or root).relative_to(root).as_posix()] = error

    for folder, folders, names in os.walk(root, onerror=unreadable):
        # Files that `save_to` has not finished are no data yet.
        folders[:] = sorted(name for name in folders if name.casefold() != PARTS)
        for name in sorted(names):
            path = Path(folder, name)
            try:
                if stat.S_ISREG(path.stat().st_mode):
                    yield path
            except OSError as error:
                failed[path.relative_to(root).as_posix()] = error
