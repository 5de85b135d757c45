"""One shard, and what it answers: no I/O."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final, NamedTuple

from ..core.names import Unit
from ..errors import DecodeError
from ..errors.records import logger_of
from . import keys
from .row_ids import id_of

logger: Final = logger_of("holdfast.rows")

CALL_BYTES: Final = 4 << 20
"""What the rows of one call, or of one answer, may take."""


class Shard:
    """One shard, and where its rows lie.

    Attributes:
        unit: the shard.
        arrivals: what those follow who wait for its rows; its refreshers follow the shard itself.
    """

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.load_events = replace(unit, prefix=unit.key("loaded:"))  # a channel, and no key
        self.due, self.plan = keys.due(unit), keys.plan(unit)
        self.loads, self.failures = keys.loads(unit), keys.failures(unit)
        self._row = keys.row(unit, "")

    def reading(self, count: int) -> tuple[int, int, int]:
        """What `lua/get_many.lua` is told of so many rows besides their keys."""
        return CALL_BYTES, len(self._row), count

    def rows(self, members: Iterable[str]) -> list[str]:
        """The keys of rows."""
        return [self._row + member for member in members]


class LoadLease(NamedTuple):
    """The right to store what is loaded.

    Attributes:
        shard: of the rows.
        token: which lease.
        read_ms: when it was given, by the server's clock: the rows are read after that.
    """

    shard: Shard
    token: bytes
    read_ms: bytes


class DueRows(NamedTuple):
    """Rows that were due, and are leased now.

    Attributes:
        lease: of all of them.
        wait_ms: until another row is due; -1: none is scheduled.
        members: those to be loaded.
        lost: those for which nothing is planned any more.
    """

    lease: LoadLease
    next_due_ms: int
    members: list[str]
    unplanned: list[str]

    @classmethod
    def of(cls, shard: Shard, reply: list[Any]) -> DueRows:
        """From the answer of `lua/claim_due.lua`."""
        token, now_ms, next_due_ms, *claimed = reply
        pairs = [
            pair
            for pair in zip(claimed[::2], claimed[1::2], strict=True)
            if _is_row(pair[0], shard)
        ]
        return cls(
            LoadLease(shard, token, now_ms),
            int(next_due_ms),
            [member.decode() for member, planned in pairs if planned],
            [member.decode() for member, planned in pairs if not planned],
        )


def _is_row(member: bytes, shard: Shard) -> bool:
    """Return whether *member* is the id of a row. Another program may have added others."""
    try:
        id_of(member)
    except DecodeError as error:
        logger.warning("it is not refreshed, and stays in %s: %s", shard.due, error)
        return False
    return True


class CommitReply(NamedTuple):
    """What came of storing rows.

    Attributes:
        digits: by row: `0` refused, `1` stored, `2` it was so before, `3` something else.
        waits_ms: by shard, until another row is due; -1: none is scheduled.
    """

    digits: dict[str, str]
    next_due_ms: dict[Shard, int]


class MissingRows(NamedTuple):
    """What a reader is told who misses rows.

    Attributes:
        lease: of those that it has to load.
        words: by row: `load`, `look`, `wait` or `failed`, and what belongs to it.
    """

    lease: LoadLease
    answers: dict[str, tuple[str, str]]

    @classmethod
    def of(cls, shard: Shard, members: Iterable[str], reply: list[Any]) -> MissingRows:
        """From the answer of `lua/claim_missing.lua`."""
        token, now_ms, *said = reply
        answers: dict[str, tuple[str, str]] = {}
        for member, word in zip(members, said, strict=True):
            verb, _, rest = word.decode(errors="replace").partition(" ")
            answers[member] = (verb, rest)
        return cls(LoadLease(shard, token, now_ms), answers)
