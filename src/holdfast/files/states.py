"""The status of feeds and of their consumers, and the results of publishing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import msgspec

from ..core.clock import from_epoch_ms
from ..core.names import Unit
from ..core.stored import decoding
from . import keys
from .options import FeedOptions, Mode


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """Describe a file that was published whole.

    Attributes:
        name: name of the file on the feed.
        size: unpacked bytes.
        digest: 32 digits; files with other content have another digest.
        sent: False if the whole file was on the server before.
    """

    name: str
    size: int
    digest: str
    sent: bool


@dataclass(frozen=True, slots=True)
class PublishedFolder:
    """Hold the results of publishing a folder.

    Attributes:
        files: files that were published whole, in order.
        failed: name of each other file → the error that prevented it.
    """

    files: tuple[PublishedFile, ...]
    failed: dict[str, Exception]

    @property
    def size(self) -> int:
        """Return the number of unpacked bytes in `files`."""
        return sum(file.size for file in self.files)


@dataclass(frozen=True, slots=True)
class ConsumerStatus:
    """The progress of a consumer.

    Attributes:
        name: name of the consumer.
        alive: whether it made a call within its lease, or the feed began less than a lease ago.
        expires_at: when the lease ends, or ended.
        files: number of files that the consumer has finished.
        bytes: unpacked bytes of these files, and those read of the current file.
        behind: published bytes that this consumer has not finished; with `share`, that no consumer
            has finished.
        damaged: number of finished files that were damaged.
        missed: number of files that were dropped before the consumer read them.
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
    """The status of a feed.

    Attributes:
        name: name of the feed.
        state: `undefined` (the feed has not begun), `open`, `sealed`, `over` (sealed, and read by
            all consumers) or `aborted`.
        mode: `broadcast` or `share`; None if the feed is undefined.
        budget: bytes of the server's memory that the feed may use.
        used: bytes of the budget in use, as the server estimates them.
        files: number of files that are published or being published.
        publishing: number of files still being published.
        left: number of files that at least one consumer has not finished.
        bytes: unpacked bytes published.
        holders: names of the consumers that still need the oldest stored bytes.
        consumers: the status of each consumer, sorted by name.
        failed: number of files that failed so often that they are not assigned until
            `FileFeed.retry`, counted once for each consumer. `FileFeed.files(failed=True)` lists
            them.
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
        """Return the status in a reply of `status.lua`.

        Raises:
            DecodeError: A stored value is not valid. The error names its key.
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
    """Hold the record of a consumer that the server stores (see `keys.consumers`)."""

    until_ms: int
    files: int
    bytes: int
    damaged: int
    missed: int

    def status(self, name: str, now_ms: int, behind: int) -> ConsumerStatus:
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
