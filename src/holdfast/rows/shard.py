"""Name the keys of one shard, and parse the replies of its scripts. No I/O."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final, NamedTuple

from ..core.names import Unit
from ..core.near.cache import KeyLocation
from ..errors import DecodeError
from ..errors.one_line_logger import logger_of
from . import keys
from .row_ids import id_of

logger: Final = logger_of("holdfast.rows")

CALL_BYTES: Final = 4 << 20
"""Approximate maximum bytes of rows in one call, or in one reply."""


class Shard:
    """Name the keys and channels of one shard.

    Attributes:
        unit: the shard; refreshers follow its notifications.
        load_events: unit that has no keys, only a channel; readers that wait for loads follow its
            notifications.
        place: unit and key prefix of the rows of the shard, for near caches.
    """

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.load_events: Unit = replace(unit, prefix=unit.key("loaded:"))
        self._row = keys.row(unit, "")
        self.place: KeyLocation = KeyLocation(unit, self._row)

    def reading(self, count: int) -> tuple[int, int, int]:
        """Return the arguments of `lua/get_many.lua` for *count* rows."""
        return CALL_BYTES, len(self._row), count

    def rows(self, members: Iterable[str]) -> list[str]:
        """Return the keys of the rows *members*."""
        return [self._row + member for member in members]


class LoadLease(NamedTuple):
    """Hold the right to store rows of one shard.

    Attributes:
        shard: shard of the rows.
        token: token of the lease.
        read_ms: when the lease was assigned, by the server's clock. It counts as the time at which
            the rows were read, which is a little later.
    """

    shard: Shard
    token: bytes
    read_ms: bytes


class DueRows(NamedTuple):
    """Hold due rows that this process has leased.

    Attributes:
        lease: lease of all these rows.
        next_due_ms: milliseconds until another row is due; -1: no row is scheduled.
        members: rows to be loaded.
        unplanned: rows without a stored period, which are to be unscheduled.
    """

    lease: LoadLease
    next_due_ms: int
    members: list[str]
    unplanned: list[str]

    @classmethod
    def of(cls, shard: Shard, reply: list[Any]) -> DueRows:
        """Return the rows in a reply of `lua/claim_due.lua`."""
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
    """Return whether *member* is the id of a row. Log a warning if not: another program wrote
    it."""
    try:
        id_of(member)
    except DecodeError as error:
        logger.warning("a member of %s is not refreshed: %s", keys.due(shard.unit), error)
        return False
    return True


class CommitReply(NamedTuple):
    """Hold the replies to the results of loads.

    Attributes:
        digits: row → `0` refused, `1` stored, `2` unchanged, `3` accepted, but there was no row to
            store.
        next_due_ms: shard → milliseconds until another row is due; -1: no row is scheduled.
    """

    digits: dict[str, str]
    next_due_ms: dict[Shard, int]


class MissingRows(NamedTuple):
    """Hold the reply to a reader that misses rows of one shard.

    Attributes:
        lease: lease of the rows that this reader has to load.
        answers: row → verb (`load`, `newer`, `wait` or `failed`) and its argument, as
            `lua/claim_missing.lua` describes them.
    """

    lease: LoadLease
    answers: dict[str, tuple[str, str]]

    @classmethod
    def of(cls, shard: Shard, members: Iterable[str], reply: list[Any]) -> MissingRows:
        """Return the rows in a reply of `lua/claim_missing.lua`."""
        token, now_ms, *encoded = reply
        answers: dict[str, tuple[str, str]] = {}
        for member, answer in zip(members, encoded, strict=True):
            verb, _, argument = answer.decode(errors="replace").partition(" ")
            answers[member] = (verb, argument)
        return cls(LoadLease(shard, token, now_ms), answers)
