"""What a phone has on disk: a line for everything that happened to it.

It stands for the database of an app. A process that is killed leaves at most its last line torn.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

Record = dict[str, Any]


class Journal:
    """`with Journal(path) as journal:` goes on where an earlier one ended."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab+")

    def __enter__(self) -> Self:
        self._file.seek(0)
        whole = self._file.read().rpartition(b"\n")
        self._file.truncate(len(whole[0]) + len(whole[1]))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._file.close()

    def records(self) -> Iterator[Record]:
        """Yield all records up to now."""
        self._file.seek(0)
        return map(json.loads, self._file.read().splitlines())

    def note(self, *records: Record) -> None:
        """Add them. When this returns they outlive the process."""
        self._file.write(b"".join(json.dumps(record).encode() + b"\n" for record in records))
        self._file.flush()


class Follower:
    """Reads a journal while it is written by another process."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = 0

    def news(self) -> Iterator[Record]:
        """Yield the records that were added since the last call."""
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._at)
            whole, end, _ = file.read().rpartition(b"\n")
        self._at += len(whole) + len(end)
        yield from map(json.loads, whole.splitlines())
