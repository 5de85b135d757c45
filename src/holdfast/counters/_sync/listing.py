# Generated from _async/listing.py by tools/unasync.py: edit that, then run `make sync`.
"""List the counters that have samples."""

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
"""Largest number of names that one call returns."""

_BATCH: Final = 500
"""Number of counters that are read in one batch."""


def known_counters(
    caller: Caller, catalog: Catalog, namespace: Namespace, names: list[str]
) -> list[str]:
    """Return the names of counters that have samples, sorted; at most `LISTED` of them.

    Remove the other names from the catalog if this user may write.

    Args:
        caller: sends the calls.
        catalog: the catalog of names.
        namespace: the namespace of the counters.
        names: names from the catalog, the most recently used first.
    """
    known: list[str] = []
    for i in range(0, len(names), _BATCH):
        units = [namespace.unit(keys.KIND, name) for name in names[i : i + _BATCH]]
        steps: list[Step] = [(unit, [keys.definition(unit)], []) for unit in units]
        answers = caller.call_many(DEFINITION, steps)
        gone = []
        for unit, answer in zip(units, answers, strict=True):
            if isinstance(answer, HoldfastError) and not isinstance(answer, DecodeError):
                raise answer
            if answer is not None:  # A counter with a damaged definition (DecodeError) is listed.
                known.append(unit.name)
            else:
                gone.append(unit)
        with suppress(ServerRefused):
            catalog.forget_all(keys.KIND, gone)
        if len(known) >= LISTED:
            break
    return sorted(known[:LISTED])
