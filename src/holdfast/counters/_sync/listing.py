# Generated from _async/listing.py by tools/unasync.py: edit that, then run `make sync`.
"""Which counters there are."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from ...core._sync.caller import Caller, Step
from ...core._sync.catalog import Catalog
from ...core.names import Namespace
from ...errors import DecodeError, HoldfastError, ServerRefused
from .. import keys
from .counter import DEFINITION

LISTED: Final = 1000
"""Names that one call returns at most."""

_TOGETHER: Final = 500
"""Counters that are asked for at once."""


def known_counters(
    caller: Caller, catalog: Catalog, namespace: Namespace, names: list[str]
) -> list[str]:
    """Those of *names* that keep anything, in order; of too many those added to last.

    The catalog has named them, the latest noted first. It is told what has vanished; who may not
    write leaves that to others.
    """
    known: list[str] = []
    for i in range(0, len(names), _TOGETHER):
        units = [namespace.unit(keys.KIND, name) for name in names[i : i + _TOGETHER]]
        steps: list[Step] = [(unit, [keys.definition(unit)], []) for unit in units]
        answers = caller.call_many(DEFINITION, steps)
        gone = []
        for unit, answer in zip(units, answers, strict=True):
            if isinstance(answer, HoldfastError) and not isinstance(answer, DecodeError):
                raise answer
            if answer is not None:  # damaged or not
                known.append(unit.name)
            else:
                gone.append(unit)
        with suppress(ServerRefused):
            catalog.forget_all(keys.KIND, gone)
        if len(known) >= LISTED:
            break
    return sorted(known[:LISTED])
