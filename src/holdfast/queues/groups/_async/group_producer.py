"""Enqueues groups."""

from __future__ import annotations

from functools import partial
from typing import Any

from ....core._async.caller import AsyncCaller
from ....core.notifier import Notifier
from ....core.telemetry import during
from ..members import Chain, Group
from ..nodes import NodeFactory
from ..status import GroupOptions
from .group_delivery import AsyncGroupDelivery
from .group_handle import AsyncGroupHandle


class AsyncGroupProducer:
    """Enqueues groups, for `AsyncHoldfast.enqueue_group`.

    Args:
        caller: makes the ids of operations.
        notifier: notifies handles when their groups end.
        delivery: stores the groups.
    """

    def __init__(
        self, caller: AsyncCaller, notifier: Notifier, delivery: AsyncGroupDelivery
    ) -> None:
        self._caller = caller
        self._notifier = notifier
        self._delivery = delivery

    async def enqueue(
        self, group: Group | Chain, options: GroupOptions, *, op_id: str | None
    ) -> AsyncGroupHandle[Any]:
        """Enqueue a group; see `AsyncHoldfast.enqueue_group`."""
        again = partial(self.enqueue, group, options)
        telemetry = self._caller.settings.telemetry
        with self._caller.operation(op_id, again, verb="enqueue_group") as operation:
            group_id = options.group_id or operation.label.replace("/", "%2F")
            unit, amount = self._delivery.store.unit(group_id), len(group.members)
            with during(telemetry, "send", unit, amount=amount) as sent:
                factory = NodeFactory(sent.trace, options.life_ms, options.kept_ms)
                node = factory.whole(group, group_id)
                await self._delivery.store.check_limits(factory.limited)
                is_new = await self._delivery.create(node)
        return AsyncGroupHandle(group_id, self._delivery, self._notifier, is_new)
