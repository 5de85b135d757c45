"""Which files a folder holds."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path


def walked(root: Path, failed: dict[str, Exception]) -> Iterator[Path]:
    """The regular files below *root*, in order; what cannot be looked into goes to *failed*."""

    def unreadable(error: OSError) -> None:
        failed[Path(error.filename or root).relative_to(root).as_posix()] = error

    for folder, folders, names in os.walk(root, onerror=unreadable):
        folders.sort()
        for name in sorted(names):
            path = Path(folder, name)
            try:
                if stat.S_ISREG(path.stat().st_mode):
                    yield path
            except OSError as error:
                failed[path.relative_to(root).as_posix()] = error
