"""`DelayedKey`: a limit key with tasks that wait until it has room."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from urllib.parse import unquote

from ..core.clock import MAX_MS, from_epoch_ms
from ..core.stored import decoding

_FIELDS: Final = 7


@dataclass(frozen=True, slots=True)
class DelayedKey:
    """A limit key (see `PerKey`) with tasks that wait until it has room.

    Attributes:
        name: name of the limit: by default the name of the task.
        key: the key; one that is long is shown as a digest.
        waiting: tasks that wait until the key has room.
        ready: tasks that have a permit, and wait for a worker or for the rate.
        running: tasks that run.
        concurrency: how many tasks of the key may run at once; None: no limit.
        rate: how many may start in how many seconds; None: no limit.
        paused_until: no task of the key starts before; None: it is not paused.
        oldest_at: when the next waiting task was enqueued, by its producer's clock; None: unknown.
    """

    name: str
    key: str
    waiting: int
    ready: int
    running: int
    concurrency: int | None = None
    rate: tuple[int, float] | None = None
    paused_until: datetime | None = None
    oldest_at: datetime | None = None


def delayed_keys(reply: Sequence[Any]) -> Iterator[DelayedKey]:
    """Yield the keys in a reply of `delayed_keys.lua`, without its first value."""
    for i in range(0, len(reply), _FIELDS):
        name, definition, waiting, ready, running, paused_ms, queued_ms = reply[i : i + _FIELDS]
        with decoding(f"the limit key {name!r}"):
            limit, _, key = name.decode().partition(" ")
            numbers = [int(each) for each in (definition or b"0 0 0 0").split(b" ")]
            concurrency, amount, per_ms = numbers[:3]
            yield DelayedKey(
                unquote(limit),
                unquote(key),
                waiting,
                ready,
                running,
                concurrency or None,
                (amount, per_ms / 1000) if amount else None,
                _instant(paused_ms),
                _instant(queued_ms),
            )


def _instant(epoch_ms: bytes) -> datetime | None:
    ms = int(epoch_ms)
    return from_epoch_ms(ms) if 0 < ms < MAX_MS else None
