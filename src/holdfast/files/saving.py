"""A file that is being saved: it grows in a hidden folder until it is whole. All of it blocks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from .chunk import BLOCK, EMPTY, digest_after
from .paths import part_path, saved_path


class Saving:
    """What is saved of one file. Begun again, it goes on where it was.

    Args:
        folder: where to.
        name: of the file.
        file_id: tells it from all other files.

    Raises:
        OSError: it cannot be written; or a link stands where it is to grow.
        ValueError: a link within the folder leads out of it.
    """

    def __init__(self, folder: Path, name: str, file_id: str) -> None:
        self._path = saved_path(folder, name)
        self._part = part_path(folder, file_id)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._part.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._file = _opened(self._part)
        self.digest = EMPTY
        self.count = 0
        self._take_up()

    def write(self, blocks: Sequence[bytes]) -> None:
        """Add what comes next, whole chunks but for the last one of the file."""
        self._file.writelines(blocks)
        self._file.flush()  # so that whoever kills this process loses nothing that was read

    def finish(self) -> Path:
        """It is whole: put it in its place, on the disk, in one step."""
        os.fsync(self._file.fileno())
        self._file.close()
        self._part.replace(self._path)
        return self._path

    def close(self) -> None:
        """Leave it as it is, for another try."""
        self._file.close()

    def discard(self) -> None:
        """It is of no use."""
        self._file.close()
        self._part.unlink(missing_ok=True)

    def _take_up(self) -> None:
        """See what is there, up to the last whole chunk."""
        self._file.seek(0)
        while len(data := self._file.read(BLOCK)) == BLOCK:
            self.digest = digest_after(data, self.digest)
            self.count += 1
        self._file.truncate(self.count * BLOCK)
        self._file.seek(0, os.SEEK_END)


def _opened(part: Path) -> BinaryIO:
    """To be read and added to. Who may write to the folder leads it nowhere by a link."""
    folder = os.open(part.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.fdopen(os.open(part.name, flags, 0o666, dir_fd=folder), "a+b")
    finally:
        os.close(folder)
