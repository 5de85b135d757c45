# Generated from _async/counter.py by tools/unasync.py: edit that, then run `make sync`.
"""How often something happened."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from functools import partial
from typing import Any, Final

from ...core._sync.caller import Argument, Caller, Step
from ...core._sync.catalog import Catalog
from ...core.checks import checked_int
from ...core.clock import Duration, Instant, from_epoch_ms, to_epoch_ms, to_seconds
from ...core.ledger import Operation
from ...core.names import Unit
from ...core.script import Script
from ...core.stored import stored_int
from ...errors import CounterOverflow, DecodeError, DefinitionConflict, TimeOutOfRange
from .. import keys
from ..sample import Sample, Samples
from ..shape import CounterOptions, Shape
from ..state import CounterState

ADD: Final = Script.load("holdfast.counters", "add")
DEFINITION: Final = Script.load("holdfast.counters", "definition")
SAMPLES: Final = Script.load("holdfast.counters", "samples")
REDEFINE: Final = Script.load("holdfast.counters", "redefine")

USUAL: Final = Shape()

MAX_COUNT: Final = 2**63 - 1
MIN_COUNT: Final = -MAX_COUNT
MIN_STORED: Final = -(2**63)

MOST_TRIES: Final = 16
"""Of one add: each learns another shape. So often nobody redefines a counter."""


class Counter:
    """Counts per second, minute, hour, …: all precisions together, by the server's clock.

    Each precision keeps its latest samples; older ones vanish by themselves, and so does a counter
    to which nobody adds any more.

    Made by `Holdfast.counter`.
    """

    def __init__(self, caller: Caller, catalog: Catalog, unit: Unit, given: CounterOptions) -> None:
        self._caller = caller
        self._catalog = catalog
        self.unit = unit
        self._say(given, USUAL)
        # Of each add, what depends on the shape only: two dozen strings.
        self._parts: tuple[Shape, tuple[str | bytes, ...], tuple[Argument, ...]] | None = None

    def __repr__(self) -> str:
        return f"Counter({self.unit.name!r})"

    def add(self, count: int = 1, *, at: Instant | None = None, op_id: str | None = None) -> None:
        """Count, in all precisions or in none.

        Args:
            count: how many; less than 2^63 either way, below zero takes away.
            at: when it happened; None: now. Where samples of that time are gone already it counts
                in the coarser precisions only. Up to a minute ahead of the server's clock is now.
            op_id: see `OutcomeUnknown`.

        Raises:
            TimeOutOfRange: *at* is too far ahead, or so old that no precision keeps it.
            CounterOverflow: a sample would be 2^63 or more.
            DefinitionConflict: other precisions are stored.
        """
        amount = checked_count(count)
        at_ms: Argument = "" if at is None else to_epoch_ms(at, "at")
        if amount == 0:
            return
        with self._caller.writers.operation(
            op_id, partial(self.add, count, at=at), verb="add"
        ) as write:
            for _ in range(MOST_TRIES):
                reply = self._caller.call(ADD, *self.step(write, amount, at_ms))
                if self.understood(reply):
                    break
            self.judge(reply)
        self._catalog.note(self.unit)

    def step(self, write: Operation, amount: int, at_ms: Argument) -> Step:
        """What `ADD` is called with. The shape may be guessed: the server says if it is wrong."""
        shape = self._shape or self._guess
        if self._parts is None or self._parts[0] is not shape:
            names = ADD.keys(self.unit, *shape.chunks(self.unit))
            about: tuple[Argument, ...] = (str(shape), *map(str, (shape.keep, *shape.precisions)))
            self._parts = shape, names, about
        _, names, about = self._parts
        return self.unit, names, (write.writer, write.number, amount, at_ms, *about)

    def understood(self, reply: bytes) -> bool:
        """Whether `ADD` has judged. False: another shape is stored, known by now; try once more.

        Raises:
            DefinitionConflict: it is not the shape that the user has said.
        """
        verdict, _, told = reply.partition(b" ")
        if verdict == b"shape":
            self._learn(self._parsed(told))
        return verdict != b"shape"

    def judge(self, reply: bytes) -> None:
        """Raise what `ADD` has against it, if anything.

        Raises:
            TimeOutOfRange: It was too early or too late.
            CounterOverflow: A sample would be too large.
            DecodeError: The ledger was changed by another program.
        """
        verdict, _, told = reply.partition(b" ")
        match verdict:
            case b"":
                pass
            case b"new":  # it may have been forgotten since it was noted from here
                self._catalog.doubt(self.unit)
            case b"overflow":
                raise CounterOverflow(str(self.unit))
            case b"late":
                raise TimeOutOfRange(str(self.unit), None)
            case b"ahead":
                ahead_ms = stored_int(told, f"the answer of {self.unit}")
                raise TimeOutOfRange(str(self.unit), ahead_ms / 1000)
            case _:
                what = f"an entry in the ledger of {self.unit}"
                raise DecodeError(what, f"{reply[:40]!r} is no answer to an add")

    def samples(
        self, precision: int, *, start: Instant | None = None, end: Instant | None = None
    ) -> Samples:
        """What was counted per bucket of *precision* seconds, the oldest first, without gaps.

        Args:
            precision: one of the counter's, in seconds.
            start: from the bucket of this instant on; by default as many as it keeps. What is not
                kept any more is left out.
            end: to the bucket of this instant; by default the one that has just begun.

        Raises:
            TypeError: *precision* is not an int.
            ValueError: the counter has no such precision.
        """
        precision = checked_int(precision, "precision")
        first_s = None if start is None else to_epoch_ms(start, "start") // 1000
        last_s = None if end is None else to_epoch_ms(end, "end") // 1000
        shape, now_s, counts = self._read(precision)
        if precision not in shape.precisions:
            known = ", ".join(map(str, shape.precisions))
            raise ValueError(f"{self.unit} has no precision of {precision} s; it has {known}")
        current = now_s // precision
        oldest = (current // shape.keep - 1) * shape.keep
        first = current - shape.keep + 1 if first_s is None else first_s // precision
        last = current if last_s is None else min(current, last_s // precision)
        return Samples(
            Sample(from_epoch_ms(bucket * precision * 1000), counts.get(bucket, 0))
            for bucket in range(max(first, oldest, 0), last + 1)
        )

    def total(self, window: Duration) -> int:
        """The sum of the last *window* seconds, in whole buckets of the finest precision for it.

        The bucket that has just begun is one of them: so it is up to a bucket less than *window*.

        Raises:
            ValueError: so much is not kept, or it is no length of time.
        """
        window_s = to_seconds(window, "window")
        if window_s == 0:
            raise ValueError("window must be more than 0 seconds")
        shape = self._shape or self._learn(self._stored() or self._guess)
        precision = 0
        while precision != shape.finest(window_s):  # others may redefine it meanwhile
            precision = shape.finest(window_s)
            shape, now_s, counts = self._read(precision)
        current = now_s // precision
        first = current - math.ceil(window_s / precision) + 1
        return sum(value for bucket, value in counts.items() if first <= bucket <= current)

    def rate(self, window: Duration) -> float:
        """How many per second, over the last *window* seconds; as `total`."""
        return self.total(window) / to_seconds(window, "window")

    def inspect(self) -> CounterState | None:
        """What it keeps; None: nobody has added to it, or not for so long that all is gone."""
        shape = self._stored()
        return None if shape is None else CounterState(shape.precisions, shape.keep)

    def redefine(
        self,
        *,
        precisions: Iterable[int] | None = None,
        keep: int | None = None,
        op_id: str | None = None,
    ) -> None:
        """Change for everyone what is kept. A new precision begins empty.

        Args:
            precisions: seconds of one sample, each; None leaves them as they are.
            keep: samples of each that are there at least; None leaves it as it is.
            op_id: see `OutcomeUnknown`.
        """
        given = CounterOptions.checked(precisions, keep)
        if given == CounterOptions():
            raise ValueError("say what is to change: precisions, keep or both")
        again = partial(self.redefine, precisions=given.precisions, keep=given.keep)
        args = (",".join(map(str, given.precisions or ())), given.keep or "", str(USUAL))
        self._caller.write(REDEFINE, self.unit, *args, op_id=op_id, repeat=again)
        self._catalog.doubt(self.unit)
        self._catalog.note(self.unit)
        self._say(self._given.after(given), given.over(self._shape or self._guess))

    def _read(self, precision: int) -> tuple[Shape, int, dict[int, int]]:
        """The shape, the server's time (s), and the samples of *precision* by bucket."""
        chunks = [keys.chunk(self.unit, precision, parity) for parity in (0, 1)]
        names = SAMPLES.keys(self.unit, chunks[0], chunks[1])
        told, now_s, even, odd = self._caller.call(SAMPLES, self.unit, names, [])
        shape = self._learn(self._parsed(told)) if told else self._shape or self._guess
        what = f"a sample in {chunks[0]} or {chunks[1]}"
        flat = [stored_int(each, what, MIN_STORED) for each in (*even, *odd)]
        counts: defaultdict[int, int] = defaultdict(int)
        for bucket, value in zip(flat[::2], flat[1::2], strict=True):
            counts[bucket] += value  # after `redefine` a bucket may lie in both
        return shape, int(now_s), counts

    def _stored(self) -> Shape | None:
        """What the server keeps; None: nothing."""
        told = self._caller.call(DEFINITION, self.unit, DEFINITION.keys(self.unit), [])
        return None if told is None else self._parsed(told)

    def _parsed(self, stored: bytes) -> Shape:
        return Shape.parse(stored, f"{keys.definition(self.unit)}, the definition of {self.unit},")

    def _say(self, given: CounterOptions, known: Shape) -> None:
        """Take what the user says; the rest is guessed, as *known*, until the server tells."""
        self._given, self._guess = given, given.over(known)
        self._shape = None if None in (given.precisions, given.keep) else self._guess

    def _learn(self, stored: Shape) -> Shape:
        """Take what is stored; DefinitionConflict if the user has said otherwise."""
        if part := self._given.unmet(stored):
            what, given = f"the {part} of {self.unit}", getattr(self._given, part)
            raise DefinitionConflict(what, getattr(stored, part), given)
        self._shape = stored
        return stored


def checked_count(count: Any) -> int:
    """*count*, if it is one.

    Raises:
        TypeError: it is not a whole number.
        ValueError: it is beyond 2^63.
    """
    if isinstance(count, bool) or not isinstance(count, int):
        raise TypeError(f"count must be an int, got {type(count).__name__} {count!r}")
    if not MIN_COUNT <= count <= MAX_COUNT:
        raise ValueError(f"count must be within ±{MAX_COUNT}, got {int(count)}")
    return int(count)
