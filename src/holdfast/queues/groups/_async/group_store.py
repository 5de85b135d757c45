"""Stores and reads groups."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec

from ....core._async.caller import AsyncCaller
from ....core.codec import MAX_PAYLOAD_BYTES
from ....core.names import Namespace, Unit
from ....core.script import Script
from ....core.stored import decoding
from ....errors import (
    DecodeError,
    GroupExists,
    PayloadTooLarge,
    QueueAtCapacity,
)
from ... import keys
from ..._async.producer import AsyncProducer
from ...enqueue_batch import EnqueueBatch, Packed, in_batches
from ..nodes import CallNode, GroupNode, encoded_node
from ..status import FIELDS, layout_of, member_result, record_of

CLOSE: Final = Script.load("holdfast.queues", "close_group")
DROP: Final = Script.load("holdfast.queues", "drop_group")
GROUP: Final = Script.load("holdfast.queues", "group")
START: Final = Script.load("holdfast.queues", "start_group")

T = TypeVar("T")

PAGE: Final = 500
"""Members that one call reads at most."""


LEDGER_MS: Final = 3_000_000
"""Milliseconds for which the ledger certainly knows a step; it forgets after one to two hours."""


class AsyncGroupStore:
    """Stores and reads groups.

    Args:
        caller: sends the commands.
        producer: enqueues the members.
        namespace: namespace of the groups and queues.
    """

    def __init__(self, caller: AsyncCaller, producer: AsyncProducer, namespace: Namespace) -> None:
        self._caller = caller
        self._producer = producer
        self._namespace = namespace

    def unit(self, group_id: str) -> Unit:
        """Return the unit of a group."""
        return self._namespace.unit(keys.GROUP, group_id)

    async def check_limits(self, queues: Iterable[str]) -> None:
        """Check *queues*, in which a new group has calls with a limit key.

        Raises:
            ValueError: one of them has partitions. Members of groups are in the first partition,
                and other tasks with the same limit key in the partition of that key. So the limit
                would count them separately.
        """
        for queue in sorted(queues):
            if await self._producer.partitions(queue) > 1:
                raise ValueError(
                    f"queue {queue!r} has partitions, so members of groups there cannot have a "
                    "limit key: it chooses the partition of a task, and members are in the first "
                    "one. Let the member enqueue the limited task, or use another queue"
                )

    async def record(self, group_id: str) -> Mapping[str, str] | None:
        """Return the fields of the record of a group; None if there is none."""
        unit = self.unit(group_id)
        return record_of(group_id, await self._caller.call(GROUP, unit, GROUP.keys(unit), FIELDS))

    async def records(self, group_ids: Sequence[str]) -> dict[str, Mapping[str, str]]:
        """Return the records of those groups that exist.

        Raises:
            ServerUnavailable: not all could be read.
        """
        records = {}
        for page in pages(group_ids, PAGE):
            units = [self.unit(group_id) for group_id in page]
            steps = [(unit, GROUP.keys(unit), FIELDS) for unit in units]
            answers = await self._caller.call_many(GROUP, steps)
            for group_id, answer in zip(page, answers, strict=True):
                if isinstance(answer, Exception):
                    raise answer
                record = record_of(group_id, answer)
                if record is not None:
                    records[group_id] = record
        return records

    async def ends(self, group_id: str, names: Sequence[int | str]) -> list[bytes | None]:
        """Return the entries of members in `group_ends`; None for those that have not ended."""
        unit = self.unit(group_id)
        found: list[bytes | None] = await self._caller.read(
            unit, "HMGET", keys.group_ends(unit), *names
        )
        return found

    async def store(self, node: GroupNode, parent: str) -> bytes:
        """Store a group without its members. Return the reply of `start_group.lua`."""
        unit = self.unit(node.id)
        args = [node.definition, node.life_ms, *_fields(node, parent)]
        found: bytes = await self._caller.call(START, unit, START.keys(unit), args, harmless=True)
        if found == b"other":
            raise GroupExists(node.id)
        return found

    async def fill(self, node: GroupNode, found: bytes, *, checks_room: bool) -> list[str]:
        """Store the members of a group; those of a chain are enqueued later, one after the other.

        Args:
            node: the group.
            found: what `store` returned for it.
            checks_room: whether the queues must have room for the members.

        Returns:
            The ids of the group and of the groups in it, for `begin`.
        """
        started = [node.id]
        if not node.sequential:
            if found != b"closed":
                await self._enqueue(node, found, checks_room=checks_room)
            for i, member in enumerate(node.members):
                if isinstance(member, GroupNode):
                    inner = await self.store(member, f"{node.id} {i}")
                    started += await self.fill(member, inner, checks_room=checks_room)
        return started

    async def close(self, group_id: str) -> bytes:
        """Note that all members of a group are stored. Return the state of the group."""
        unit = self.unit(group_id)
        state: bytes = await self._caller.call(CLOSE, unit, CLOSE.keys(unit), [], harmless=True)
        return state

    async def _enqueue(self, node: GroupNode, found: bytes, *, checks_room: bool) -> None:
        """Enqueue the members that are calls.

        Repeated steps are the same ones, so the ledger recognizes them for an hour at least. After
        that, a member that has ended is left out: its queue has forgotten it, and would run it
        again.
        """
        stored, age_ms = 0, int(found.partition(b" ")[2] or 0)
        for batch in _batches(node):
            tasks = batch.tasks
            if age_ms > LEDGER_MS:
                names = [task[0].rpartition("/")[2] for task in tasks]
                entries = await self.ends(node.id, names)
                tasks = [task for task, end in zip(tasks, entries, strict=True) if end is None]
            if not tasks:
                continue
            writer = f"~group~{tasks[0][0]}:{len(tasks)}"
            room = batch.room if checks_room else 0
            try:
                await self._producer.store(batch.queue, writer, 1, tasks, room, stored)
            except QueueAtCapacity:
                if found == b"new" and not stored:
                    await self._drop(node.id)
                raise
            stored += len(tasks)

    async def _drop(self, group_id: str) -> None:
        """Remove a group without members."""
        unit = self.unit(group_id)
        await self._caller.call(DROP, unit, DROP.keys(unit), [], harmless=True)

    async def result_before(self, group_id: str, name: str, payload: bytes) -> Any:
        """Return the result of what ran before the call *name*; *payload* is that of the previous
        member.

        Raises:
            DecodeError: the result was not stored, or another program has changed it.
        """
        record = await self.record(group_id)
        if record is None or record["kind"] == "group":
            return await self.results(group_id)
        if name in ("then", "failure"):
            [entry] = await self.ends(group_id, [int(record["total"]) - 1])
            payload = entry.split(b" ", 2)[2] if has_ended(entry) and entry else b""
        if name != "failure" and payload[:1] != b"=":
            reason = payload.removeprefix(b"!").decode(errors="replace")
            raise DecodeError(f"the result before {name!r}", reason or "it is missing")
        return msgspec.json.decode(payload[1:]) if payload[:1] == b"=" else None

    async def results(self, group_id: str) -> list[Any]:
        """Return the results of all members; None for each that has none.

        Raises:
            PayloadTooLarge: they are over the limit.
        """
        record = await self.record(group_id)
        if record is None:
            return []
        layout, results, size = layout_of(group_id, record), list[Any](), 0
        for page in pages(range(layout.total), PAGE):
            entries = await self.ends(group_id, page)
            for index, entry in zip(page, entries, strict=True):
                size += len(entry or b"")
                results.append(member_result(group_id, layout, index, entry).value)
            if size > MAX_PAYLOAD_BYTES + 64 * len(results):
                raise PayloadTooLarge(f"the results of group {group_id!r}", size, MAX_PAYLOAD_BYTES)
        return results


def pages(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield *values* in pages of *size*."""
    for start in range(0, len(values), size):
        yield values[start : start + size]


