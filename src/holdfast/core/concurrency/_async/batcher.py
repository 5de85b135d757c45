"""Going together, on asyncio. Hand-written twin of `_sync.py`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

Way = TypeVar("Way")
Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


class Batcher(Generic[Way, Item, Outcome]):
    """Has items that go the same way at the same moment travel together. Of one loop.

    Who finds nobody under way goes at once, and alone. Who comes later travels with those of the
    same turn of the loop, in a task of its own: a cancelled traveller stops nobody but itself.

    Args:
        work: takes items their way; says of each what becomes of it or, of several, its error.
        most: items that travel together.
        most_size: of all of them; a larger one travels alone.
    """

    def __init__(
        self,
        work: Callable[[Way, Sequence[Item]], Coroutine[Any, Any, Sequence[Any]]],
        most: int,
        most_size: int,
    ) -> None:
        self._work = work
        self._most = most
        self._most_size = most_size
        self._loop = asyncio.get_running_loop()
        self._under_way: dict[Way, int] = {}
        self._boarding: dict[Way, _Batch[Item, Outcome]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def go(self, way: Way, item: Item, size: int) -> Awaitable[Outcome]:
        """Take *item* its *way*, and wait what becomes of it."""
        if way in self._under_way:
            return self._board(way, item, size)
        return self._go_alone(way, item)

    async def _go_alone(self, way: Way, item: Item) -> Outcome:
        self._under_way[way] = self._under_way.get(way, 0) + 1
        outcome: Outcome
        try:
            [outcome] = await self._work(way, [item])
        finally:
            self._arrived(way)
        return outcome

    def _board(self, way: Way, item: Item, size: int) -> asyncio.Future[Outcome]:
        coach = self._boarding.get(way)
        if coach is None or coach.is_full(self._most, self._most_size - size):
            coach = self._boarding[way] = _Batch()
            self._under_way[way] += 1
            # Not by `create_task`: what a loop makes may begin at once, before anybody is seated.
            travel = self._travel(way, coach)
            task = asyncio.Task(travel, loop=self._loop, name="holdfast company")
            self._tasks.add(task)
            task.add_done_callback(partial(self._ended, way, coach))
        future: asyncio.Future[Outcome] = self._loop.create_future()
        coach.seats.append((item, future))
        coach.size += size
        return future

    async def _travel(self, way: Way, coach: _Batch[Item, Outcome]) -> None:
        self._depart(way, coach)
        seats = [seat for seat in coach.seats if not seat[1].done()]  # the others were cancelled
        if not seats:
            return
        outcomes: Sequence[Any]
        try:
            outcomes = await self._work(way, [item for item, _ in seats])
        except Exception as error:  # noqa: BLE001 - it is told to each of them
            outcomes = [error] * len(seats)
        for (_, future), outcome in zip(seats, outcomes, strict=True):
            if future.done():
                continue
            if isinstance(outcome, Exception):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)

    def _depart(self, way: Way, coach: _Batch[Item, Outcome]) -> None:
        """Nobody boards *coach* any more."""
        if self._boarding.get(way) is coach:
            del self._boarding[way]

    def _ended(self, way: Way, coach: _Batch[Item, Outcome], task: asyncio.Task[None]) -> None:
        """A coach arrived; or it was cancelled with its loop, perhaps before it set off."""
        self._tasks.discard(task)
        self._depart(way, coach)
        self._arrived(way)
        for _, future in coach.seats:
            future.cancel()  # unless it is done

    def _arrived(self, way: Way) -> None:
        left = self._under_way[way] = self._under_way[way] - 1
        if not left:
            del self._under_way[way]


class _Batch(Generic[Item, Outcome]):
    """Items that travel together, and who waits for them."""

    __slots__ = ("seats", "size")

    def __init__(self) -> None:
        self.seats: list[tuple[Item, asyncio.Future[Outcome]]] = []
        self.size = 0

    def is_full(self, most: int, most_size: int) -> bool:
        """Whether one more would be too many, or too large beside the others."""
        return len(self.seats) >= most or self.size > most_size
