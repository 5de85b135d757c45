"""Sort the keys of a namespace by unit, for an audit. No I/O."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..cache import audit as cache
from ..completions import audit as completions
from ..core import catalog_audit as catalog
from ..core import layout_audit as layout
from ..core import ledger
from ..core.audit import LEDGER, Part
from ..core.names import Namespace, Unit, decode_name, encode_name
from ..counters import audit as counters
from ..errors import InvalidName
from ..files import audit as files
from ..idempotency import audit as idempotency
from ..limits import audit as limits
from ..locks import audit as locks
from ..messages import audit as messages
from ..queues import audit as queues
from ..rows import audit as rows
from ..tallies import audit as tallies
from .audit_report import Damage
from .finding import Severity

_BLOCKS: Final[tuple[Any, ...]] = (
    cache, catalog, completions, counters, files, idempotency, layout, limits, locks, messages,
    queues, rows, tallies,
)  # fmt: skip

AUDITS: Final[Mapping[str, Any]] = {kind: audit for audit in _BLOCKS for kind in audit.KINDS}
"""Kind of unit → the audit of its block; see `core/audit.py`."""

_KEY: Final = re.compile(r"\{([a-z_]+):([^{}:]+)\}:(.+)", re.DOTALL)


class KeyInventory:
    """Count the keys of a namespace, sort them by unit, and check their names, types and expiries.

    Attributes:
        keys: number of keys.
        units: unit → name → how the audit reads the key of this name.

    Args:
        namespace: namespace of the keys.
    """

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace
        self.keys: int = 0
        self.units: dict[Unit, dict[str, Part]] = {}

    def add(self, key: bytes, kind: bytes, ttl_ms: int) -> Iterator[Damage]:
        """Add a key of the type *kind*; *ttl_ms* is the reply to PTTL. Yield the key's damages."""
        if kind == b"none" or ttl_ms == -2:
            return  # the key expired after the scan
        self.keys += 1
        text = key.decode(errors="backslashreplace")
        unit, name = self._owner(text)
        part = None if unit is None else _part(unit, name)
        if unit is None or part is None:
            what = f"no key of Holdfast has this name; it holds a {kind.decode()}"
            yield Damage(Severity.WARNING, "", "", text, what)
        elif kind.decode() != part.type:
            what = f"it holds a {kind.decode()}, and should hold a {part.type}"
            yield Damage(Severity.ERROR, unit.kind, unit.name, text, what)
        else:
            parts = self.units.setdefault(unit, {})
            if part.reading != "nothing":
                parts[name] = part
            if part.expires and ttl_ms == -1:
                what = "it never expires, but should: otherwise it stays when it is not needed"
                yield Damage(Severity.ERROR, unit.kind, unit.name, text, what)
            elif not part.expires and ttl_ms >= 0:
                what = f"it expires in {ttl_ms / 1000:.0f} s, but should not expire"
                yield Damage(Severity.ERROR, unit.kind, unit.name, text, what)

    def _owner(self, key: str) -> tuple[Unit | None, str]:
        found = _KEY.fullmatch(key.removeprefix(self._namespace.prefix))
        if found is None or found[1] not in AUDITS:
            return None, ""
        kind, encoded, part = found.groups()
        name = decode_name(encoded)
        try:
            if encode_name(name) != encoded:
                return None, ""
        except InvalidName:
            return None, ""
        return self._namespace.unit(kind, name), part


def _part(unit: Unit, name: str) -> Part | None:
    if unit.key(name) in ledger.keys(unit):
        return LEDGER
    part: Part | None = AUDITS[unit.kind].part(unit.kind, name)
    return part
