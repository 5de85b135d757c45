"""What is told of one file of a feed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from .options import FeedOptions

_PARTS: Final = 8
"""Of each file in what `lua/list.lua` answers."""

_DONE: Final = "1"
_FAILED: Final = "2"
"""What the digit of a group says of a file."""


@dataclass(frozen=True, slots=True)
class FileStatus:
    """A file of a feed that somebody has still to read.

    Attributes:
        number: in which place it was begun, from 1 on.
        name: on the feed; what is no text in it is replaced.
        state: `open` (it is being published), `whole` or `damaged`.
        bytes: published so far, unpacked.
        kept: bytes of the budget that its content uses.
        problem: why it is damaged; empty: it is not.
        waits_for: consumers that are not done with it; in `share` empty: it is anybody's.
        failed: whether reading it failed so often that it is not handed out until
            `FileFeed.retry`.
        failed_for: the consumers for which it failed; in `share` empty.
        reason: why reading it failed last; empty: it did not.
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
    """Return what `lua/list.lua` answers, and below which number there are more; 0: none.

    Args:
        reply: the answer.
        key: the key that holds the definition.
    """
    if not reply:
        return [], 0
    definition = FeedOptions.parse(reply[0], key)
    flat = [part.decode(errors="replace") for part in reply[2:]]
    found = [_told(flat[i : i + _PARTS], definition) for i in range(0, len(flat), _PARTS)]
    return found, int(reply[1] or 0)


def _told(parts: Sequence[Any], definition: FeedOptions) -> FileStatus:
    number, name, state, size, kept, problem, done, reason = parts
    is_shared = definition.mode == "share"
    readers = [] if is_shared else list(zip(definition.consumers, done, strict=True))
    left = tuple(consumer for consumer, digit in readers if digit != _DONE)
    failed = tuple(consumer for consumer, digit in readers if digit == _FAILED)
    sizes = int(size), int(kept)
    has_failed = _FAILED in done
    return FileStatus(int(number), name, state, *sizes, problem, left, has_failed, failed, reason)
