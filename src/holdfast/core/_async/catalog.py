"""Record and list the names of units that are in use.

The catalog has a list of names for each kind of unit. It is a hint: a name may be missing, or be
listed although the unit does not exist any more.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

from ...errors import HoldfastError
from ..clock import backoff_s
from ..names import Namespace, Unit
from ..script import Script
from .caller import AsyncCaller, CallKind

NOTE: Final = Script.load("holdfast.core", "note")
FORGET: Final = Script.load("holdfast.core", "forget")

_AGAIN_S: Final = 600.0
"""Seconds after which a unit in use is recorded again, because a server may have restarted from an
older state."""

MOST: Final = 10_000
"""Largest number of names of a kind that the server keeps."""

LISTED: Final = 1000
"""Number of names of a kind that are listed by default."""

_PAGE: Final = 1000
"""Largest number of names that one call reads or records."""

_SHORTEST_SILENCE_S: Final = 1.0
_LONGEST_SILENCE_S: Final = 60.0
"""Longest pause in seconds after a failed call to a list; the pause doubles with each failure."""

_REMEMBERED: Final = 4096
"""Largest number of recorded units that this process remembers. If there are more, some are
recorded again earlier."""


class AsyncCatalog:
    """Records which units are in use, and lists them.

    Args:
        caller: sends the calls.
        namespace: namespace of the units.
        kind: kind of the calls that record and remove, as in `AsyncCaller.call`.
    """

    def __init__(
        self, caller: AsyncCaller, namespace: Namespace, *, kind: CallKind = CallKind.ORDINARY
    ) -> None:
        self._caller = caller
        self._kind = kind
        self._namespace = namespace
        self._noted: dict[Unit, float] = {}
        self._failures: dict[str, int] = {}  # by kind, because each kind has one list
        self._paused_until: dict[str, float] = {}  # by kind

    def has(self, unit: Unit) -> bool:
        """Return whether `note` would do nothing.

        It does nothing if *unit* was recorded recently, or during the pause after a failed call.
        """
        now = time.monotonic()
        return now - self._noted.get(unit, -_AGAIN_S) < _AGAIN_S or now < self._paused_until.get(
            unit.kind, 0.0
        )

    def forget_note(self, unit: Unit) -> None:
        """Forget that *unit* was recorded, so that the next `note` records it again."""
        self._noted.pop(unit, None)

    async def note(self, unit: Unit) -> None:
        """Record *unit* unless that was done recently. Ignore a server that cannot be reached."""
        if not self.has(unit):
            await self._note(unit.kind, [unit])

    async def note_all(self, kind: str, units: Iterable[Unit]) -> None:
        """Record many units of one *kind*, as `note` does."""
        new = [unit for unit in units if not self.has(unit)]
        for i in range(0, len(new), _PAGE):
            await self._note(kind, new[i : i + _PAGE])

    async def _note(self, kind: str, units: list[Unit]) -> None:
        if len(self._noted) + len(units) > _REMEMBERED:
            self._noted.clear()
        now = time.monotonic()
        page, names = self._page(kind), [unit.name for unit in units]
        try:
            # Before the call, so that concurrent calls for the same units do nothing.
            self._noted.update(dict.fromkeys(units, now))
            keys = [page.key("names")]
            await self._caller.call(NOTE, page, keys, names, kind=self._kind, durable=False)
        except BaseException as error:
            for unit in units:
                self._noted.pop(unit, None)
            if not isinstance(error, HoldfastError):
                raise
            self._pause(kind)
        else:
            self._failures.pop(kind, None)

    def _pause(self, kind: str) -> None:
        """Stop recording units of *kind* for a while, because a call failed.

        Concurrent failures count as one.
        """
        now = time.monotonic()
        if now >= self._paused_until.get(kind, 0.0):
            failures = self._failures[kind] = self._failures.get(kind, 0) + 1
            pause_s = backoff_s(failures, _SHORTEST_SILENCE_S, _LONGEST_SILENCE_S)
            self._paused_until[kind] = now + pause_s

    async def names(self, kind: str, *, start: int = 0, limit: int = 1000) -> list[str]:
        """Return the names of units of *kind*, the most recently recorded first.

        Leave out names that are not UTF-8, because another program must have written them.
        """
        return _readable(await self._range(kind, start, limit))

    async def every(self, kind: str, most: int = MOST, containing: str = "") -> list[str]:
        """Return the names of units of *kind*, the most recently recorded first.

        Args:
            kind: kind of the units.
            most: largest number of names to return, at least 1.
            containing: return only names that contain this text; case is ignored.
        """
        if most < 1:
            raise ValueError(f"at least 1 must be looked at, got {most}")
        # A dict, because a name that is recorded meanwhile moves in the list and is read twice.
        names: dict[str, None] = {}
        wanted, start, full = containing.lower(), 0, True
        end = MOST if wanted else min(most, MOST)
        while full and len(names) < most and start < end:
            limit = min(_PAGE, end - start)
            page = await self._range(kind, start, limit)
            names.update((name, None) for name in _readable(page) if wanted in name.lower())
            start, full = start + limit, len(page) == limit
        return list(names)[:most]

    async def forget(self, unit: Unit) -> None:
        """Remove *unit* from the list, because it does not exist any more."""
        await self.forget_all(unit.kind, [unit])

    async def forget_all(self, kind: str, units: Sequence[Unit]) -> None:
        """Remove units of one *kind* from the list, at most 1,000 in one call."""
        for unit in units:
            self.forget_note(unit)
        if units:
            page, names = self._page(kind), [unit.name for unit in units]
            await self._caller.call(
                FORGET,
                page,
                [page.key("names")],
                names,
                kind=self._kind,
                harmless=True,
                durable=False,
            )

    async def _range(self, kind: str, start: int, limit: int) -> list[bytes]:
        page = self._page(kind)
        reply: list[bytes] = await self._caller.read(
            page, "ZREVRANGE", page.key("names"), start, start + limit - 1
        )
        return reply

    def _page(self, kind: str) -> Unit:
        return self._namespace.unit("catalog", kind)


def _readable(names: Iterable[bytes]) -> list[str]:
    found: list[str] = []
    for name in names:
        with suppress(UnicodeDecodeError):
            found.append(name.decode())
    return found
