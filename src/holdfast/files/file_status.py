"""The status of one file of a feed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from .options import FeedOptions

_PARTS: Final = 8
"""Values for each file in a reply of `lua/list.lua`."""

_DONE: Final = "1"
_FAILED: Final = "2"
"""Digits of a group in the field `done` of a file."""


@dataclass(frozen=True, slots=True)
class FileStatus:
    """A file of a feed that a consumer has not finished.

    Attributes:
        number: its number in the order in which publishing began, from 1 on.
        name: name on the feed; bytes that are not text are replaced.
        state: `open` (being published), `whole` or `damaged`.
        bytes: unpacked bytes published so far.
        kept: bytes of the budget that its content uses.
        problem: why it is damaged; empty if it is not.
        waits_for: consumers that have not finished it; with `share` empty: any consumer may.
        failed: whether reading it failed so often that it is not assigned until `FileFeed.retry`.
        failed_for: the consumers for which it failed; with `share` empty.
        reason: why reading it failed last; empty if it did not.
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
    """Return the files in a reply of `lua/list.lua`, and the number below which there are more; 0:
    none.

    Args:
        reply: the reply.
        key: the key that holds the definition.
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
