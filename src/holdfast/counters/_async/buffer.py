"""Collect counts in the client, and add them to counters at intervals."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Final, Self

from ...core._async.caller import AsyncCaller
from ...core._async.catalog import AsyncCatalog
from ...core.clock import Duration, to_seconds
from ...core.concurrency._async.periodic_task import PeriodicTask
from ...core.concurrency._async.primitives import Mutex
from ...core.concurrency.fork_hooks import register_after_fork
from ...core.ledger import Operation, Writers
from ...errors import DamagedData, DecodeError, HoldfastError, OutcomeUnknown, ServerUnavailable
from ...errors.one_line_logger import logger_of
from .. import keys
from ..definition import MAX_COUNT
from ..pending import PendingAdd, pending_counts
from .counter import ADD, MAX_TRIES, MIN_COUNT, AsyncCounter, checked_count

logger: Final = logger_of("holdfast.counters")

MIN_FLUSH_EVERY_S: Final = 0.01

MAX_NAMES: Final = 10_000
"""The buffer flushes at once when it has counts for so many names."""

BATCH_SIZE: Final = 500
"""Adds per batch. The server answers a batch of this size within the timeout."""


class AsyncCounterBuffer:
    """Collects adds to many counters, and sends them together.

    - The buffer flushes its counts once per interval. They are counted at the time of the flush.
    - If a flush loses its reply, the next flush repeats it. Each count is added once.
    - A killed process loses the counts of one interval at most. A program that closes the buffer
      (`with`) or its client loses nothing. A blocking buffer also flushes when the interpreter
      ends.
    - All threads, or all tasks of an event loop, can share a buffer. In a forked child it is empty.

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
        if flush_every_s < MIN_FLUSH_EVERY_S:
            raise ValueError(
                f"flush_every must be at least {MIN_FLUSH_EVERY_S} s, got {flush_every_s:g}"
            )
        self._caller = caller
        self._catalog = catalog
        self._counter = counter
        self._on_close = on_close
        self._flushing = Mutex()
        self._counters: dict[str, AsyncCounter] = {}  # Kept, because each caches its definition.
        self._pending = pending_counts()
        self._ended = False
        self._flushes = PeriodicTask(self._flush_quietly, flush_every_s, "holdfast counters")
        register_after_fork(self)

    def __repr__(self) -> str:
        return f"<buffer with counts for {len(self._pending.counts):,} counters>"

    def add(self, name: str, count: int = 1) -> None:
        """Add *count* to the counter *name* with the next flush. Do no I/O.

        Args:
            name: name of the counter.
            count: the number to add, between -2^63 and 2^63; a negative number subtracts.

        Raises:
            InvalidName: A counter cannot have this name.
            ClientClosed: The client is closed.
            ValueError: The buffer is closed.
        """
        if count.__class__ is not int or not MIN_COUNT <= count <= MAX_COUNT:
            count = checked_count(count)
        if name.__class__ is not str and isinstance(name, str):
            # A subclass may define __hash__ in Python, so using it as a key would not be atomic.
            name = str.__str__(name)
        while not self._pending.add(name, count):
            self._begin(name)

    async def flush(self) -> None:
        """Add the collected counts to the counters.

        Raises:
            ClientClosed: The client is closed.
            HoldfastError: Some counts could not be added. They are kept for the next flush, unless
                they can never be added.
        """
        self._caller.lifetime.check("adding to counters")
        await self._flush()

    async def _flush(self) -> None:
        problem: HoldfastError | None = None
        async with self._flushing:
            adds = self._pending.take(time.monotonic())
            if len(self._counters) > MAX_NAMES:
                self._counters = {}
            while adds:
                batch, adds = adds[:BATCH_SIZE], adds[BATCH_SIZE:]
                problems = await self._add_batch(batch)
                problem = problems[-1] if problems else problem
                if len(problems) == len(batch) and all(map(_may_succeed_later, problems)):
                    break  # The next batches would run into the same timeout.
        # Call `keep_alive(None)` before the check, because `_begin` adds a count and then calls
        # `keep_alive(self)`: so a count that is added meanwhile keeps the buffer alive.
        self._flushes.keep_alive(None)
        if not self._pending.is_empty:
            self._flushes.keep_alive(self)
        if problem is not None:
            raise problem

    async def _flush_again(self, op_id: str) -> None:
        """Repeat an add that lost its reply, by a flush: each flush repeats such adds."""
        del op_id
        await self._flush()

    async def close(self) -> None:
        """Flush, and refuse further counts. Safe to repeat.

        Raises:
            HoldfastError: Some counts could not be added. They are lost, unless the error is an
                `OutcomeUnknown`, and its `repeat()` adds them.
        """
        if self._ended:
            return
        self._pending.is_closed = True
        await self._flushes.stop()
        try:
            await self._flush()
        except HoldfastError:
            self._end()
            raise
        self._end()  # After an interruption this is skipped, so that `close` can be called again.

    def _end(self) -> None:
        self._flushes.keep_alive(None)
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

    async def _add_batch(self, batch: Sequence[PendingAdd]) -> list[HoldfastError]:
        """Add *batch*, and return the errors. Keep the adds that may succeed later."""
        counters = {one.name: self._counter_of(one.name) for one in batch}
        writers = self._caller.writers
        unsent = [(one, self._operation_of(one, writers)) for one in batch]
        unsent = [(one, write) for one, write in unsent if one in self._pending]
        problems: list[HoldfastError] = []
        for _ in range(MAX_TRIES):
            if not unsent:
                break
            steps = [counters[one.name].add_step(write, one.amount, "") for one, write in unsent]
            answers = zip(unsent, await self._caller.call_many(ADD, steps), strict=True)
            unsent = []
            for (one, write), answer in answers:
                final = _final_answer(counters[one.name], answer)
                if final is None:
                    unsent.append((one, write))
                elif problem := self._settle(one, write, final):
                    problems.append(problem)
        await self._catalog.note_all(keys.KIND, [each.unit for each in counters.values()])
        return problems

    def _operation_of(self, one: PendingAdd, writers: Writers) -> Operation:
        """Return the operation for *one*. Until the server answers, every attempt has the same."""
        write = writers.operation(one.op_id, self._flush_again, verb="add")
        one.fresh = one.op_id is None
        one.op_id = write.id
        return write

    def _counter_of(self, name: str) -> AsyncCounter:
        return self._counters.get(name) or self._counters.setdefault(name, self._counter(name))

    def _settle(
        self, one: PendingAdd, write: Operation, answer: bytes | HoldfastError
    ) -> HoldfastError | None:
        """Remove *one*, or keep it for the next flush. Return its error; None if it was added."""
        try:
            # Settle *one* inside `with`, because afterwards another operation may use the writer.
            with write:
                if not isinstance(answer, HoldfastError):
                    self._pending.settled(one)
                    self._counter_of(one.name).check_reply(answer)
                elif not _may_succeed_later(answer):
                    self._pending.settled(one)
                elif one.fresh and isinstance(answer, ServerUnavailable):
                    one.op_id = None  # The add was not applied, so it may be merged with others.
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
        except Exception:
            # Not an error of Holdfast: a credential provider, for example, may fail once.
            logger.exception("counts are kept for the next flush")

    def _begin(self, name: str) -> None:
        """Start a count for *name*, and make sure that it will be flushed."""
        self._caller.lifetime.check(f"adding to counter {name!r}")
        self._counter_of(name)
        self._flushes.start()
        names = self._pending.begin(name)
        # Keep the buffer alive until the flush, even if the program has no reference to it.
        self._flushes.keep_alive(self)
        if names >= MAX_NAMES:
            self._flushes.run_now()

    def after_fork(self) -> None:
        """Start empty in a forked child, because the parent adds the counts."""
        self._flushing = Mutex()
        is_closed = self._pending.is_closed
        self._counters, self._pending = {}, pending_counts()
        self._pending.is_closed = is_closed
        self._flushes = self._flushes.copy_with(self._flush_quietly)


def _final_answer(
    counter: AsyncCounter, answer: bytes | HoldfastError
) -> bytes | HoldfastError | None:
    """Return *answer*, or the error that it reports. None: send the add again.

    The add must be sent again if it assumed an old definition of the counter.
    """
    try:
        is_redefined = isinstance(answer, bytes) and counter.is_redefined(answer)
    except DecodeError as error:
        return DamagedData("counters/add", error.what, error.problem)
    return None if is_redefined else answer


def _may_succeed_later(error: HoldfastError) -> bool:
    return isinstance(error, ServerUnavailable | OutcomeUnknown | DecodeError)
