"""Counts that are collected here and added to the server's counters once in a while."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Final, NamedTuple, Self

from ...core.call._async import AsyncCaller
from ...core.catalog._async import AsyncCatalog
from ...core.clock import Duration, to_seconds
from ...core.ledger import Operation
from ...core.runtime._async import Guard
from ...core.runtime.forks import begins_anew
from ...core.runtime.repeating._async import Repeating
from ...errors import HoldfastError, OutcomeUnknown, ServerUnavailable
from .. import keys
from .._async import ADD, MAX_COUNT, MIN_COUNT, AsyncCounter, checked_count

logger: Final = logging.getLogger("holdfast.counters")

LEAST_EVERY_S: Final = 0.01

MAX_NAMES: Final = 10_000
"""With counts for so many names it flushes at once."""

TOGETHER: Final = 500
"""Adds that travel together: no more than the server answers within a timeout."""

FORGOTTEN_S: Final = 3000.0
"""After this long nobody can say any more whether a flush without an answer was counted."""


class _Due(NamedTuple):
    """An add that is to be made, or that was and had no answer; then it is repeated.

    Attributes:
        counter: which.
        amount: what is added.
        op_id: under which it was made; None: it was not.
        since: local monotonic time of the first try.
    """

    counter: AsyncCounter
    amount: int
    op_id: str | None
    since: float


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
        self._guard = Guard()
        self._counters: dict[str, AsyncCounter] = {}  # they know their shapes
        self._counts: dict[str, int] = {}
        self._unsettled: list[_Due] = []
        self._closed = False
        self._flushes = Repeating(self._flush_quietly, flush_every_s, "holdfast counters")
        begins_anew(self)

    def __repr__(self) -> str:
        return f"<buffer with counts for {len(self._counts):,} counters>"

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
        self._guard.acquire()  # this way a third less than `with`, for all of an add
        try:
            self._counts[name] += count
        except KeyError:
            self._begin(name, count)
        finally:
            self._guard.release()

    async def flush(self) -> None:
        """Add what has come together to the counters.

        Raises:
            ClientClosed: its client is closed.
            HoldfastError: something could not be added. What may be added later, is.
        """
        self._caller.lifetime.check("adding to counters")
        await self._flush()

    async def _flush(self) -> None:
        now = time.monotonic()
        with self._guard:
            due, self._unsettled = self._unsettled, []
            due += [_Due(self._counters[n], c, None, now) for n, c in self._counts.items() if c]
            self._counts = {}
            if len(self._counters) > MAX_NAMES:
                self._counters = {}
        problem: HoldfastError | None = None
        try:
            while due:
                part, due = due[:TOGETHER], due[TOGETHER:]
                problems = await self._settle(part)
                problem = problems[-1] if problems else problem
                if len(problems) == len(part) and all(map(_is_away, problems)):
                    break  # the others would wait as long for nothing
        finally:
            self._keep(due)
        with self._guard:
            if not self._counts and not self._unsettled:
                self._flushes.keep(None)
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
        if self._closed:
            return
        self._closed = True
        await self._flushes.stop()
        try:
            await self._flush()
        finally:
            self._counts = {}  # `repeat()` needs only what is unsettled
            self._flushes.keep(None)
            self._on_close(self)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def _settle(self, part: Sequence[_Due]) -> list[HoldfastError]:
        """Add *part*, or keep what may be added later; what stood in the way."""
        writers = self._caller.writers
        left = [(one, writers.operation(one.op_id, self._flush_again, verb="add")) for one in part]
        problems: list[HoldfastError] = []
        try:
            while left:  # a second time only those whose shape was another one
                steps = [one.counter.step(write, one.amount, "") for one, write in left]
                answers = zip(left, await self._caller.call_many(ADD, steps), strict=True)
                left = []
                for (one, write), answer in answers:
                    if isinstance(answer, bytes) and not one.counter.understood(answer):
                        left.append((one, write))
                    elif problem := self._conclude(one, write, answer):
                        problems.append(problem)
        finally:  # who is cancelled does not know what was added
            self._keep(one._replace(op_id=write.id) for one, write in left)
        await self._catalog.note_all(keys.KIND, [one.counter.unit for one in part])
        return problems

    def _conclude(
        self, one: _Due, write: Operation, answer: bytes | HoldfastError
    ) -> HoldfastError | None:
        """Settle *one*, or keep it for the next flush; the error that stood in the way."""
        try:
            with write:
                if isinstance(answer, HoldfastError):
                    raise answer
                one.counter.judge(answer)
        except (OutcomeUnknown, ServerUnavailable) as error:
            unknown = isinstance(error, OutcomeUnknown)
            self._keep([one._replace(op_id=write.id) if unknown else one])
            return error
        except HoldfastError as error:
            return error
        return None

    def _keep(self, left: Iterable[_Due]) -> None:
        """Have the next flush add *left*."""
        now = time.monotonic()
        with self._guard:
            for one in left:
                name = one.counter.unit.name
                if one.op_id is None:  # not applied, so it may go with what comes in between
                    self._counters[name] = one.counter
                    self._counts[name] = self._counts.get(name, 0) + one.amount
                elif now - one.since < FORGOTTEN_S:
                    self._unsettled.append(one)
                else:
                    logger.error("nobody knows whether %d were added to %r", one.amount, name)

    async def _flush_quietly(self) -> None:
        try:
            await self.flush()
        except HoldfastError as error:
            logger.warning("counts are kept for the next flush: %s", error)
        except Exception:  # such as of a provider of credentials: the next flush may do better
            logger.exception("counts are kept for the next flush")

    def _begin(self, name: str, count: int) -> None:
        """Take the first count of a name."""
        self._caller.lifetime.check(f"adding to counter {name!r}")
        if self._closed:
            raise ValueError("the counter buffer is closed")
        if name not in self._counters:
            self._counters[name] = self._counter(name)
        if not self._counts:
            self._flushes.start()
            self._flushes.keep(self)  # until it is flushed, also if the program forgets it
        self._counts[name] = count
        if len(self._counts) == MAX_NAMES:
            self._flushes.hurry()

    def begin_anew(self) -> None:
        """In a forked child: what is here belongs to the parent."""
        self._guard = Guard()
        self._counters, self._counts, self._unsettled = {}, {}, []
        self._flushes = self._flushes.anew(self._flush_quietly)


def _is_away(error: HoldfastError) -> bool:
    return isinstance(error, ServerUnavailable | OutcomeUnknown)
