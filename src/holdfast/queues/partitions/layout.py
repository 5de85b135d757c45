"""The layout of a queue: how many partitions it has.

A partition is a queue of its own, in another hash slot. The first one is the queue itself, and the
others are called `NAME/1`, `NAME/2` and so on. The queue stores its layout in its settings, and the
other partitions store the version of the layout. A script refuses a producer that knows an earlier
version (see `lua/parts/placement.lua`), so no task is put where no worker looks.

When the number of partitions changes, the tasks stay where they are. A later task with the same
unique key or limit key goes to the partition of the earlier tasks, as long as they use the key. To
find it, the producer first asks the partitions that the earlier layouts (`earlier`) would choose.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ...core.checks import checked_int
from ...errors import DecodeError

MAX_PARTITIONS: Final = 256

_LAYOUT: Final = re.compile(r"(\d+) (\d+) (\d+)((?: \d+:\d+:\d+)*)")


class PartOfQueue(ValueError):
    """A task names a partition in place of its queue."""


@dataclass(frozen=True, slots=True)
class EarlierLayout:
    """A layout that has been replaced.

    Attributes:
        version: its version.
        partitions: how many partitions took tasks.
        until_ms: when it was replaced, in ms since 1970.
    """

    version: int
    partitions: int
    until_ms: int


@dataclass(frozen=True, slots=True)
class QueueLayout:
    """How many partitions a queue has.

    Attributes:
        version: grows with each change; 0 for a queue that never had partitions.
        partitions: how many partitions take tasks.
        served: how many partitions workers serve. Those beyond *partitions* take no new tasks, and
            may still have earlier ones.
        earlier: the layouts before this one, the earliest first.
        is_part: whether this is a partition of another queue, which knows only the version.
    """

    version: int = 0
    partitions: int = 1
    served: int = 1
    earlier: tuple[EarlierLayout, ...] = ()
    is_part: bool = False

    @classmethod
    def parsed(cls, text: bytes | None, queue: str) -> QueueLayout:
        """Return the layout from the settings of *queue*; None: it never had partitions.

        Raises:
            DecodeError: another program changed it.
        """
        if text is None:
            return UNPARTITIONED
        if text.isdigit():
            return cls(int(text), is_part=True)
        found = _LAYOUT.fullmatch(text.decode(errors="replace"))
        if found is None or not 0 < int(found[2]) <= int(found[3]) <= MAX_PARTITIONS:
            raise DecodeError(f"the layout of queue {queue!r}", f"it is {text[:100]!r}")
        earlier = [EarlierLayout(*map(int, each.split(":"))) for each in found[4].split()]
        return cls(int(found[1]), int(found[2]), int(found[3]), tuple(earlier))

    def check_whole(self, queue: str) -> None:
        """Raise `PartOfQueue` if *queue* is a partition of another one."""
        if self.is_part:
            whole = queue.rpartition("/")[0]
            raise PartOfQueue(f"queue {queue!r} is a partition of queue {whole!r}: use that name")


UNPARTITIONED: Final = QueueLayout()


def partition_name(queue: str, index: int) -> str:
    """Return the name of a partition: the first one has the name of the queue."""
    return f"{queue}/{index}" if index else queue


def checked_partitions(partitions: int) -> int:
    """Return *partitions*, or raise why there cannot be so many."""
    return checked_int(partitions, "partitions", 1, MAX_PARTITIONS)


def share(total: int, index: int, count: int) -> int:
    """Return what the partition *index* of *count* gets of *total*. The sum of all is *total*."""
    return total // count + (1 if index < total % count else 0)
