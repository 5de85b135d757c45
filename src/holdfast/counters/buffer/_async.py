"""Counts that are collected here and added to the server's counters once in a while."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Final, Self

from ...core.call._async import AsyncCaller
from ...core.catalog._async import AsyncCatalog
from ...core.clock import Duration, to_seconds
from ...core.ledger import Operation
from ...core.runtime._async import Mutex
from ...core.runtime.forks import begins_anew
from ...core.runtime.repeating._async import Repeating
from ...errors import DamagedData, DecodeError, HoldfastError, OutcomeUnknown, ServerUnavailable
from ...errors.records import logger_of
from .. import keys
from .._async import ADD, MAX_COUNT, MIN_COUNT, MOST_TRIES, AsyncCounter, checked_count
from ..collected import Collected, Due

logger: Final = logger_of("holdfast.counters")

LEAST_EVERY_S: Final = 0.01

MAX_NAMES: Final = 10_000
"""With counts for so many names it flushes at once."""

TOGETHER: Final = 500
"""Adds that travel together: no more than the server answers within a timeout."""


class AsyncCounterBuffer:
    """Adds to many counters at the price of a few.

    What is added waits here, at most for one interval, and counts at the moment of its flush. A
    flush whose reply is lost is repeated and counts once. A process that is killed loses what it
    has not flushed: one interval at most. One that ends in good order loses nothing if the buffer
    is closed, by itself (`with`) or with its client; the blocking one flushes by itself when the
    interpreter ends.

    One serves all threads, or all tasks of an event loop. In a forked child it begins empty.

    Made by `AsyncHoldfast.counter_buffer`.
    """

    def __init__(
        self,
        caller: AsyncCaller,
        catalog: AsyncCatalog,
        counter: Callable[[str], AsyncCounter],
        flush_every: Duration,
        on_close: Callable[[AsyncCounterBuffer], object],
    ) -> None:
        flush_every_s = to_seconds(flush_every, "flush_every")
        if flush_every_s < LEAST_EVERY_S:
            raise ValueError(
                f"flush_every must be at least {LEAST_EVERY_S} s, got {flush_every_s:g}"
            )
        self._caller = caller
        self._catalog = catalog
        self._counter = counter
        self._on_close = on_close
        self._flushing = Mutex()
        self._counters: dict[str, AsyncCounter] = {}  # they know their shapes
        self._collected = Collected()
        self._closed = False
        self._ended = False
        self._flushes = Repeating(self._flush_quietly, flush_every_s, "holdfast counters")
        begins_anew(self)

    def __repr__(self) -> str:
        return f"<buffer with counts for {len(self._collected.counts):,} counters>"

    def add(self, name: str, count: int = 1) -> None:
        """Count, soon. Costs no I/O.

        Args:
            name: of the counter.
            count: how many; less than 2^63 either way.

        Raises:
            InvalidName: there can be no such counter.
            ClientClosed: its client is closed.
            ValueError: the buffer is closed.
        """
        if count.__class__ is not int or not MIN_COUNT <= count <= MAX_COUNT:
            count = checked_count(count)
        if name.__class__ is not str and isinstance(name, str):
            name = str.__str__(name)  # a class of its own may hash and compare with code in Python
        while not self._collected.add(name, count):
            self._begin(name)

    async def flush(self) -> None:
        """Add what has come together to the counters.

        Raises:
            ClientClosed: its client is closed.
            HoldfastError: something could not be added. What may be added later, is.
        """
        self._caller.lifetime.check("adding to counters")
        await self._flush()

    async def _flush(self) -> None:
        problem: HoldfastError | None = None
        async with self._flushing:
            due = self._collected.take(time.monotonic())
            if len(self._counters) > MAX_NAMES:
                self._counters = {}
            while due:
                part, due = due[:TOGETHER], due[TOGETHER:]
                problems = await self._settle(part)
                problem = problems[-1] if problems else problem
                if len(problems) == len(part) and all(map(_is_away, problems)):
                    break  # the others would wait as long for nothing
        self._flushes.keep(None)
        if not self._collected.is_empty:  # first that, then the look: `_begin` does the reverse
            self._flushes.keep(self)
        if problem is not None:
            raise problem

    async def _flush_again(self, op_id: str) -> None:
        """Repeat an add that had no answer: every flush does, once for all that call this."""
        del op_id
        await self._flush()

    async def close(self) -> None:
        """Flush, and take no more. Idempotent.

        Raises:
            HoldfastError: some counts could not be added. They are lost, unless `repeat()` of an
                `OutcomeUnknown` adds them.
        """
        if self._ended:
            return
        self._closed = True
        await self._flushes.stop()
        try:
            await self._flush()
        except HoldfastError:
            self._end()
            raise
        self._end()  # not if it was interrupted: then it can be closed again

    def _end(self) -> None:
        self._flushes.keep(None)
        self._on_close(self)
        self._ended = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def _settle(self, part: Sequence[Due]) -> list[HoldfastError]:
        """Add *part*, or keep what may be added later; what stood in the way."""
        left = [(one, self._named(one)) for one in part]
        left = [(one, write) for one, write in left if one in self._collected]
        problems: list[HoldfastError] = []
        for _ in range(MOST_TRIES):  # after the first only those whose shape was another one
            if not left:
                break
            steps = [self._known(one.name).step(write, one.amount, "") for one, write in left]
            answers = zip(left, await self._caller.call_many(ADD, steps), strict=True)
            left = []
            for (one, write), answer in answers:
                judged = _understood(self._known(one.name), answer)
                if judged is None:
                    left.append((one, write))
                elif problem := self._conclude(one, write, judged):
                    problems.append(problem)
        await self._catalog.note_all(keys.KIND, [self._known(one.name).unit for one in part])
        return problems

    def _named(self, one: Due) -> Operation:
        """Return the operation of *one*, under which it is repeated until it is answered."""
        write = self._caller.writers.operation(one.op_id, self._flush_again, verb="add")
        one.fresh = one.op_id is None
        one.op_id = write.id
        return write

    def _known(self, name: str) -> AsyncCounter:
        return self._counters.get(name) or self._counters.setdefault(name, self._counter(name))

    def _conclude(
        self, one: Due, write: Operation, answer: bytes | HoldfastError
    ) -> HoldfastError | None:
        """Settle *one*, or keep it for the next flush; the error that stood in the way."""
        try:
            with write:  # its end gives the writer back, so nothing may be repeated under it then
                if not isinstance(answer, HoldfastError):
                    self._collected.settled(one)
                    self._known(one.name).judge(answer)
                elif not _is_away(answer):
                    self._collected.settled(one)
                elif one.fresh and isinstance(answer, ServerUnavailable):
                    one.op_id = None  # it was not applied
                if isinstance(answer, HoldfastError):
                    raise answer
        except HoldfastError as error:
            return error
        return None

    async def _flush_quietly(self) -> None:
        try:
            await self.flush()
        except HoldfastError as error:
            logger.warning("counts are kept for the next flush: %s", error)
        except Exception:  # such as of a provider of credentials: the next flush may do better
            logger.exception("counts are kept for the next flush")

    def _begin(self, name: str) -> None:
        """Begin to count a name."""
        self._caller.lifetime.check(f"adding to counter {name!r}")
        if self._closed:
            raise ValueError("the counter buffer is closed")
        self._known(name)
        self._flushes.start()
        names = self._collected.begin(name)
        self._flushes.keep(self)  # until it is flushed, also if the program forgets it
        if names >= MAX_NAMES:
            self._flushes.hurry()

    def begin_anew(self) -> None:
        """In a forked child: what is here belongs to the parent."""
        self._flushing = Mutex()
        self._counters, self._collected = {}, Collected()
        self._flushes = self._flushes.anew(self._flush_quietly)


def _understood(
    counter: AsyncCounter, answer: bytes | HoldfastError
) -> bytes | HoldfastError | None:
    """Return *answer*, or an error; None if the shape is known only now, so that it goes again."""
    try:
        again = isinstance(answer, bytes) and not counter.understood(answer)
    except DecodeError as error:
        return DamagedData("counters/add", error.what, error.problem)
    return None if again else answer


def _is_away(error: HoldfastError) -> bool:
    return isinstance(error, ServerUnavailable | OutcomeUnknown | DecodeError)
