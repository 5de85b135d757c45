"""What is told of feeds and files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import msgspec

from ..core.clock import from_epoch_ms
from ..core.damage import decoding
from ..core.names import Unit
from . import keys
from .options import FeedOptions, Mode


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """A file that is published whole.

    Attributes:
        name: on the feed.
        size: bytes, unpacked.
        digest: tells content from other content, in 32 digits.
        sent: False when all of it was there already.
    """

    name: str
    size: int
    digest: str
    sent: bool


@dataclass(frozen=True, slots=True)
class PublishedFolder:
    """What became of the files of a folder.

    Attributes:
        files: those that are published whole, in order.
        failed: the others by name, each with what stood in the way.
    """

    files: tuple[PublishedFile, ...]
    failed: dict[str, Exception]

    @property
    def size(self) -> int:
        """Bytes that are published, unpacked."""
        return sum(file.size for file in self.files)


@dataclass(frozen=True, slots=True)
class ConsumerStatus:
    """How far a consumer is.

    Attributes:
        name: whose status it is.
        alive: whether it showed a sign of life within its lease, or may still come.
        expires_at: when the lease ends, or ended.
        files: how many it is done with, in `share` of those that it got.
        bytes: of them, unpacked; of the file it reads what it has read.
        behind: bytes that are published, and that it is not done with; in `share` nobody.
        damaged: of its files, those that were damaged.
        missed: files that were dropped before it came for them.
    """

    name: str
    alive: bool
    expires_at: datetime
    files: int
    bytes: int
    behind: int
    damaged: int
    missed: int


@dataclass(frozen=True, slots=True)
class FeedStatus:
    """How a feed stands.

    Attributes:
        name: of the feed.
        state: `undefined` (nobody has begun it), `open`, `sealed`, `over` (sealed, and read by
            everybody) or `aborted`.
        mode: `broadcast` or `share`; None when it is undefined.
        budget: bytes of memory that it may use.
        used: bytes that it uses, as far as they count.
        files: how many were begun.
        publishing: of these, how many are not published whole.
        left: how many somebody has still to read.
        bytes: published, unpacked.
        holders: consumers that need the oldest bytes that are kept.
        consumers: each of them, by name.
        failed: files that failed so often that they are not handed out until `FileFeed.retry`,
            counted once for each consumer; `FileFeed.files(failed=True)` lists them.
    """

    name: str
    state: Literal["undefined", "open", "sealed", "over", "aborted"]
    mode: Mode | None = None
    budget: int = 0
    used: int = 0
    files: int = 0
    publishing: int = 0
    left: int = 0
    bytes: int = 0
    holders: tuple[str, ...] = ()
    consumers: tuple[ConsumerStatus, ...] = ()
    failed: int = 0

    @classmethod
    def parse(cls, unit: Unit, reply: Sequence[Any]) -> FeedStatus:
        """Return what `status.lua` answers.

        Raises:
            DecodeError: Another program changed a value. The error names the key.
        """
        if not reply:
            return cls(unit.name, "undefined")
        with decoding(keys.meta(unit)):
            return cls._parsed(unit, reply)

    @classmethod
    def _parsed(cls, unit: Unit, reply: Sequence[Any]) -> FeedStatus:
        definition = FeedOptions.parse(reply[0], keys.meta(unit))
        bytes_, now_ms = int(reply[5]), int(reply[8])
        behind = [max(0, bytes_ - int(done)) for done in reply[11]]
        found = []
        with decoding(keys.consumers(unit)):
            for who, packed in sorted(zip(reply[10][::2], reply[10][1::2], strict=True)):
                consumer = who.decode()
                group = 0
                if definition.mode == "broadcast":
                    group = definition.consumers.index(consumer)
                record = msgspec.msgpack.decode(packed, type=_Record)
                found.append(record.status(consumer, now_ms, behind[group]))
        return cls(
            unit.name,
            reply[2].decode(),
            definition.mode,
            definition.budget,
            int(reply[3]),
            int(reply[6]),
            int(reply[7]),
            int(reply[4]),
            bytes_,
            tuple(sorted({who.decode() for who in reply[9]} - {""})),
            tuple(found),
            int(reply[12]),
        )


class _Record(msgspec.Struct):
    """What the server keeps of a consumer."""

    until_ms: int
    files: int
    bytes: int
    damaged: int
    missed: int

    def status(self, name: str, now_ms: int, behind: int) -> ConsumerStatus:
        """As it is told."""
        return ConsumerStatus(
            name,
            self.until_ms > now_ms,
            from_epoch_ms(self.until_ms),
            self.files,
            self.bytes,
            behind,
            self.damaged,
            self.missed,
        )
