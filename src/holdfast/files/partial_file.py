"""Save a file in a hidden folder until it is complete, then move it to its path. Every call blocks.

All calls use descriptors of folders that were opened without following links. So nothing is written
elsewhere, even if another process replaces a folder by a link.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from .chunk import BLOCK, EMPTY, digest_after
from .folders import entered, opened_folder
from .paths import PARTS, part_path, saved_path


class PartialFile:
    """Save one file; a new object for the same file continues where the previous one ended.

    Args:
        folder: target folder.
        name: name of the file.
        file_id: unique id of the file.

    Raises:
        OSError: The file cannot be written, or its path contains a link, which is not followed.
        ValueError: A link within the folder leads out of it.
    """

    def __init__(self, folder: Path, name: str, file_id: str) -> None:
        self._open: list[int] = []
        self._path = saved_path(folder, name)
        *self._folders, self._name = self._path.relative_to(folder).parts
        self._part = part_path(folder, file_id).name
        self.digest: bytes = EMPTY
        self.count: int = 0
        folder.mkdir(parents=True, exist_ok=True)
        try:
            self._root = self._keep(opened_folder(folder))
            self._parts = self._keep(entered(self._root, [PARTS], create=True, mode=0o700))
            # Fail now if the folders of the target cannot be created.
            os.close(entered(self._root, self._folders, create=True))
            self._file = self._opened_part()
        except BaseException:
            self._close_folders()
            raise
        self._verify_saved()

    def __del__(self) -> None:
        self._close_folders()

    def write(self, blocks: Sequence[bytes]) -> None:
        """Append *blocks*: whole chunks, except for the last one of the file."""
        self._file.writelines(blocks)
        self._file.flush()  # the operating system keeps flushed bytes if this process is killed

    def restart(self) -> None:
        """Remove the saved content and begin again."""
        self._file.truncate(0)
        self.digest, self.count = EMPTY, 0

    def finish(self) -> Path:
        """Write the complete file to disk and move it to its path, which it returns."""
        os.fsync(self._file.fileno())
        target = entered(self._root, self._folders, create=True)
        try:
            os.rename(self._part, self._name, src_dir_fd=self._parts, dst_dir_fd=target)
        finally:
            os.close(target)
        self.close()
        return self._path

    def close(self) -> None:
        """Close the file. Keep the saved content, so that a new object can continue."""
        self._file.close()
        self._close_folders()

    def discard(self) -> None:
        """Close the file and delete the saved content."""
        with suppress(FileNotFoundError):
            os.unlink(self._part, dir_fd=self._parts)
        self.close()

    def _keep(self, descriptor: int) -> int:
        self._open.append(descriptor)
        return descriptor

    def _close_folders(self) -> None:
        while self._open:
            os.close(self._open.pop())

    def _opened_part(self) -> BinaryIO:
        """Open the partial file for reading and appending."""
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK
        flags |= os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(self._part, flags, 0o666, dir_fd=self._parts)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(f"{self._part!r} in {PARTS!r} is not a regular file: remove it")
        return os.fdopen(descriptor, "a+b")

    def _verify_saved(self) -> None:
        """Compute the digest of the chunks saved before, and remove an incomplete last chunk."""
        self._file.seek(0)
        while len(data := self._file.read(BLOCK)) == BLOCK:
            self.digest = digest_after(data, self.digest)
            self.count += 1
        self._file.truncate(self.count * BLOCK)
        self._file.seek(0, os.SEEK_END)
