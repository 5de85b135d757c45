"""The status of one file of a feed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from .options import FeedOptions

_PARTS: Final = 8
"""Number of values for each file in a reply of `lua/list.lua`."""

_DONE: Final = "1"
_FAILED: Final = "2"
"""Digits in the field `done` of a file: a group has finished the file, or has failed too often."""


@dataclass(frozen=True, slots=True)
class FileStatus:
    """Describe a file of a feed that is still stored.

    Attributes:
        number: number of the file, from 1, in the order in which publishing began.
        name: name of the file on the feed; bytes that are not text are replaced.
        state: `open` (being published), `whole` or `damaged`.
        bytes: unpacked bytes published so far.
        kept: bytes of the budget that the stored chunks use.
        problem: why the file is damaged; empty if it is not.
        waits_for: names of the consumers that have not finished the file; empty if the feed has the
            mode `share`.
        failed: True if reading it failed so often that it is not assigned until `FileFeed.retry`.
        failed_for: names of the consumers that failed so often; empty if the feed has the mode
            `share`.
        reason: why the latest failed attempt failed; empty if none failed.
    """

    number: int
    name: str
    state: Literal["open", "whole", "damaged"]
    bytes: int
    kept: int
    problem: str
    waits_for: tuple[str, ...]
    failed: bool = False
    failed_for: tuple[str, ...] = ()
    reason: str = ""


def file_statuses(reply: Sequence[Any], key: str) -> tuple[list[FileStatus], int]:
    """Return the files in a *reply* of `lua/list.lua`, and the number below which to continue.

    Args:
        reply: the reply.
        key: name of the key with the definition, for errors.

    Returns:
        The files, and the number below which more files are stored; 0 if there are none.
    """
    if not reply:
        return [], 0
    definition = FeedOptions.parse(reply[0], key)
    flat = [part.decode(errors="replace") for part in reply[2:]]
    found = [_file_status(flat[i : i + _PARTS], definition) for i in range(0, len(flat), _PARTS)]
    return found, int(reply[1] or 0)


def _file_status(parts: Sequence[Any], definition: FeedOptions) -> FileStatus:
    number, name, state, size, kept, problem, done, reason = parts
    is_shared = definition.mode == "share"
    readers = [] if is_shared else list(zip(definition.consumers, done, strict=True))
    left = tuple(consumer for consumer, digit in readers if digit != _DONE)
    failed = tuple(consumer for consumer, digit in readers if digit == _FAILED)
    sizes = int(size), int(kept)
    has_failed = _FAILED in done
    return FileStatus(int(number), name, state, *sizes, problem, left, has_failed, failed, reason)
