"""Shares the slots of a worker among its queues. It does no I/O and reads no clock.

A slot is the right to run one task. Slots are shared by stride scheduling (Waldspurger and Weihl,
"Stride Scheduling: Deterministic Proportional-Share Resource Management", MIT/LCS/TM-528, 1995).
Each queue has a *pass*, which advances by 1 ÷ weight with every task that it starts. A free slot
goes to the queue with the smallest pass, among the queues that may have tasks. If passes are equal,
it goes to the queue that was served longest ago. So a queue is never further from its share than
the slots of one step, and the share of a queue without tasks goes to the others.

If many queues have tasks, each would get so few of the free slots that the worker would spend most
of its time on round trips. So if tasks are short, the queues take turns: the ones with the smallest
pass take a *batch* each. It is as many tasks as take `BATCH_S` one after the other, at most a
quarter of the slots. If tasks take long, no queue waits for a batch of another one.

A step takes a round trip, and slots become free meanwhile. The share of a queue with a step in
flight is kept for it, but only for `MAX_ROUND_TRIP_S`, so that an unreachable server holds no
slots.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final

MAX_ROUND_TRIP_S: Final = 0.5
"""Seconds after which a step in flight reserves no slots any more."""

BATCH_S: Final = 0.1
"""Seconds that the tasks of one batch take, one after the other."""

_LATEST: Final = 1 / 16
"""Weight of the latest task in the mean duration."""

_ONE: Final = 2**60
"""A pass of 1. Passes are integers, because rounding errors of floats would add up."""


@dataclass(slots=True)
class _Share:
    """The share of one queue.

    Attributes:
        stride: what a started task adds to the pass: 1 ÷ weight.
        turn: counter at the time when the queue was last served; if passes are equal, the smaller
            turn wins.
        progress: the pass, including the reserved slots.
        group: the queue that has this partition; empty for a queue without partitions.
        may_have_tasks: whether the queue may have tasks.
        reserved: slots that the step in flight may fill.
        asked_at: when the step in flight began; None: no step is in flight.
        away: whether the step takes too long, so that its slots are not reserved any more.
        full: whether the queue may start no more tasks for now, even if slots are free.
    """

    stride: int
    turn: int
    progress: int = 0
    group: str = ""
    may_have_tasks: bool = True  # until the first step
    reserved: int = 0
    asked_at: float | None = None
    away: bool = False
    full: bool = False

    @property
    def started(self) -> int:
        """Return the pass without the reserved slots."""
        return self.progress - self.reserved * self.stride

    @property
    def competes(self) -> bool:
        """Return whether slots are kept for the queue."""
        return self.may_have_tasks and not self.away and not self.full

    def wins(self, progress: int, turn: int) -> int:
        """Return how many slots this queue gets before another queue gets one.

        The other queue has the pass *progress* and the turn *turn*.
        """
        ahead = progress - self.progress
        if ahead < 0:
            return 0
        whole, rest = divmod(ahead, self.stride)
        return whole + (1 if rest or self.turn < turn else 0)


class FairShare:
    """The slots of one worker. Every *now* is in seconds of one monotonic clock.

    Args:
        weights: queue → its share of the slots while all queues have tasks.
        total: tasks that may run at once.
        most: slots that one step may fill.
    """

    def __init__(self, weights: Mapping[str, int], total: int, most: int) -> None:
        self._turns = count()
        self._weights = dict(weights)
        self._shares = {
            queue: _Share(max(1, _ONE // weight), next(self._turns))
            for queue, weight in weights.items()
        }
        self._free = total
        self._held_back = 0
        self._most = most
        self._most_in_batch = min(most, max(1, total // 4))
        self._mean_s = math.inf  # how long a task takes
        self._present = 0  # the pass of the queues with tasks; a queue that has tasks again gets it

    def divide(self, queue: str, parts: Sequence[str]) -> None:
        """Divide the share of *queue* equally among its partitions.

        New partitions compete for slots only after `expect_tasks`: slots must not be reserved for
        them until their server accepts the worker.

        The partitions take turns: one claims tasks for all free slots of the queue, and the next
        time another one does. If each claimed a few tasks every time, the servers would have
        several times as much work.

        Args:
            queue: the queue.
            parts: names of the partitions.
        """
        stride = max(1, _ONE * len(parts) // self._weights[queue])
        for part in parts:
            share = self._shares.get(part)
            if share is None:
                turn = next(self._turns)
                share = _Share(stride, turn, self._present, queue, may_have_tasks=False)
                self._shares[part] = share
            else:
                share.group = queue
                share.progress += share.reserved * (stride - share.stride)
                share.stride = stride

    @property
    def free(self) -> int:
        """Return the number of slots in which nothing runs, and that no step has reserved."""
        return max(0, self._free - self._held_back)

    @property
    def all_empty(self) -> bool:
        """Return whether every queue was found without tasks."""
        return not any(share.may_have_tasks for share in self._shares.values())

    @property
    def _batch(self) -> int:
        """Return how many slots a queue gets at once if many queues have tasks."""
        return max(1, min(self._most_in_batch, int(BATCH_S / max(self._mean_s, 1e-6))))

    @property
    def fills_batch(self) -> bool:
        """Return whether half a batch of slots is free, or nothing runs."""
        return 2 * self._free >= self._batch

    def may_have_tasks(self, queue: str) -> bool:
        """Return whether *queue* may have tasks."""
        return self._shares[queue].may_have_tasks

    def expect_tasks(self, queue: str) -> None:
        """Record that *queue* may have tasks now. It gets no extra slots for the time before."""
        share = self._shares[queue]
        if not share.may_have_tasks:
            share.may_have_tasks = True
            share.progress = max(share.progress, self._present)

    def set_full(self, queue: str, *, full: bool) -> None:
        """Set whether *queue* is full: then it must not start tasks, and gets no extra slots."""
        share = self._shares[queue]
        if share.full and not full:
            share.progress = max(share.progress, self._present)
        share.full = full

    def share(self, queue: str, now: float) -> int:
        """Return how many of the free slots one step of *queue* may fill now."""
        share = self._shares[queue]
        self._skip_slow_steps(now)
        free = self.free
        most = min(free, self._most)
        if not share.competes or not most:
            return 0
        others = [other for other in self._competing() if other is not share]
        if share.group:
            behind = [other.progress for other in others if other.group == share.group]
            ahead = share.progress - min(behind, default=share.progress)
            most = min(most, max(0, self._most - ahead // share.stride))
            others = [other for other in others if other.group != share.group]
        if not others or not most:
            return most
        batch = min(self._batch, free)
        if batch > 1 and batch * (len(others) + 1) > free:
            rank = share.progress, share.turn
            ahead = sum((other.progress, other.turn) < rank for other in others)
            return max(0, min(batch, most, free - batch * ahead))

        def is_beyond(nth: int) -> bool:
            progress = share.progress + nth * share.stride
            return nth + sum(other.wins(progress, share.turn) for other in others) >= free

        return bisect_left(range(most), True, key=is_beyond)

    def reserve(self, queue: str, slots: int, now: float) -> None:
        """Reserve *slots* free slots, or none, for a step of *queue* that begins now."""
        share = self._shares[queue]
        share.reserved, share.asked_at = slots, now
        share.progress += slots * share.stride
        self._free -= slots
        if slots:
            share.turn = next(self._turns)

    def answered(self, queue: str, claimed: int, *, more: bool) -> int:
        """End the step of *queue*, and return how many of its tasks get a slot.

        After a step that took too long, tasks of other queues may have taken its slots.

        Args:
            queue: the queue.
            claimed: tasks that the step claimed.
            more: whether the queue may have more tasks.
        """
        share = self._shares[queue]
        self._unreserve(share)
        if share.away:
            share.progress = max(share.progress, self._present)
        share.asked_at, share.away, share.may_have_tasks = None, False, more
        placed = min(claimed, self.free)
        self._free -= placed
        share.progress += placed * share.stride
        # The smallest pass of the queues that compete is the present one. This queue competed until
        # now, so it counts although it may have no more tasks.
        present = min(other.started for other in (share, *self._competing()))
        self._present = max(self._present, present)
        return placed

    def take(self, queue: str) -> bool:
        """Take a free slot for a task of *queue* that was claimed without a step.

        Return False if no slot is free, or if the queue may start no more tasks.
        """
        share = self._shares[queue]
        if not self.free or share.full:
            return False
        if not share.may_have_tasks:  # it gets no extra slots for the time without tasks
            share.progress = max(share.progress, self._present)
        share.progress += share.stride
        share.turn = next(self._turns)
        self._free -= 1
        return True

    def release(self, seconds: float | None = None) -> None:
        """Free the slot of one task, which took *seconds* (None: not known)."""
        self._free += 1
        if seconds is not None:
            mean_s = self._mean_s
            self._mean_s = seconds if mean_s == math.inf else mean_s + (seconds - mean_s) * _LATEST

    def hold_back(self, slots: int) -> None:
        """Keep *slots* slots occupied by functions that run on although their task has ended."""
        self._held_back = slots

    def next(self) -> str | None:
        """Return the queue that gets the next free slot, skipping queues with a step in flight."""
        if not self.free:
            return None
        chosen, first = None, (math.inf, 0)
        for queue, share in self._shares.items():
            rank = share.progress, share.turn
            if share.may_have_tasks and not share.full and share.asked_at is None and rank < first:
                chosen, first = queue, rank
        return chosen

    def _competing(self) -> Iterator[_Share]:
        return (share for share in self._shares.values() if share.competes)

    def _skip_slow_steps(self, now: float) -> None:
        """Free the slots of steps that were not answered in time."""
        for share in self._shares.values():
            if share.asked_at is not None and now - share.asked_at > MAX_ROUND_TRIP_S:
                self._unreserve(share)
                share.away = True

    def _unreserve(self, share: _Share) -> None:
        self._free += share.reserved
        share.progress = share.started
        share.reserved = 0
