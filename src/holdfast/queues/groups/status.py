"""The status of a group and the results of its members, parsed from its record."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Generic, Literal, TypeVar

import msgspec

from ...core.clock import MAX_MS, Duration, from_epoch_ms, to_ms
from ...core.codec import JSON, decoded
from ...core.names import plain_text
from ...core.stored import decoding, stored_int
from ...errors import InvalidName
from .members import MAX_MEMBERS
from .nodes import FIRST_QUEUE, NESTED

R = TypeVar("R")

GroupState = Literal["running", "done", "failed", "cancelled"]
CallbackState = Literal["", "waiting", "due", "called", "done", "dead", "cancelled"]
MemberState = Literal["waiting", "done", "dead", "cancelled"]

FIELDS: Final = (
    "kind", "total", "done", "dead", "cancelled", "state", "then", "failure", "max_failures",
    "closed", "created_ms", "ended_ms", "until_ms", "queues", "layout", "started", "parent",
)  # fmt: skip
"""The fields of the record that a status needs."""

_GROUP_ID: Final = re.compile(r"[A-Za-z0-9_.@+=,~:%-]{1,100}")


@dataclass(frozen=True, slots=True)
class GroupStatus:
    """The status of a group at the moment of the call.

    Attributes:
        group_id: id of the group.
        kind: `group` or `chain`.
        state: `running`; `done`: all members have ended, and not too many have failed; `failed`:
            more than *max_failures* members have failed, some may still run; or `cancelled`.
        total: how many members it has.
        waiting: members that have not ended.
        done: members that have succeeded.
        dead: members that are dead.
        cancelled: members that were cancelled or purged.
        max_failures: how many members may be dead or cancelled.
        complete: whether all members were enqueued. Until then the producer is at work, or died.
        then: state of the callback: `waiting`, `due` (it is being enqueued), `called` (it was
            enqueued), `done`, `dead` or `cancelled`; empty if there is none.
        on_failure: state of the callback for too many failures, with the same values.
        queues: the queues of its members.
        parent: id of the group that it is a member of; empty if there is none.
        created_at: when it was stored.
        ended_at: since when it is not running.
        expires_at: when it is removed, as of now: `result_ttl` after the end of a group that is
            done or cancelled, otherwise at the end of its `lifetime`.
    """

    group_id: str
    kind: Literal["group", "chain"]
    state: GroupState
    total: int
    waiting: int
    done: int
    dead: int
    cancelled: int
    max_failures: int
    complete: bool
    then: CallbackState
    on_failure: CallbackState
    queues: tuple[str, ...]
    parent: str
    created_at: datetime
    ended_at: datetime | None
    expires_at: datetime

    @property
    def failures(self) -> int:
        """Return how many members are dead or cancelled."""
        return self.dead + self.cancelled


@dataclass(frozen=True, slots=True)
class MemberResult(Generic[R]):
    """How one member of a group has ended.

    Attributes:
        index: its position in the group, from 0.
        task_id: id of its task; of a nested group, the id of that.
        queue: the queue of its task; empty for a nested group.
        state: `waiting`, `done`, `dead` or `cancelled`.
        value: what it returned; None if it is not done, or its result could not be stored.
        reason: why it is dead, or why its result could not be stored.
    """

    index: int
    task_id: str
    queue: str
    state: MemberState
    value: R | None = None
    reason: str = ""


class Layout(msgspec.Struct, frozen=True):
    """Where the members of a group are.

    Attributes:
        queues: names of the queues.
        places: for each member the index of its queue; empty if all are in the first queue.
        total: number of members.
        is_chain: whether they run one after the other.
    """

    queues: list[str]
    places: str
    total: int
    is_chain: bool = False

    def queue_of(self, index: int) -> str:
        """Return the queue of a member; empty if it is a group.

        Raises:
            DecodeError: another program has changed the record.
        """
        with decoding("where the members of a group are"):
            place = self.places[index] if self.places else chr(FIRST_QUEUE)
            return "" if place == NESTED else self.queues[ord(place) - FIRST_QUEUE]


def record_of(group_id: str, found: Sequence[bytes | None]) -> Mapping[str, str] | None:
    """Return the values of `FIELDS` by name, empty if not set; None if there is no group.

    The value `expires_ms` is when the server removes the group.

    Raises:
        DecodeError: another program has changed the record.
    """
    if found[0] is None:
        return None
    with decoding(f"the record of group {group_id!r}"):
        return {
            name: "" if value is None else value.decode()
            for name, value in zip((*FIELDS, "expires_ms"), found, strict=True)
        }


def layout_of(group_id: str, record: Mapping[str, str]) -> Layout:
    """Return where the members are, from a record.

    Raises:
        DecodeError: another program has changed the record.
    """
    with decoding(f"the record of group {group_id!r}"):
        queues = json.loads(record["queues"])
        is_chain = record["kind"] == "chain"
        total = stored_int(record["total"].encode(), "total", 0, MAX_MEMBERS)
        return Layout(queues, record["layout"], total, is_chain)


def status_of(group_id: str, record: Mapping[str, str]) -> GroupStatus:
    """Return the status of a group, from its record.

    Raises:
        DecodeError: another program has changed the record.
    """
    with decoding(f"the record of group {group_id!r}"):
        total, done, dead, cancelled = (
            int(record[name] or 0) for name in ("total", "done", "dead", "cancelled")
        )
        return GroupStatus(
            group_id,
            record["kind"],  # type: ignore[arg-type]
            record["state"],  # type: ignore[arg-type]
            total,
            total - done - dead - cancelled,
            done,
            dead,
            cancelled,
            int(record["max_failures"] or 0),
            record["closed"] == "1",
            record["then"],  # type: ignore[arg-type]
            record["failure"],  # type: ignore[arg-type]
            tuple(json.loads(record["queues"])),
            record["parent"].partition(" ")[0],
            _instant(record["created_ms"]),
            _instant(record["ended_ms"]) if record["ended_ms"] not in ("", "0") else None,
            _instant(record["until_ms" if record["expires_ms"] == "-1" else "expires_ms"]),
        )


def _instant(epoch_ms: str) -> datetime:
    return from_epoch_ms(stored_int(epoch_ms.encode(), "an instant", 0, MAX_MS))


def member_result(
    group_id: str, layout: Layout, index: int, entry: bytes | None
) -> MemberResult[Any]:
    """Return how a member has ended, from its entry in `group_ends`.

    Raises:
        DecodeError: another program has changed the entry.
    """
    task_id, what = f"{group_id}/{index}", f"the result of member {index} of group {group_id!r}"
    queue = layout.queue_of(index)
    if entry is None:
        return MemberResult(index, task_id, queue, "waiting")
    with decoding(what):
        _, state, payload = entry.split(b" ", 2)
        name: Any = state.decode()
    if name == "done" and payload[:1] == b"=":
        return MemberResult(index, task_id, queue, name, decoded(JSON, payload[1:], Any, what))
    reason = payload.removeprefix(b"!").decode(errors="replace")
    return MemberResult(index, task_id, queue, name, reason=reason)


@dataclass(frozen=True, slots=True)
class GroupOptions:
    """The options of `enqueue_group` that concern the whole group.

    Attributes:
        kept_ms: how long it is kept after its end.
        life_ms: how long it may take.
        group_id: its id; None: one is made.
    """

    kept_ms: int
    life_ms: int
    group_id: str | None

    @classmethod
    def checked(
        cls, result_ttl: Duration, lifetime: Duration, group_id: str | None
    ) -> GroupOptions:
        """Return the options, or raise why one is not allowed."""
        kept_ms, life_ms = to_ms(result_ttl, "result_ttl"), to_ms(lifetime, "lifetime")
        if group_id is not None:
            group_id = checked_group_id(group_id)
        return cls(kept_ms, life_ms, group_id)


def checked_group_id(group_id: str) -> str:
    """Return *group_id*, or raise why it is not allowed."""
    if not isinstance(group_id, str):
        raise TypeError(f"a group_id must be a str, got {type(group_id).__name__}")
    if not _GROUP_ID.fullmatch(group_id):
        raise InvalidName(
            group_id, "a group_id has 1 to 100 letters, digits and signs of _ . @ + = , ~ : % -"
        )
    return plain_text(group_id)
