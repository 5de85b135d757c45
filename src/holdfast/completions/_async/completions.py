"""Names that are found by their beginning."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from typing import Final

from ...core import ledger
from ...core._async.caller import Argument, AsyncCaller
from ...core._async.catalog import AsyncCatalog
from ...core.names import Unit
from ...core.script import Script
from ...core.stored import stored_int
from ...errors import ServerUnavailable
from .. import keys
from ..folding import (
    MAX_FOLDED_BYTES,
    MAX_WORDS,
    WHOLE,
    WORD,
    checked,
    checked_id,
    checked_name,
    folded,
    places,
)
from ..limits import checked_limit
from ..match import Match

ADD: Final = Script.load("holdfast.completions", "add")
REMOVE: Final = Script.load("holdfast.completions", "remove")
SEARCH: Final = Script.load("holdfast.completions", "search")

AT_ONCE: Final = 100
"""Names that one call adds: with all their words still no more than `unpack` takes."""

GONE_AT_ONCE: Final = 1000
"""Entries that one call removes."""

Named = str | tuple[str, str | None]
"""A name, or a name and its id."""


class AsyncCompletions:
    """Names of any script and language, found by their beginning and by that of their words.

    Names are folded (NFKD without case), and so is what is looked for: `STRASSE` finds `Straße`;
    `e`, `é` and `écl` find `Éclair`, but `ecl` does not. Reading writes nothing, so it works on a
    replica and for a user who may not write. Names stay until they are removed.

    Made by `AsyncHoldfast.completions`.
    """

    def __init__(self, caller: AsyncCaller, catalog: AsyncCatalog, unit: Unit) -> None:
        self._caller = caller
        self._catalog = catalog
        self._unit = unit

    def __repr__(self) -> str:
        return f"AsyncCompletions({self._unit.name!r})"

    async def add(
        self,
        name: str,
        *,
        id: str | None = None,
        op_id: str | None = None,
    ) -> bool:
        """Have *name* found. False: it was there already, with this id.

        Args:
            name: of 512 bytes at most, without NUL; found by its first 16 words.
            id: what else a match is to tell, of 512 bytes at most; several may have the same name.
            op_id: see `OutcomeUnknown`.

        Raises:
            InvalidName: it cannot be kept.
        """
        members = _members([(name, id)])
        again = partial(self.add, name, id=id)
        new = bool(
            await self._caller.write(ADD, self._unit, 1, *members, op_id=op_id, repeat=again)
        )
        await self._catalog.note(self._unit)
        return new

    async def add_many(
        self, names: Iterable[Named], *, progress: Callable[[int], object] | None = None
    ) -> int:
        """Have many names found; how many of them are new.

        Args:
            names: names, or pairs of a name and its id. Taken as they come, a hundred at a time.
            progress: called with how many were added so far.

        Raises:
            InvalidName: one cannot be kept; the hundreds before it are there.
            ServerUnavailable: likewise; calling again with all of them does no harm.
        """
        if isinstance(names, str):
            raise TypeError("add_many takes several names; for a single one use add")
        rest, new, done = iter(names), 0, 0
        while chunk := [_pair(each) for each in islice(rest, AT_ONCE)]:
            args: list[Argument] = [len(chunk), *_members(chunk)]
            added = await self._caller.write(
                ADD, self._unit, *args, op_id=None, repeat=ledger.never, harmless=True
            )
            new += stored_int(added, self._answer)
            await self._catalog.note(self._unit)
            done += len(chunk)
            if progress is not None:
                progress(done)
        return new

    async def remove(
        self,
        name: str,
        *,
        id: str | None = None,
        op_id: str | None = None,
    ) -> int:
        """Have *name* found no more; how many entries it had.

        Args:
            name: as it was added, to the letter.
            id: only the entry with this id; None: all entries that have the name.
            op_id: see `OutcomeUnknown`.

        Raises:
            InvalidName: it could not have been kept.
        """
        stands, ending = places(checked_name(name)), checked_id(id)
        gone = part = 0
        names, again = REMOVE.keys(self._unit), partial(self.remove, name, id=id)
        with self._caller.writers.operation(op_id, again, verb="remove") as write:
            while gone == part * GONE_AT_ONCE:
                args: list[Argument] = [write.part(part), write.number, ending, *stands]
                try:
                    gone += stored_int(
                        await self._caller.call(REMOVE, self._unit, names, args), self._answer
                    )
                except ServerUnavailable as error:
                    if part == 0:
                        raise
                    raise ledger.partly(error, f"{gone:,} entries are gone") from error
                part += 1
        return gone

    async def search(self, prefix: str, *, limit: int = 10) -> list[Match]:
        """The names that begin with *prefix*; after them those of which a later word does.

        Within both in the order of their folded forms.

        Args:
            prefix: in whatever case, folded; empty for the first names of all.
            limit: how many at most, 1 to 1,000.

        Raises:
            InvalidName: no name could begin so: it is too long, or holds NUL.
        """
        if checked_limit(limit) is None:
            raise TypeError("limit must be an int")
        start = folded(checked(prefix, "a prefix"))
        if len(start.encode()) > MAX_FOLDED_BYTES:
            return []
        index = keys.index(self._unit)
        found = await self._caller.call(
            SEARCH,
            self._unit,
            SEARCH.keys(self._unit),
            (WHOLE + start, WORD + start, limit, MAX_WORDS),
        )
        return [Match.parse(member, index) for member in found]

    async def has(self, name: str) -> bool:
        """Whether *name* is there, to the letter, with whatever id.

        Raises:
            InvalidName: it could not be kept.
        """
        stands = places(checked_name(name))[0].encode()
        first, last = b"[" + stands, b"(" + stands + b"\xff"
        index = keys.index(self._unit)
        return bool(
            await self._caller.read(
                self._unit, "ZRANGE", index, first, last, "BYLEX", "LIMIT", 0, 1
            )
        )

    async def count(self) -> int:
        """How many names there are; one with several ids counts so often."""
        index = keys.index(self._unit)
        reply: int = await self._caller.read(
            self._unit, "ZLEXCOUNT", index, f"[{WHOLE}", f"({WORD}"
        )
        return reply

    @property
    def _answer(self) -> str:
        return f"an answer in the ledger of {self._unit}"


def _pair(named: Named) -> tuple[str, str | None]:
    if isinstance(named, str):
        return named, None
    try:
        name, id_ = named
    except (TypeError, ValueError):
        what = "add_many takes names, and pairs of a name and its id"
        raise TypeError(f"{what}, got {named!r}") from None
    return name, id_


def _members(names: Iterable[tuple[str, str | None]]) -> list[str]:
    """What stands in the index for *names*: whole names first, then their words."""
    whole: list[str] = []
    words: list[str] = []
    for name, id_ in names:
        ending = checked_id(id_)
        first, *others = places(checked_name(name))
        whole.append(first + ending)
        words += [place + ending for place in others]
    return whole + words
