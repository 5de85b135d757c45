# Generated from _async/group_producer.py by tools/unasync.py: edit that, then run `make sync`.
"""Enqueues groups."""

from __future__ import annotations

from functools import partial
from typing import Any

from ....core._sync.caller import Caller
from ....core.notifier import Notifier
from ....core.telemetry import during
from ..members import Chain, Group
from ..nodes import NodeFactory
from ..status import GroupOptions
from .group_delivery import GroupDelivery
from .group_handle import GroupHandle


class GroupProducer:
    """Enqueues groups, for `Holdfast.enqueue_group`.

    Args:
        caller: makes the ids of operations.
        notifier: notifies handles when their groups end.
        delivery: stores the groups.
    """

    def __init__(self, caller: Caller, notifier: Notifier, delivery: GroupDelivery) -> None:
        self._caller = caller
        self._notifier = notifier
        self._delivery = delivery

    def enqueue(
        self, group: Group | Chain, options: GroupOptions, *, op_id: str | None
    ) -> GroupHandle[Any]:
        """Enqueue a group; see `Holdfast.enqueue_group`."""
        again = partial(self.enqueue, group, options)
        telemetry = self._caller.settings.telemetry
        with self._caller.operation(op_id, again, verb="enqueue_group") as operation:
            group_id = options.group_id or operation.label.replace("/", "%2F")
            unit, amount = self._delivery.store.unit(group_id), len(group.members)
            with during(telemetry, "send", unit, amount=amount) as sent:
                factory = NodeFactory(sent.trace, options.life_ms, options.kept_ms)
                node = factory.whole(group, group_id)
                self._delivery.store.check_limits(factory.limited)
                is_new = self._delivery.create(node)
        return GroupHandle(group_id, self._delivery, self._notifier, is_new)
