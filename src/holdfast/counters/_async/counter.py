"""Provide the counter that users call."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from functools import partial
from typing import Any, Final

from ...core._async.caller import Argument, AsyncCaller, Step
from ...core._async.catalog import AsyncCatalog
from ...core.checks import checked_int
from ...core.clock import Duration, Instant, from_epoch_ms, to_event_ms, to_seconds
from ...core.definitions import log_kept
from ...core.ledger import Operation
from ...core.names import Unit
from ...core.script import Script
from ...core.stored import stored_int
from ...errors import CounterOverflow, DecodeError, DefinitionConflict, TimeOutOfRange
from .. import keys
from ..definition import MAX_COUNT, CounterDefinition, CounterOptions, CounterState
from ..sample import Sample, Samples

ADD: Final = Script.load("holdfast.counters", "add")
DEFINITION: Final = Script.load("holdfast.counters", "definition")
SAMPLES: Final = Script.load("holdfast.counters", "samples")
REDEFINE: Final = Script.load("holdfast.counters", "redefine")

DEFAULT: Final = CounterDefinition()

MIN_COUNT: Final = -MAX_COUNT
MIN_STORED: Final = -(2**63)

MAX_TRIES: Final = 16
"""Largest number of attempts of an add. An attempt fails only if it assumes an old definition."""


class AsyncCounter:
    """A counter with samples per second, minute, hour and so on, by the server's clock.

    An add counts in all precisions at once. Each precision keeps its latest samples; older samples
    expire. The whole counter expires if no program adds to it any more.

    Made by `AsyncHoldfast.counter`.
    """

    def __init__(
        self, caller: AsyncCaller, catalog: AsyncCatalog, unit: Unit, options: CounterOptions
    ) -> None:
        self._caller = caller
        self._catalog = catalog
        self.unit = unit
        self._known: CounterDefinition | None = None
        self._replaced = ""  # the stored definition that the next add replaces
        self._set_options(options, DEFAULT)
        # Caches the keys and arguments of `add` that depend only on the definition: about 25
        # strings, which would otherwise be built for each call.
        self._prepared: (
            tuple[CounterDefinition, tuple[str | bytes, ...], tuple[Argument, ...]] | None
        ) = None

    def __repr__(self) -> str:
        return f"AsyncCounter({self.unit.name!r})"

    async def add(
        self, count: int = 1, *, at: Instant | None = None, op_id: str | None = None
    ) -> None:
        """Add *count* in all precisions or in none.

        Args:
            count: the number to add, between -2^63 and 2^63; a negative number subtracts.
            at: time of the counted event; None: now. Precisions that no longer keep samples of that
                time are left out. A time up to a minute ahead of the server's clock counts as now.
            op_id: see `OutcomeUnknown`.

        Raises:
            TimeOutOfRange: *at* is too far ahead, or so old that no precision keeps it.
            CounterOverflow: A sample would reach 2^63.
            DefinitionConflict: The server stores another definition, and `on_conflict` is `error`.
        """
        amount = checked_count(count)
        at_ms: Argument = "" if at is None else to_event_ms(at, "at")
        if amount == 0:
            return
        with self._caller.writers.operation(
            op_id, partial(self.add, count, at=at), verb="add"
        ) as write:
            for _ in range(MAX_TRIES):
                reply = await self._caller.call(ADD, *self.add_step(write, amount, at_ms))
                if not self.is_redefined(reply):
                    break
            self.check_reply(reply)
        await self._catalog.note(self.unit)

    def add_step(self, write: Operation, amount: int, at_ms: Argument) -> Step:
        """Return the arguments of a call of `ADD`.

        The call assumes a definition. If the assumption is wrong, the reply has the stored one.
        """
        replaced = self._replaced  # Read before `_known`, because of other threads.
        definition = self._known or self._assumed
        prepared = self._prepared  # Another thread may replace it.
        if prepared is None or prepared[0] is not definition:
            names = ADD.keys(self.unit, *definition.chunks(self.unit))
            fixed: tuple[Argument, ...] = (
                str(definition),
                replaced,
                *map(str, (definition.keep, *definition.precisions)),
            )
            prepared = self._prepared = definition, names, fixed
        _, names, fixed = prepared
        return self.unit, names, (write.writer, write.number, amount, at_ms, *fixed)

    def is_redefined(self, reply: bytes) -> bool:
        """Return whether `ADD` counted nothing, because the server stores another definition.

        If so, remember the stored definition for the next attempt.

        Raises:
            DefinitionConflict: The stored definition contradicts the options of the user.
        """
        result, _, text = reply.partition(b" ")
        if result == b"redefined":
            self._replaced = ""
            stored = self._remember(self._parsed(text))
            if self._options.on_conflict == "update" and self._options.conflict(stored):
                # In this order, because another thread that read only the second would replace the
                # stored definition by the assumed one.
                self._known = self._options.applied_to(stored)
                self._replaced = str(stored)
            self._prepared = None
        return result == b"redefined"

    def check_reply(self, reply: bytes) -> None:
        """Raise the error that the *reply* of `ADD` reports, if any.

        Raises:
            TimeOutOfRange: The time is too early or too late.
            CounterOverflow: A sample would be too large.
            DecodeError: Another program changed the ledger.
        """
        result, _, detail = reply.partition(b" ")
        match result:
            case b"":
                pass
            case b"new":
                # The counter had expired, so another client may have removed its name from the
                # catalog: record the name again.
                self._catalog.forget_note(self.unit)
            case b"overflow":
                raise CounterOverflow(str(self.unit))
            case b"late":
                raise TimeOutOfRange(str(self.unit), None)
            case b"ahead":
                ahead_ms = stored_int(detail, f"the answer of {self.unit}")
                raise TimeOutOfRange(str(self.unit), ahead_ms / 1000)
            case _:
                what = f"an entry in the ledger of {self.unit}"
                raise DecodeError(what, f"{reply[:40]!r} is no answer to an add")

    async def samples(
        self, precision: int, *, start: Instant | None = None, end: Instant | None = None
    ) -> Samples:
        """Return the samples of one precision, the oldest first, without gaps.

        Args:
            precision: seconds per sample, one of the precisions of the counter.
            start: a time in the first sample, unless that sample is no longer kept; by default,
                return `keep` samples up to now.
            end: a time in the last sample; by default now.

        Raises:
            TypeError: *precision* is not an int.
            ValueError: The counter has no such precision.
        """
        precision = checked_int(precision, "precision")
        first_s = None if start is None else to_event_ms(start, "start") // 1000
        last_s = None if end is None else to_event_ms(end, "end") // 1000
        definition, now_s, counts = await self._read(precision)
        if precision not in definition.precisions:
            known = ", ".join(map(str, definition.precisions))
            raise ValueError(f"{self.unit} has no precision of {precision} s; it has {known}")
        current = now_s // precision
        oldest = (current // definition.keep - 1) * definition.keep
        first = current - definition.keep + 1 if first_s is None else first_s // precision
        last = current if last_s is None else min(current, last_s // precision)
        return Samples(
            Sample(from_epoch_ms(bucket * precision * 1000), counts.get(bucket, 0))
            for bucket in range(max(first, oldest, 0), last + 1)
        )

    async def total(self, window: Duration) -> int:
        """Return the sum of the last *window* seconds.

        The sum covers whole buckets of the finest precision that keeps samples for so long. The
        last of them is the current bucket, so the sum covers up to one bucket less than *window*.

        Raises:
            ValueError: No precision keeps samples for so long, or *window* is not a positive
                duration.
        """
        window_s = to_seconds(window, "window")
        if window_s == 0:
            raise ValueError("window must be more than 0 seconds")
        definition = self._known or self._remember(await self._stored() or self._assumed)
        precision = 0
        # Repeat if another client has redefined the counter since.
        while precision != definition.finest(window_s):
            precision = definition.finest(window_s)
            definition, now_s, counts = await self._read(precision)
        current = now_s // precision
        first = current - math.ceil(window_s / precision) + 1
        return sum(value for bucket, value in counts.items() if first <= bucket <= current)

    async def rate(self, window: Duration) -> float:
        """Return `total` of *window* per second."""
        return await self.total(window) / to_seconds(window, "window")

    async def inspect(self) -> CounterState | None:
        """Return the definition that the server stores; None if the counter has no samples."""
        stored = await self._stored()
        return None if stored is None else CounterState(stored.precisions, stored.keep)

    async def redefine(
        self,
        *,
        precisions: Iterable[int] | None = None,
        keep: int | None = None,
        op_id: str | None = None,
    ) -> None:
        """Change the definition for all clients. A new precision begins empty.

        Args:
            precisions: seconds per sample; None: do not change them.
            keep: smallest number of samples that are kept of each precision; None: do not change
                it.
            op_id: see `OutcomeUnknown`.

        Raises:
            ValueError: Both are None, or a value is out of range.
        """
        change = CounterOptions.checked(precisions, keep)
        if change == CounterOptions():
            raise ValueError("give precisions, keep or both")
        repeat = partial(self.redefine, precisions=change.precisions, keep=change.keep)
        args = (",".join(map(str, change.precisions or ())), change.keep or "", str(DEFAULT))
        await self._caller.write(REDEFINE, self.unit, *args, op_id=op_id, repeat=repeat)
        self._catalog.forget_note(self.unit)
        await self._catalog.note(self.unit)
        known = change.applied_to(self._known or self._assumed)
        self._set_options(self._options.redefined(change), known)

    async def _read(self, precision: int) -> tuple[CounterDefinition, int, dict[int, int]]:
        """Return the definition, the server's time (s), and the counts of *precision* by bucket."""
        chunks = [keys.chunk(self.unit, precision, parity) for parity in (0, 1)]
        names = SAMPLES.keys(self.unit, chunks[0], chunks[1])
        stored, now_s, even, odd = await self._caller.call(SAMPLES, self.unit, names, [])
        definition = (
            self._remember(self._parsed(stored)) if stored else self._known or self._assumed
        )
        what = f"a sample in {chunks[0]} or {chunks[1]}"
        flat = [stored_int(each, what, MIN_STORED) for each in (*even, *odd)]
        counts: defaultdict[int, int] = defaultdict(int)
        for bucket, value in zip(flat[::2], flat[1::2], strict=True):
            counts[bucket] += value  # After a `redefine`, both chunks may have the bucket.
        return definition, int(now_s), counts

    async def _stored(self) -> CounterDefinition | None:
        """Return the definition that the server stores, or None."""
        stored = await self._caller.call(DEFINITION, self.unit, DEFINITION.keys(self.unit), [])
        return None if stored is None else self._parsed(stored)

    def _parsed(self, stored: bytes) -> CounterDefinition:
        what = f"{keys.definition(self.unit)}, the definition of {self.unit},"
        return CounterDefinition.parse(stored, what)

    def _set_options(self, options: CounterOptions, default: CounterDefinition) -> None:
        """Set the options. Options that are not given are assumed to be those of *default*."""
        self._options, self._assumed = options, options.applied_to(default)
        is_complete = None not in (options.precisions, options.keep)
        self._known = self._assumed if is_complete else None

    def _remember(self, stored: CounterDefinition) -> CounterDefinition:
        """Return *stored*, and remember it for the next call.

        If it contradicts the options, do what `on_conflict` requires. With `update`, do not
        remember *stored*, because the next add replaces it.
        """
        part, on_conflict = self._options.conflict(stored), self._options.on_conflict
        if part and on_conflict != "update":
            what = f"the {part} of {self.unit}"
            values = getattr(stored, part), getattr(self._options, part)
            if on_conflict == "error":
                raise DefinitionConflict(what, *values)
            log_kept(what, *values)
        if not part or on_conflict == "keep":
            self._known = stored
        return stored


def checked_count(count: Any) -> int:
    """Return *count* if a counter can add it.

    Raises:
        TypeError: *count* is not an int.
        ValueError: *count* is not between -2^63 and 2^63.
    """
    if isinstance(count, bool) or not isinstance(count, int):
        raise TypeError(f"count must be an int, got {type(count).__name__} {count!r}")
    if not MIN_COUNT <= count <= MAX_COUNT:
        raise ValueError(f"count must be within ±{MAX_COUNT}, got {int(count)}")
    return int(count)
