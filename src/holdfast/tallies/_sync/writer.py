# Generated from _async/writer.py by tools/unasync.py: edit that, then run `make sync`.
"""Write counts into a tally, each line exactly once.

A commit contains a file, two offsets, and the counts of the lines between them. The server stores
up to which offset each file is counted, and accepts a commit only if it begins at this offset. So
it accepts each commit once, even if the commit is sent again or by another process.

Counts that are too large for one step of the server are sent before, in chunks (staged). The commit
turns the staged chunks into a journal, and later steps add the journal's chunks to the counts. If
the writer is killed, the next reader or writer of the tally finishes the journal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from ...core._sync.caller import Argument, Caller, Step
from ...core.ledger import new_writer
from ...core.names import Unit
from ...core.script import Script
from ...core.stored import decoding
from ...errors import HoldfastError, ServerUnavailable
from .. import keys
from ..chunks import CountChunk, chunks_of, direct_chunks, values_before
from ..counted import SAMPLES, LineCounts
from ..keys import KEPT_S, STAGED_S
from ..position import FilePosition

STAGE: Final = Script.load("holdfast.tallies", "stage")
COMMIT: Final = Script.load("holdfast.tallies", "commit")
SETTLE: Final = Script.load("holdfast.tallies", "settle")
SAMPLE: Final = Script.load("holdfast.tallies", "sample")

STEPS_PER_CALL: Final = 16
"""Number of chunks that are sent in one call."""

ATTEMPTS: Final = 3
"""Number of attempts to commit while staged chunks are missing on the server."""


class TallyWriter:
    """Write the counts of one tally."""

    def __init__(self, caller: Caller, unit: Unit) -> None:
        self._caller = caller
        self._unit = unit

    def position(self, file: str) -> int:
        """Return the offset up to which *file* is counted."""
        key = keys.position(self._unit, file)
        with decoding(key):
            stored = self._caller.read(self._unit, "GET", key)
            return 0 if stored is None else FilePosition.parse(stored).offset

    def positions(self, files: Sequence[str]) -> list[FilePosition | None]:
        """Return the position of each of *files*; None for a file that was never counted."""
        position_keys = [keys.position(self._unit, file) for file in files]
        found = self._caller.read(self._unit, "MGET", *position_keys)
        positions: list[FilePosition | None] = []
        for key, stored in zip(position_keys, found, strict=True):
            with decoding(key):
                positions.append(None if stored is None else FilePosition.parse(stored))
        return positions

    def commit(self, file: str, start: int, end: int, counts: LineCounts) -> int | None:
        """Add the counts of the lines between the offsets *start* and *end* of *file*.

        Returns:
            None if the counts were added. Otherwise the offset up to which the file is counted. It
            differs from *start*, because another process has committed lines, or because the
            server lost a commit.

        Raises:
            ServerUnavailable: it is unknown whether the counts were added. Repeating is safe.
        """
        chunks = chunks_of(counts)
        split = len(chunks) - direct_chunks(chunks)
        staged, direct = chunks[:split], chunks[split:]
        packed = [
            msgspec.msgpack.encode([chunk.name, before, *chunk.counts])
            for chunk, before in zip(staged, values_before(direct, staged), strict=True)
        ]
        for _ in range(ATTEMPTS):
            token = new_writer()
            self._stage(token, packed)
            reply = self._commit(token, file, (start, end, counts.mark), staged, direct)
            status, _, detail = reply.partition(" ")
            if status == "at":
                return int(detail)
            if not status:
                self._settle(token, [chunk.name for chunk in staged])
                self._sample(counts)
                return None
        raise ServerUnavailable(
            f"tallies/commit on {self._unit}", "the server lost the staged counts"
        )

    def settle(self) -> None:
        """Add the chunks of all journals to the counts, for writers that were killed."""
        unit, pending = self._unit, keys.pending(self._unit)
        while tokens := self._caller.read(unit, "LRANGE", pending, 0, 0):
            with decoding(pending):
                token = tokens[0].decode()
            journal = keys.journal(unit, token)
            left = self._caller.read(unit, "LLEN", journal)
            head = self._caller.read(unit, "LRANGE", journal, 0, 0)
            # An empty journal needs no name: its step only removes the token from `pending`.
            with decoding(journal):
                name = msgspec.msgpack.decode(head[0], type=_JournalHead).name if head else ""
            self._call_all(SETTLE, [self._settle_step(token, name, left)])

    def _stage(self, token: str, packed: list[bytes]) -> None:
        """Send *packed* chunks to the server, for the commit with this *token*."""
        script_keys = STAGE.keys(self._unit, keys.staged(self._unit, token))
        sent = 0
        while sent < len(packed):
            batch = enumerate(packed[sent : sent + STEPS_PER_CALL], sent)
            steps: list[Step] = [
                (self._unit, script_keys, [n, STAGED_S, each]) for n, each in batch
            ]
            # Do not wait for durability: the commit is written later, so if the commit is durable,
            # the chunks are durable, too.
            sent = max(self._call_all(STAGE, steps, durable=False))

    def _commit(
        self,
        token: str,
        file: str,
        span: tuple[int, int, str],
        staged: list[CountChunk],
        direct: list[CountChunk],
    ) -> str:
        unit = self._unit
        script_keys = COMMIT.keys(
            unit,
            keys.position(unit, file),
            keys.staged(unit, token),
            keys.journal(unit, token),
            *(keys.counts(unit, chunk.name) for chunk in direct),
        )
        start, end, mark = span
        args: list[Argument] = [str(start), str(end), token, len(staged), KEPT_S, mark]
        args += [msgspec.msgpack.encode(chunk.counts) for chunk in direct]
        with decoding(unit):
            reply: bytes = self._caller.call(COMMIT, unit, script_keys, args, harmless=True)
            return reply.decode()

    def _settle(self, token: str, names: list[str]) -> None:
        """Add the chunks of a journal, one after the other, to the counts with these *names*."""
        left = len(names)
        while left:
            numbers = range(left, max(0, left - STEPS_PER_CALL), -1)
            steps = [self._settle_step(token, names[-number], number) for number in numbers]
            left = min(self._call_all(SETTLE, steps))

    def _settle_step(self, token: str, name: str, left: int) -> Step:
        """Return the step that adds the first chunk of a journal with *left* chunks."""
        unit = self._unit
        script_keys = SETTLE.keys(unit, keys.journal(unit, token), keys.counts(unit, name))
        return unit, script_keys, [token, left, KEPT_S, name]

    def _sample(self, counts: LineCounts) -> None:
        # Do not wait for durability: samples may be lost, only the counts must be exact.
        for day, lines in counts.samples.items():
            args: list[Argument] = [SAMPLES, KEPT_S, *lines]
            script_keys = SAMPLE.keys(self._unit, keys.samples(self._unit, day))
            with decoding(self._unit):
                self._caller.call(
                    SAMPLE, self._unit, script_keys, args, harmless=True, durable=False
                )

    def _call_all(self, script: Script, steps: list[Step], *, durable: bool = True) -> list[int]:
        """Run *steps* and return the replies of those that succeeded; raise an error if none did.

        A failed step is no problem if a later one succeeded: the server accepts a step only if all
        earlier ones have taken effect.
        """
        replies = self._caller.call_many(script, steps, harmless=True, durable=durable)
        numbers = [reply for reply in replies if not isinstance(reply, HoldfastError)]
        if not numbers:
            with decoding(self._unit):
                raise replies[0]
        return numbers


class _JournalHead(msgspec.Struct, array_like=True):
    """Decode only the name of the counts from a chunk of a journal."""

    name: str
