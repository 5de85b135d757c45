# Generated from _async.py by tools/unasync.py: edit that one, then `make sync`.
"""Names of units by kind, the latest seen first."""

from __future__ import annotations

import time
from typing import Final

from ...errors import HoldfastError
from ..call._sync import Caller
from ..names import Namespace, Unit
from ..script import Script

NOTE: Final = Script.load("holdfast.core", "note")

_AGAIN_S: Final = 3600.0
"""A unit in use is noted this often."""

_REMEMBERED: Final = 4096
"""Units whose last note is remembered here; more are just noted more often."""


class Catalog:
    """Notes which units are in use, and lists them.

    Args:
        caller: how to reach the server.
        namespace: whose units.
    """

    def __init__(self, caller: Caller, namespace: Namespace) -> None:
        self._caller = caller
        self._namespace = namespace
        self._noted: dict[Unit, float] = {}

    def note(self, unit: Unit) -> None:
        """Remember that *unit* exists. A hint: a server that cannot be asked is no error here."""
        now = time.monotonic()
        if now - self._noted.get(unit, -_AGAIN_S) < _AGAIN_S:
            return
        if len(self._noted) >= _REMEMBERED:
            self._noted.clear()
        self._noted[unit] = now  # at once: many tasks may be enqueued at the same time
        page = self._page(unit.kind)
        try:
            self._caller.call(NOTE, page, [page.key("names")], [unit.name])
        except HoldfastError:
            self._noted.pop(unit, None)

    def names(self, kind: str, *, start: int = 0, limit: int = 1000) -> list[str]:
        """Names of the units of a *kind*, the latest noted first."""
        page = self._page(kind)
        reply = self._caller.read(page, "ZREVRANGE", page.key("names"), start, start + limit - 1)
        return [name.decode() for name in reply]

    def _page(self, kind: str) -> Unit:
        return self._namespace.unit("catalog", kind)
