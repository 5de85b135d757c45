"""The handle of a group: its status, the results of its members, and how to cancel it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Generic, Never, TypeVar

from ....core.clock import Deadline, Duration, to_timeout_s
from ....core.concurrency._async.primitives import Event
from ....core.familiar_names import no_attribute
from ....core.names import plain_text
from ....core.notifier import RECHECK_S, Notifier
from ....errors import GroupTimeout, NoSuchGroup
from ..status import GroupStatus, MemberResult, layout_of, member_result, status_of
from .group_delivery import AsyncGroupDelivery
from .group_store import PAGE, pages

FAMILIAR_NAMES: Final = {
    "get": "wait(timeout=…) waits for the end, results() returns the results",
    "join": "wait(timeout=…) waits for the end, results() returns the results",
    "ready": "status().state is the state",
    "successful": "status().state is `done`",
    "completed_count": "status().done is the number of members that have succeeded",
    "revoke": "cancel() cancels the group and its members",
    "id": "group_id is its id",
}
"""Attributes of groups in Celery and Dramatiq, and what to use instead."""


R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class AsyncGroupHandle(Generic[R]):
    """A group or chain of tasks.

    Made by `AsyncHoldfast.enqueue_group` and `AsyncHoldfast.group_handle`.

    Attributes:
        group_id: id of the group.
        is_new: whether `enqueue_group` stored it; False: it existed. None for a handle from
            `group_handle`.
    """

    group_id: str
    _delivery: AsyncGroupDelivery = field(repr=False, compare=False)
    _notifier: Notifier = field(repr=False, compare=False)
    is_new: bool | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "group_id", plain_text(self.group_id))

    if not TYPE_CHECKING:  # a type checker shall know that there are no such methods

        def __getattr__(self, name: str) -> Never:
            raise no_attribute(self, name, FAMILIAR_NAMES)

    async def status(self) -> GroupStatus:
        """Return the status of the group now.

        Raises:
            NoSuchGroup: it has expired, or was never stored.
        """
        record = await self._delivery.store.record(self.group_id)
        if record is None:
            raise NoSuchGroup(self.group_id)
        return status_of(self.group_id, record)

    async def wait(self, timeout: Duration | None = None) -> GroupStatus:
        """Wait until the group is done, failed or cancelled, and return its status.

        Its callbacks are enqueued then, and may not have run yet.

        Args:
            timeout: seconds to wait at most (or a timedelta); None: without limit, 0: not at all.

        Raises:
            GroupTimeout: it has not ended yet; it continues.
            NoSuchGroup: it has expired, or was never stored.
        """
        deadline, changed = Deadline(to_timeout_s(timeout)), Event()
        with self._notifier.follow([self._delivery.store.unit(self.group_id)], changed):
            while True:
                changed.clear()
                status = await self.status()
                if status.state != "running":
                    return status
                if deadline.passed:
                    raise GroupTimeout(self.group_id, status.waiting)
                await changed.wait(min(RECHECK_S, deadline.left_s()))

    async def results(self) -> AsyncIterator[MemberResult[R]]:
        """Iterate over how each member has ended, in their order. It does not wait.

        A member that has not ended is `waiting`, one that failed is `dead` with a reason. The
        results are read in pages, so that they need little memory here.

        Raises:
            NoSuchGroup: the group has expired, or was never stored.
            DecodeError: another program has changed a result.
        """
        record = await self._delivery.store.record(self.group_id)
        if record is None:
            raise NoSuchGroup(self.group_id)
        layout = layout_of(self.group_id, record)
        for page in pages(range(layout.total), PAGE):
            entries = await self._delivery.store.ends(self.group_id, page)
            for index, entry in zip(page, entries, strict=True):
                yield member_result(self.group_id, layout, index, entry)

    async def cancel(self) -> bool:
        """Cancel the group: its callbacks are not called, and members that have not ended stop.

        Groups that are members are cancelled too. Repeat the call if it raises: it continues.

        Returns:
            Whether the group is cancelled; False if it was done before, or does not exist.

        Raises:
            ServerUnavailable, OutcomeUnknown: not all members may be cancelled.
        """
        return await self._delivery.cancel(self.group_id)
