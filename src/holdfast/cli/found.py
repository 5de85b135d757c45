"""Queues by name: one that nobody has ever used is a typing error."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING, NoReturn

from .codes import NOT_FOUND
from .connection import fail

if TYPE_CHECKING:
    from .. import Holdfast, QueueStats


def found_stats(hf: Holdfast, queue: str) -> QueueStats:
    """How many tasks of *queue* are where; ends the command if nobody has ever used it."""
    stats = hf.queue(queue).stats()
    if not is_used(hf, queue, stats):
        not_found(hf, queue)
    return stats


def is_used(hf: Holdfast, queue: str, stats: QueueStats) -> bool:
    """Whether anybody has put a task into *queue*, waits at it, or has paused it or limited it."""
    # The list of names may lack one: it is bounded, and other languages need not write it.
    from .. import QueueStats

    return stats != QueueStats(0, 0, 0, 0, 0) or queue in hf.queues()


def not_found(hf: Holdfast, queue: str) -> NoReturn:
    """End the command, and say which queues have a name like that."""
    fail(
        f"there is no queue {queue!r} in namespace {hf.namespace!r}{like(queue, hf.queues())}",
        code=NOT_FOUND,
    )


def like(name: str, names: Iterable[str]) -> str:
    """A question that ends a sentence, such as `; did you mean 'email'?`, or nothing."""
    close = " or ".join(map(repr, get_close_matches(name, list(names))))
    return f"; did you mean {close}?" if close else ""
