"""A task that a worker holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

MAX_CRASHES: Final = 3
"""A task is dead-lettered when this many workers have vanished during its attempts."""

_FIELDS: Final = 6


class Claim(msgspec.Struct, frozen=True, eq=False):
    """A task that a worker has claimed, as the reply of a step (`step.lua`) describes it.

    Attributes:
        key: id of the task as it is stored; other programs may choose ids that are not UTF-8.
        token: number that grows with every claim; a settlement must present it.
        attempt: number of this attempt, from 1 on; a claim that was released does not count.
        crashes: earlier attempts during which the worker vanished.
        snoozes: how often the task has asked to run later.
        body: the envelope, not decoded yet.
        has_steps: whether an earlier claim has stored steps of the task.
    """

    key: bytes
    token: int
    attempt: int
    crashes: int
    snoozes: int
    body: bytes
    has_steps: bool = False

    @classmethod
    def parsed(cls, values: Sequence[Any], stepped: Sequence[bytes]) -> Iterator[Claim]:
        """Yield the claims in the reply of `step.lua`; the tasks *stepped* have stored steps."""
        for i in range(0, len(values), _FIELDS):
            key, token, attempt, crashes, snoozes, body = values[i : i + _FIELDS]
            yield cls(key, int(token), attempt, crashes, snoozes, body, key in stepped)

    @property
    def identity(self) -> tuple[bytes, int]:
        """Return the id and the token, which no other claim of the queue has."""
        return self.key, self.token

    @property
    def task_id(self) -> str:
        """Return the id for logs and for the task itself."""
        return self.key.decode(errors="backslashreplace")

    @property
    def is_poison(self) -> bool:
        """Return whether the next crash dead-letters the task."""
        return self.crashes >= MAX_CRASHES - 1

    @property
    def failures(self) -> int:
        """Return the number of earlier attempts that raised."""
        return self.attempt - self.crashes - 1
