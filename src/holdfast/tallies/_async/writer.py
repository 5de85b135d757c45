"""Writes counts into a tally, each exactly once.

A commit says of a file: what lies between these offsets has been counted, and this is what came of
it. The server keeps up to where each file is counted, and takes a commit only if it begins there;
so it is taken once, whoever sends it, however often. Sums that are too large for one step are
staged first, become a journal in the step of the commit, and are added part by part; a journal
whose writer was killed is finished by whoever reads the tally, or writes into it, next.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from ...core._async.caller import Argument, AsyncCaller, Step
from ...core.ledger import new_writer
from ...core.names import Unit
from ...core.script import Script
from ...core.stored import decoding
from ...errors import HoldfastError, ServerUnavailable
from .. import keys
from ..counted import SAMPLES, Sums
from ..keys import KEPT_S, STAGED_S
from ..parts import Part, at_once, before, parts_of
from ..spot import Spot

STAGE: Final = Script.load("holdfast.tallies", "stage")
COMMIT: Final = Script.load("holdfast.tallies", "commit")
SETTLE: Final = Script.load("holdfast.tallies", "settle")
SAMPLE: Final = Script.load("holdfast.tallies", "sample")

TOGETHER: Final = 16
"""Parts that travel together."""

TRIES: Final = 3
"""Until staged parts that vanish are nobody's fault but the server's."""


class AsyncBook:
    """The counts of one tally, for writing."""

    def __init__(self, caller: AsyncCaller, unit: Unit) -> None:
        self._caller = caller
        self._unit = unit

    async def position(self, file: str) -> int:
        """Up to which offset the lines of a file are counted."""
        place = keys.position(self._unit, file)
        with decoding(place):
            stored = await self._caller.read(self._unit, "GET", place)
            return 0 if stored is None else Spot.parse(stored).offset

    async def spots(self, files: Sequence[str]) -> list[Spot | None]:
        """Return up to where each of *files* is counted; None: nothing is known of it."""
        places = [keys.position(self._unit, file) for file in files]
        found = await self._caller.read(self._unit, "MGET", *places)
        spots: list[Spot | None] = []
        for place, stored in zip(places, found, strict=True):
            with decoding(place):
                spots.append(None if stored is None else Spot.parse(stored))
        return spots

    async def commit(self, file: str, start: int, end: int, sums: Sums) -> int | None:
        """Count what lies between *start* and *end* of a file, unless somebody has.

        Returns:
            None when it was done; else up to where the file is counted, which is not *start*.

        Raises:
            ServerUnavailable: it was not done, or perhaps it was; repeating is harmless.
        """
        parts = parts_of(sums)
        along = at_once(parts)
        staged, direct = parts[: len(parts) - along], parts[len(parts) - along :]
        packed = [
            msgspec.msgpack.encode([part.name, there, *part.counts])
            for part, there in zip(staged, before(direct, staged), strict=True)
        ]
        for _ in range(TRIES):
            token = new_writer()
            await self._stage(token, packed)
            reply = await self._commit(token, file, (start, end, sums.mark), staged, direct)
            verdict, _, told = reply.partition(" ")
            if verdict == "at":
                return int(told)
            if not verdict:
                await self._settle(token, [part.name for part in staged])
                await self._sample(sums)
                return None
        raise ServerUnavailable(
            f"tallies/commit on {self._unit}", "the server lost what it was sent before"
        )

    async def settle(self) -> None:
        """Finish the journals of writers that were killed."""
        unit, pending = self._unit, keys.pending(self._unit)
        while tokens := await self._caller.read(unit, "LRANGE", pending, 0, 0):
            with decoding(pending):
                token = tokens[0].decode()
            journal = keys.journal(unit, token)
            left = await self._caller.read(unit, "LLEN", journal)
            head = await self._caller.read(unit, "LRANGE", journal, 0, 0)
            # One that is empty only leaves the list, and needs no name.
            with decoding(journal):
                name = msgspec.msgpack.decode(head[0], type=_Part).name if head else ""
            await self._all(SETTLE, [self._settling(token, name, left)])

    async def _stage(self, token: str, packed: list[bytes]) -> None:
        """Send parts, which wait for their commit."""
        names = STAGE.keys(self._unit, keys.staged(self._unit, token))
        there = 0
        while there < len(packed):
            some = enumerate(packed[there : there + TOGETHER], there)
            steps: list[Step] = [(self._unit, names, [i, STAGED_S, each]) for i, each in some]
            # The commit comes later: once that is durable, so are these.
            there = max(await self._all(STAGE, steps, durable=False))

    async def _commit(
        self,
        token: str,
        file: str,
        span: tuple[int, int, str],
        staged: list[Part],
        direct: list[Part],
    ) -> str:
        unit = self._unit
        names = COMMIT.keys(
            unit,
            keys.position(unit, file),
            keys.staged(unit, token),
            keys.journal(unit, token),
            *(keys.sums(unit, part.name) for part in direct),
        )
        start, end, mark = span
        args: list[Argument] = [str(start), str(end), token, len(staged), KEPT_S, mark]
        args += [msgspec.msgpack.encode(part.counts) for part in direct]
        with decoding(unit):
            reply: bytes = await self._caller.call(COMMIT, unit, names, args, harmless=True)
            return reply.decode()

    async def _settle(self, token: str, names: list[str]) -> None:
        """Add the parts of a journal to the sums of these *names*, one after the other."""
        left = len(names)
        while left:
            numbers = range(left, max(0, left - TOGETHER), -1)
            steps = [self._settling(token, names[-number], number) for number in numbers]
            left = min(await self._all(SETTLE, steps))

    def _settling(self, token: str, name: str, number: int) -> Step:
        """The step for the first of *number* parts of a journal, if it is called *name*."""
        unit = self._unit
        places = SETTLE.keys(unit, keys.journal(unit, token), keys.sums(unit, name))
        return unit, places, [token, number, KEPT_S, name]

    async def _sample(self, sums: Sums) -> None:
        for day, lines in sums.samples.items():
            args: list[Argument] = [SAMPLES, KEPT_S, *lines]
            place = SAMPLE.keys(self._unit, keys.samples(self._unit, day))
            with decoding(self._unit):
                await self._caller.call(
                    SAMPLE, self._unit, place, args, harmless=True, durable=False
                )

    async def _all(self, script: Script, steps: list[Step], *, durable: bool = True) -> list[int]:
        """What each step answers. One that did not work out did nothing: the others tell."""
        answers = await self._caller.call_many(script, steps, harmless=True, durable=durable)
        numbers = [answer for answer in answers if not isinstance(answer, HoldfastError)]
        if not numbers:
            with decoding(self._unit):
                raise answers[0]
        return numbers


class _Part(msgspec.Struct, array_like=True):
    """The beginning of a part of a journal."""

    name: str
