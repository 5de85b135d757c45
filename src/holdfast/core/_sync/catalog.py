# Generated from _async/catalog.py by tools/unasync.py: edit that, then run `make sync`.
"""Names of units by kind, the latest seen first."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

from ...errors import HoldfastError
from ..clock import backoff_s
from ..names import Namespace, Unit
from ..script import Script
from .caller import Caller, CallKind

NOTE: Final = Script.load("holdfast.core", "note")
FORGET: Final = Script.load("holdfast.core", "forget")

_AGAIN_S: Final = 600.0
"""A unit in use is noted this often, as a server that restarted from an older state may miss it."""

MOST: Final = 10_000
"""Names of a kind that are kept."""

LISTED: Final = 1000
"""Names of a kind that are listed by default."""

_PAGE: Final = 1000
"""Names that are read or noted at once."""

_SHORTEST_SILENCE_S: Final = 1.0
_LONGEST_SILENCE_S: Final = 60.0
"""Seconds without notes to a list that cannot be reached, doubled each time."""

_REMEMBERED: Final = 4096
"""Units that this process remembers as noted; any more are noted more often."""


class Catalog:
    """Notes which units are in use, and lists them.

    Args:
        caller: how to reach the server.
        namespace: of the units.
        kind: of the calls that note and forget, as in `Caller.call`.
    """

    def __init__(
        self, caller: Caller, namespace: Namespace, *, kind: CallKind = CallKind.ORDINARY
    ) -> None:
        self._caller = caller
        self._kind = kind
        self._namespace = namespace
        self._noted: dict[Unit, float] = {}
        self._failures: dict[str, int] = {}  # by kind: all units of one are in the same list
        self._left_until: dict[str, float] = {}  # by kind as well

    def has(self, unit: Unit) -> bool:
        """Return whether `note` has nothing to do.

        *unit* was noted from here lately, or its list could not be reached a moment ago.
        """
        now = time.monotonic()
        return now - self._noted.get(unit, -_AGAIN_S) < _AGAIN_S or now < self._left_until.get(
            unit.kind, 0.0
        )

    def forget_note(self, unit: Unit) -> None:
        """Forget that *unit* was noted: it was removed or begins again."""
        self._noted.pop(unit, None)

    def note(self, unit: Unit) -> None:
        """Remember that *unit* exists. A hint: a server that cannot be asked is no error here."""
        if not self.has(unit):
            self._note(unit.kind, [unit])

    def note_all(self, kind: str, units: Iterable[Unit]) -> None:
        """Note many units of one *kind*; see `note`."""
        new = [unit for unit in units if not self.has(unit)]
        for i in range(0, len(new), _PAGE):
            self._note(kind, new[i : i + _PAGE])

    def _note(self, kind: str, units: list[Unit]) -> None:
        if len(self._noted) + len(units) > _REMEMBERED:
            self._noted.clear()
        now = time.monotonic()
        page, names = self._page(kind), [unit.name for unit in units]
        try:
            self._noted.update(dict.fromkeys(units, now))  # at once: many may come together
            place = [page.key("names")]
            self._caller.call(NOTE, page, place, names, kind=self._kind, durable=False)
        except BaseException as error:
            for unit in units:
                self._noted.pop(unit, None)
            if not isinstance(error, HoldfastError):
                raise
            self._leave(kind)
        else:
            self._failures.pop(kind, None)

    def _leave(self, kind: str) -> None:
        """Send no notes of a *kind* for a while. Concurrent failures count as one."""
        now = time.monotonic()
        if now >= self._left_until.get(kind, 0.0):
            failures = self._failures[kind] = self._failures.get(kind, 0) + 1
            pause_s = backoff_s(failures, _SHORTEST_SILENCE_S, _LONGEST_SILENCE_S)
            self._left_until[kind] = now + pause_s

    def names(self, kind: str, *, start: int = 0, limit: int = 1000) -> list[str]:
        """Return the names of the units of a *kind*, the latest noted first.

        What is not UTF-8 was not noted by Holdfast, and is left out.
        """
        return _readable(self._range(kind, start, limit))

    def every(self, kind: str, most: int = MOST, containing: str = "") -> list[str]:
        """Return names of units of a *kind*, the latest noted first.

        Args:
            kind: of the units.
            most: how many names to return at most.
            containing: return only names with this text in them, in capitals or not.
        """
        if most < 1:
            raise ValueError(f"at least 1 must be looked at, got {most}")
        names: dict[str, None] = {}  # one that was noted meanwhile has moved, and comes again
        wanted, start, full = containing.lower(), 0, True
        end = MOST if wanted else min(most, MOST)
        while full and len(names) < most and start < end:
            limit = min(_PAGE, end - start)
            page = self._range(kind, start, limit)
            names.update((name, None) for name in _readable(page) if wanted in name.lower())
            start, full = start + limit, len(page) == limit
        return list(names)[:most]

    def forget(self, unit: Unit) -> None:
        """Drop *unit* from the list: nothing is left of it."""
        self.forget_all(unit.kind, [unit])

    def forget_all(self, kind: str, units: Sequence[Unit]) -> None:
        """Forget many units of one *kind*, at most a page of them; see `forget`."""
        for unit in units:
            self.forget_note(unit)
        if units:
            page, names = self._page(kind), [unit.name for unit in units]
            self._caller.call(
                FORGET,
                page,
                [page.key("names")],
                names,
                kind=self._kind,
                harmless=True,
                durable=False,
            )

    def _range(self, kind: str, start: int, limit: int) -> list[bytes]:
        page = self._page(kind)
        reply: list[bytes] = self._caller.read(
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
