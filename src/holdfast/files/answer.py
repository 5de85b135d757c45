"""What the server says to chunks that it is sent."""

from __future__ import annotations

from typing import Any

import msgspec


class Answer(msgspec.Struct, frozen=True):
    """What `put.lua` says: the verdict, and how the file stands."""

    verdict: bytes
    epoch: bytes
    room: int
    size: int
    state: bytes
    count: int
    digest: bytes

    @classmethod
    def of(cls, reply: Any) -> Answer:
        """The answer in a reply that is no refusal."""
        verdict, epoch, room, _, size, state, count, digest = reply
        return cls(verdict, epoch, int(room), int(size), state, int(count), digest)
