# Generated from _async/completions.py by tools/unasync.py: edit that, then run `make sync`.
"""Provide completions: names that a search finds by the beginning of a word."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from typing import Final

from ...core import ledger
from ...core._sync.caller import Argument, Caller
from ...core._sync.catalog import Catalog
from ...core._sync.prepared_call import PreparedRead
from ...core.names import Unit
from ...core.script import Script
from ...core.stored import stored_int
from ...errors import ServerUnavailable
from .. import keys
from ..checks import (
    MAX_FOLDED_BYTES,
    checked_id,
    checked_limit,
    checked_name,
    checked_text,
)
from ..folding import MAX_WORDS, WHOLE, WORD, folded, index_prefixes
from ..full_prefixes import FullPrefixes
from ..match import Match

ADD: Final = Script.load("holdfast.completions", "add")
REMOVE: Final = Script.load("holdfast.completions", "remove")
SEARCH: Final = Script.load("holdfast.completions", "search")

ADD_BATCH: Final = 100
"""Names per call of `add_many`. Lua's `unpack` can pass the entries of so many names."""

REMOVE_BATCH: Final = 1000
"""Largest number of entries that one call removes."""

NameAndId = str | tuple[str, str | None]
"""A name, or a pair of a name and its id."""


class Completions:
    """Names in any script and language, found by the beginning of the name or of a later word.

    Names and prefixes are folded (NFKD without case): `STRASSE` finds `Straße`; `e`, `é` and `écl`
    find `Éclair`, but `ecl` does not. Reading writes nothing, so it works on a replica and for a
    read-only user. Names stay until they are removed.

    Made by `Holdfast.completions`.
    """

    def __init__(self, caller: Caller, catalog: Catalog, unit: Unit) -> None:
        self._caller = caller
        self._catalog = catalog
        self._unit = unit
        self._full = FullPrefixes()

    def __repr__(self) -> str:
        return f"Completions({self._unit.name!r})"

    def add(
        self,
        name: str,
        *,
        id: str | None = None,
        op_id: str | None = None,
    ) -> bool:
        """Add *name*. Return False if it was already there with this id.

        Args:
            name: the name, at most 512 bytes without NUL; a search finds it by its first 16 words.
            id: returned with a match; at most 512 bytes. A name may have several ids.
            op_id: see `OutcomeUnknown`.

        Raises:
            InvalidName: The name or the id cannot be stored.
        """
        members = _members([(name, id)])
        repeat = partial(self.add, name, id=id)
        new = bool(self._caller.write(ADD, self._unit, 1, *members, op_id=op_id, repeat=repeat))
        self._catalog.note(self._unit)
        return new

    def add_many(
        self, names: Iterable[NameAndId], *, progress: Callable[[int], object] | None = None
    ) -> int:
        """Add many names in batches of 100. Return how many of them are new.

        Args:
            names: names, or pairs of a name and its id.
            progress: called after each batch with the number of names that were added so far.

        Raises:
            InvalidName: A name cannot be stored. The earlier batches were added.
            ServerUnavailable: A batch failed. The earlier batches were added; repeating the call is
                safe.
        """
        if isinstance(names, str):
            raise TypeError("add_many takes several names; for a single one use add")
        rest, new, done = iter(names), 0, 0
        while chunk := [_pair(each) for each in islice(rest, ADD_BATCH)]:
            args: list[Argument] = [len(chunk), *_members(chunk)]
            added = self._caller.write(
                ADD, self._unit, *args, op_id=None, repeat=ledger.never, harmless=True
            )
            new += stored_int(added, self._answer)
            self._catalog.note(self._unit)
            done += len(chunk)
            if progress is not None:
                progress(done)
        return new

    def remove(
        self,
        name: str,
        *,
        id: str | None = None,
        op_id: str | None = None,
    ) -> int:
        """Remove *name*. Return how many entries were removed.

        Args:
            name: the name exactly as it was added.
            id: remove only the entry with this id; None: remove all entries with the name.
            op_id: see `OutcomeUnknown`.

        Raises:
            InvalidName: The name or the id is one that cannot be stored.
        """
        prefixes, entry_id = index_prefixes(checked_name(name)), checked_id(id)
        gone = part = 0
        names, repeat = REMOVE.keys(self._unit), partial(self.remove, name, id=id)
        with self._caller.writers.operation(op_id, repeat, verb="remove") as write:
            while gone == part * REMOVE_BATCH:
                args: list[Argument] = [write.part(part), write.number, entry_id, *prefixes]
                try:
                    gone += stored_int(
                        self._caller.call(REMOVE, self._unit, names, args), self._answer
                    )
                except ServerUnavailable as error:
                    if part == 0:
                        raise
                    raise ledger.partly(error, f"{gone:,} entries are gone") from error
                part += 1
        return gone

    def search(self, prefix: str, *, limit: int = 10) -> list[Match]:
        """Return the names that begin with *prefix*, then names with a later word that does.

        The first group is sorted by the folded names, the second one by the parts of the folded
        names that begin with the matching word.

        Args:
            prefix: the beginning; it is folded before the search. Empty: return all names.
            limit: largest number of names to return, 1 to 1,000.

        Raises:
            InvalidName: *prefix* is too long, or contains NUL.
        """
        if checked_limit(limit) is None:
            raise TypeError("limit must be an int")
        start = folded(checked_text(prefix, "a prefix"))
        if len(start.encode()) > MAX_FOLDED_BYTES:
            return []
        index = keys.index(self._unit)
        if self._full.is_likely(start, limit):
            command = _first_entries(index, WHOLE + start, limit)
            names = PreparedRead(self._caller, self._unit, command).attempt()
            if names is not None and len(names) == limit:
                return [Match.parse(member, index) for member in names]
        found = self._caller.call(
            SEARCH,
            self._unit,
            SEARCH.keys(self._unit),
            (WHOLE + start, WORD + start, limit, MAX_WORDS),
        )
        is_full = len(found) == limit and found[-1].startswith(WHOLE.encode())
        self._full.note(start, limit, is_full=is_full)
        return [Match.parse(member, index) for member in found]

    def has(self, name: str) -> bool:
        """Return whether there is an entry with exactly this *name*, with any id.

        Raises:
            InvalidName: The name is one that cannot be stored.
        """
        entry = index_prefixes(checked_name(name))[0]
        command = _first_entries(keys.index(self._unit), entry, 1)
        return bool(self._caller.read(self._unit, *command))

    def count(self) -> int:
        """Return the number of entries. A name with several ids has one entry for each id."""
        index = keys.index(self._unit)
        reply: int = self._caller.read(self._unit, "ZLEXCOUNT", index, f"[{WHOLE}", f"({WORD}")
        return reply

    @property
    def _answer(self) -> str:
        return f"an answer in the ledger of {self._unit}"


def _first_entries(index: str, beginning: str, limit: int) -> tuple[Argument, ...]:
    """Return the command for the first *limit* entries of the key *index* with this *beginning*."""
    first = beginning.encode()
    return ("ZRANGE", index, b"[" + first, b"(" + first + b"\xff", "BYLEX", "LIMIT", 0, limit)


def _pair(given: NameAndId) -> tuple[str, str | None]:
    if isinstance(given, str):
        return given, None
    try:
        name, id_ = given
    except (TypeError, ValueError):
        what = "add_many takes names, and pairs of a name and its id"
        raise TypeError(f"{what}, got {given!r}") from None
    return name, id_


def _members(names: Iterable[tuple[str, str | None]]) -> list[str]:
    """Return the entries of *names* in the index: first those of whole names, then of words."""
    whole: list[str] = []
    words: list[str] = []
    for name, id_ in names:
        entry_id = checked_id(id_)
        first, *others = index_prefixes(checked_name(name))
        whole.append(first + entry_id)
        words += [prefix + entry_id for prefix in others]
    return whole + words
