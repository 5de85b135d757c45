"""What is told of one file of a feed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from .definition import Definition

_PARTS: Final = 7
"""Of each file in what `lua/listed.lua` answers."""


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
    """

    number: int
    name: str
    state: Literal["open", "whole", "damaged"]
    bytes: int
    kept: int
    problem: str
    waits_for: tuple[str, ...]


def file_statuses(reply: Sequence[Any]) -> list[FileStatus]:
    """What `lua/listed.lua` answers."""
    if not reply:
        return []
    definition = Definition.parse(reply[0])
    flat = [part.decode(errors="replace") for part in reply[1:]]
    return [_told(flat[i : i + _PARTS], definition) for i in range(0, len(flat), _PARTS)]


def _told(parts: Sequence[Any], definition: Definition) -> FileStatus:
    number, name, state, size, kept, problem, done = parts
    left: tuple[str, ...] = ()
    if definition.mode == "broadcast":
        readers = zip(definition.consumers, done, strict=True)
        left = tuple(consumer for consumer, digit in readers if digit == "0")
    return FileStatus(int(number), name, state, int(size), int(kept), problem, left)
