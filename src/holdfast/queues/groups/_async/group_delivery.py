"""Count the ends of members of groups, and enqueue the calls that follow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ....core import ledger
from ....core._async.caller import Argument, AsyncCaller, Step
from ....core._async.catalog import AsyncCatalog
from ....core.clock import since_boot
from ....core.codec import JSON, encoded
from ....core.names import Namespace
from ....core.script import Script
from ....core.stored import decoding
from ....errors import DecodeError, PayloadTooLarge, ServerUnavailable
from ... import keys
from ..._async.handle import CANCEL, CANCELLED_KEPT_MS
from ..nodes import CallNode, GroupNode, Node, decoded_node, uses_result
from ..status import Layout, layout_of
from ..work import CarryOut, CountEnds, MarkCalled, MemberEnd, Work, begin
from .group_store import AsyncGroupStore, has_ended, pages

CALL: Final = Script.load("holdfast.queues", "call_once")
CANCEL_GROUP: Final = Script.load("holdfast.queues", "cancel_group")
COUNT: Final = Script.load("holdfast.queues", "count_ends")
FORGET: Final = Script.load("holdfast.queues", "forget_call")
MARK: Final = Script.load("holdfast.queues", "mark_called")

CANCELS: Final = 200
"""Maximum number of members that are cancelled at the same time."""

_CALL_KEPT_MS: Final = 3_600_000
"""Milliseconds for which the queue remembers that a group has enqueued a task, once the group has
noted it, too."""


class AsyncGroupDelivery:
    """Counts the ends of members in their groups, and enqueues the calls that are due then.

    Each step can be repeated, because it checks what is done already. So if a process dies between
    two steps, the next producer that repeats the call, or the next relay, continues.

    Args:
        store: stores and reads the groups.
        caller: sends the commands.
        catalog: registers the groups and queues in use.
        namespace: namespace of the groups and queues.
    """

    def __init__(
        self,
        store: AsyncGroupStore,
        caller: AsyncCaller,
        catalog: AsyncCatalog,
        namespace: Namespace,
    ) -> None:
        self.store = store
        self._caller = caller
        self._catalog = catalog
        self._namespace = namespace

    async def create(self, node: GroupNode) -> bool:
        """Store a group and enqueue its members. Return whether it did not exist.

        Raises:
            GroupExists: another group has the id.
            QueueAtCapacity: a queue has no room for its members.
        """
        found = await self.store.store(node, "")
        try:
            await self._catalog.note(self.store.unit(node.id))
            if found != b"closed":
                started = await self.store.fill(node, found, checks_room=True)
                await self.deliver(begin(started))
        except ServerUnavailable as error:
            raise ledger.partly(error, "the group is stored, members may be missing") from error
        return found == b"new"

    async def count(self, group_id: str, ends: Sequence[MemberEnd]) -> None:
        """Count *ends* of members of a group, and enqueue the calls that are due then."""
        await self.deliver([CountEnds(group_id, ends)])

    async def deliver(self, work: Sequence[Work]) -> None:
        """Do each item of *work*, followed by the work that it causes."""
        stack: list[Work] = [*reversed(work)]
        while stack:
            item = stack.pop()
            if isinstance(item, CountEnds):
                stack += reversed(await self._count(item))
            elif isinstance(item, CarryOut):
                stack += reversed(await self._carry_out(item))
            elif isinstance(item, MarkCalled):
                await self._mark(item)
            elif await self.store.close(item.group_id) == b"cancelled":
                await self.cancel(item.group_id)  # members may have been enqueued since

    async def cancel(self, group_id: str) -> bool:
        """Cancel a group and its members. Return whether it is cancelled; False: it had ended."""
        unit = self.store.unit(group_id)
        args = [unit.channel]
        state = await self._caller.call(
            CANCEL_GROUP, unit, CANCEL_GROUP.keys(unit), args, harmless=True
        )
        record = await self.store.record(group_id)
        if state != b"cancelled" or record is None:
            return False
        layout = layout_of(group_id, record)
        # The ledger has an entry for each writer. So all pages use the same writers, one for each
        # member of a page.
        writers = [ledger.new_writer() for _ in range(min(CANCELS, layout.total))]
        for number, page in enumerate(pages(range(layout.total), CANCELS), start=1):
            entries = await self.store.ends(group_id, page)
            left = [i for i, entry in zip(page, entries, strict=True) if not has_ended(entry)]
            await self._cancel_members(group_id, layout, left, writers, number)
        await self.count(group_id, ())
        return True

    async def _cancel_members(
        self,
        group_id: str,
        layout: Layout,
        members: Sequence[int],
        writers: Sequence[str],
        number: int,
    ) -> None:
        """Cancel *members*. Each operation has a writer of its own, and this *number*."""
        steps = []
        nested = []
        for index, writer in zip(members, writers, strict=False):
            own_id, queue = f"{group_id}/{index}", layout.queue_of(index)
            if queue:
                steps.append(self._cancel_step(queue, own_id, writer, number))
            else:
                nested.append(own_id)
        for answer in await self._caller.call_many(CANCEL, steps, harmless=True):
            if isinstance(answer, Exception):
                raise answer
        for own_id in nested:
            await self.cancel(own_id)

    def _cancel_step(self, queue: str, task_id: str, writer: str, number: int) -> Step:
        unit = self._namespace.unit(keys.KIND, queue)
        names = CANCEL.keys(unit, keys.result(unit, task_id), keys.events(unit, task_id))
        return unit, names, [writer, number, task_id, CANCELLED_KEPT_MS]

    async def _count(self, count: CountEnds) -> list[CarryOut]:
        unit = self.store.unit(count.group_id)
        args: list[Argument] = [unit.channel]
        for end in count.ends:
            args += end
        reply = await self._caller.call(COUNT, unit, COUNT.keys(unit), args, harmless=True)
        if len(reply) == 1:  # the group has expired
            return []
        now = since_boot()
        return [CarryOut(count.group_id, values, now) for values in pages(reply, 4)]

    async def _carry_out(self, due: CarryOut) -> Sequence[Work]:
        """Enqueue the call, or make the report, that is *due*. Return the work that follows."""
        # Another relay may have done this long ago, so that the queue has forgotten it: ask again.
        if since_boot() - due.found_at > _CALL_KEPT_MS / 2000:
            return [CountEnds(due.group_id, ())]
        kind, name, stored, payload = due.values
        group_id, own_name = due.group_id, name.decode()
        if kind == b"report":
            return await self._report(group_id, own_name, stored, payload)
        try:
            node = decoded_node(stored, f"what group {group_id!r} calls")
            if uses_result(node):
                node = node.with_result(await self.store.result_before(group_id, own_name, payload))
        except (DecodeError, PayloadTooLarge) as error:
            reason = f"not-called: {error}".encode()
            return [CountEnds(group_id, [MemberEnd(own_name, 0, "dead", reason)])]
        follows = await self._call(group_id, own_name, node)
        return [*follows, MarkCalled(group_id, own_name, 0, node)]

    async def _call(self, group_id: str, name: str, node: Node) -> Sequence[Work]:
        """Enqueue a call, or start a group. Return the work that follows."""
        if isinstance(node, GroupNode):
            found = await self.store.store(node, f"{group_id} {name}")
            started = await self.store.fill(node, found, checks_room=False)
            return begin(started)
        unit = self._namespace.unit(keys.KIND, node.queue)
        names = CALL.keys(unit, keys.called(unit, node.id))
        args: list[Argument] = [*node.with_result(None, now=True).packed, node.life_ms]
        await self._caller.call(CALL, unit, names, args, harmless=True)
        await self._catalog.note(unit)
        return []

    async def _report(
        self, group_id: str, parent: str, ended: bytes, payload: bytes
    ) -> Sequence[Work]:
        """Count for the parent how a nested group has ended."""
        with decoding(f"the record of group {group_id!r}"):
            parent_id, name = parent.split(" ")
            version, state = ended.decode().split(" ")
        if state == "dead":
            record = await self.store.record(group_id) or {}
            failed = "the callback" if record.get("state") == "done" else "members"
            payload = f"group: {failed} of group {group_id!r} failed".encode()
        elif state == "done" and not payload:
            try:
                payload = b"=" + encoded(JSON, await self.store.results(group_id), "the results")
            except PayloadTooLarge as error:
                payload = f"!bad-result: {error}".encode()
        await self._count(CountEnds(parent_id, [MemberEnd(name, int(version), state, payload)]))
        # `MarkCalled` comes last, because afterwards the work for the parent is not repeated.
        return [CountEnds(parent_id, ()), MarkCalled(group_id, "parent", int(version), None)]

    async def _mark(self, mark: MarkCalled) -> None:
        unit = self.store.unit(mark.group_id)
        args: list[Argument] = [mark.name, mark.version]
        state = await self._caller.call(MARK, unit, MARK.keys(unit), args, harmless=True)
        node = mark.node
        if state == b"cancelled" and isinstance(node, GroupNode):
            await self.cancel(node.id)
        elif isinstance(node, CallNode):
            queue = self._namespace.unit(keys.KIND, node.queue)
            if state == b"cancelled":
                step = self._cancel_step(node.queue, node.id, ledger.new_writer(), 1)
                await self._caller.call(CANCEL, *step, harmless=True)
            names = FORGET.keys(queue, keys.called(queue, node.id))
            await self._caller.call(FORGET, queue, names, [_CALL_KEPT_MS], harmless=True)