def has_ended(entry: bytes | None) -> bool:
    """Return whether a member with this entry in `group_ends` has ended.

    Raises:
        DecodeError: another program has changed the entry.
    """
    with decoding("how a member of a group has ended"):
        return entry is not None and entry.split(b" ", 2)[1] != b"waiting"


def _fields(node: GroupNode, parent: str) -> Iterator[str | bytes | int]:
    """Yield the fields of a new group, as `start_group.lua` reads them."""
    queues, places = node.layout
    yield from ("kind", "chain" if node.sequential else "group", "state", "running")
    yield from ("total", len(node.members), "max_failures", node.max_failures)
    yield from ("kept_ms", node.kept_ms, "parent", parent)
    yield from ("queues", json.dumps(queues), "layout", places)
    for name, callback in (("then", node.then), ("failure", node.on_failure)):
        if callback is not None:
            yield from (name, "waiting", f"call {name}", encoded_node(callback))
    if node.sequential:
        for i, member in enumerate(node.members):
            yield from (f"call {i}", encoded_node(member))


def _batches(node: GroupNode) -> Iterable[EnqueueBatch]:
    """Return the members that are calls, in batches for each queue."""
    by_queue: dict[str, list[tuple[Packed, int]]] = {}
    for member in node.members:
        if isinstance(member, CallNode):
            by_queue.setdefault(member.queue, []).append((member.packed, member.size))
    for queue, tasks in by_queue.items():
        yield from in_batches(queue, tasks)
