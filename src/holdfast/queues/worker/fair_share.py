"""How a worker shares its places among its queues: pure decisions, without a clock and without I/O.

A place is the right to run one task. Places are shared by stride scheduling (Waldspurger and Weihl,
"Stride Scheduling: Deterministic Proportional-Share Resource Management", MIT/LCS/TM-528, 1995).
Each queue has a *pass*, which advances by 1 ÷ weight with every task that it starts; a free place
is for the hungry queue with the smallest pass, and among equals for the one whose turn is longest
ago. So a queue is never further from its share than the places of one step, however fast another
one grows, and the share of a queue without tasks goes to the others.

A step takes a round trip, and other queues meet free places meanwhile. What a hungry queue is
entitled to is kept for it all the same, but only for `PATIENCE_S`: a server that does not answer
holds no places.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Final

PATIENCE_S: Final = 0.5
"""A step that takes longer than a round trip ever should: its queue is passed over till then."""

_ONE: Final = 2**60
"""A pass of 1, in integers: they do not drift, so equal weights stay exactly equal."""


@dataclass(slots=True)
class _Share:
    """What one queue has had, and what it asks for.

    Attributes:
        stride: by how much a started task advances the pass: 1 ÷ weight.
        progress: the pass itself; what is reserved counts.
        turn: when it was served last; the smaller one wins a tie.
        hungry: whether tasks may wait there.
        reserved: places that a step may fill.
        asked_at: since when a step is under way; None: there is none.
        away: the step took too long, and what it had reserved was given back.
    """

    stride: int
    turn: int
    progress: int = 0
    hungry: bool = True  # nobody has looked yet
    reserved: int = 0
    asked_at: float | None = None
    away: bool = False

    @property
    def started(self) -> int:
        """Its pass without what is only reserved."""
        return self.progress - self.reserved * self.stride

    @property
    def competes(self) -> bool:
        """Whether places are kept for it."""
        return self.hungry and not self.away

    def wins(self, progress: int, turn: int) -> int:
        """How many places it is given before one at this pass, and with this turn."""
        ahead = progress - self.progress
        if ahead < 0:
            return 0
        whole, rest = divmod(ahead, self.stride)
        return whole + (1 if rest or self.turn < turn else 0)


class Places:
    """The places of one worker. Every moment is the caller's, in seconds of a monotonic clock.

    Args:
        weights: queue → its share of the places while all queues have tasks.
        total: tasks that may run at once.
        most: places that one step may fill.
    """

    def __init__(self, weights: Mapping[str, int], total: int, most: int) -> None:
        self._turns = count()
        self._shares = {
            queue: _Share(max(1, _ONE // weight), next(self._turns))
            for queue, weight in weights.items()
        }
        self._free = total
        self._withheld = 0
        self._most = most
        self._present = 0  # the pass at which the hungry queues are: who comes back, begins here

    @property
    def free(self) -> int:
        """Places in which nothing runs, and which no step has reserved."""
        return max(0, self._free - self._withheld)

    @property
    def nobody_is_hungry(self) -> bool:
        """Whether every queue was found without tasks."""
        return not any(share.hungry for share in self._shares.values())

    def is_hungry(self, queue: str) -> bool:
        """Whether tasks may wait in *queue*."""
        return self._shares[queue].hungry

    def hunger(self, queue: str) -> None:
        """Tasks may wait in *queue* from now on. Of the time without any it has no credit."""
        share = self._shares[queue]
        if not share.hungry:
            share.hungry = True
            share.progress = max(share.progress, self._present)

    def share(self, queue: str, now: float) -> int:
        """How many of the free places are for *queue* at this moment, in one step."""
        share = self._shares[queue]
        self._pass_over_the_silent(now)
        free = self.free
        most = min(free, self._most)
        if not share.competes or not most:
            return 0
        others = [other for other in self._competing() if other is not share]
        if not others:
            return most

        def is_beyond(nth: int) -> bool:
            progress = share.progress + nth * share.stride
            return nth + sum(other.wins(progress, share.turn) for other in others) >= free

        return bisect_left(range(most), True, key=is_beyond)

    def reserve(self, queue: str, places: int, now: float) -> None:
        """A step of *queue* begins now that may fill so many free places, or none."""
        share = self._shares[queue]
        share.reserved, share.asked_at = places, now
        share.progress += places * share.stride
        self._free -= places
        if places:
            share.turn = next(self._turns)

    def answered(self, queue: str, claimed: int, *, more: bool) -> int:
        """The step of *queue* has ended with so many claims.

        Args:
            queue: whose step.
            claimed: tasks that it brought.
            more: whether others may be left there.

        Returns:
            How many of them have a place. It may be fewer after a step that took too long: others
            run where they would have run.
        """
        share = self._shares[queue]
        self._unreserve(share)
        if share.away:
            share.progress = max(share.progress, self._present)
        share.asked_at, share.away, share.hungry = None, False, more
        placed = min(claimed, self.free)
        self._free -= placed
        share.progress += placed * share.stride
        # All who compete are at least here, and this one was until now.
        present = min(other.started for other in (share, *self._competing()))
        self._present = max(self._present, present)
        return placed

    def vacate(self) -> None:
        """One task has ended."""
        self._free += 1

    def withhold(self, places: int) -> None:
        """In so many places something still runs, though its task has ended."""
        self._withheld = places

    def next(self) -> str | None:
        """For which queue a free place is, among those that make no step just now."""
        if not self.free:
            return None
        chosen, first = None, (math.inf, 0)
        for queue, share in self._shares.items():
            if share.hungry and share.asked_at is None and (share.progress, share.turn) < first:
                chosen, first = queue, (share.progress, share.turn)
        return chosen

    def _competing(self) -> Iterator[_Share]:
        return (share for share in self._shares.values() if share.competes)

    def _pass_over_the_silent(self, now: float) -> None:
        """Give back what steps have reserved that are not answered in time."""
        for share in self._shares.values():
            if share.asked_at is not None and now - share.asked_at > PATIENCE_S:
                self._unreserve(share)
                share.away = True

    def _unreserve(self, share: _Share) -> None:
        self._free += share.reserved
        share.progress = share.started
        share.reserved = 0
