"""The list of counters in use."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from ...core._async.caller import AsyncCaller, Step
from ...core._async.catalog import AsyncCatalog
from ...core.names import Namespace
from ...errors import DecodeError, HoldfastError, ServerRefused
from .. import keys
from .counter import DEFINITION

LISTED: Final = 1000
"""How many names one call returns at most."""

_BATCH: Final = 500
"""How many counters are read together."""


async def known_counters(
    caller: AsyncCaller, catalog: AsyncCatalog, namespace: Namespace, names: list[str]
) -> list[str]:
    """Return those of *names* that the server has samples of, sorted.

    *names* come from the catalog, the latest noted first; if there are too many, the latest stay.
    Names without a counter are removed from the catalog if this user may write.
    """
    known: list[str] = []
    for i in range(0, len(names), _BATCH):
        units = [namespace.unit(keys.KIND, name) for name in names[i : i + _BATCH]]
        steps: list[Step] = [(unit, [keys.definition(unit)], []) for unit in units]
        answers = await caller.call_many(DEFINITION, steps)
        gone = []
        for unit, answer in zip(units, answers, strict=True):
            if isinstance(answer, HoldfastError) and not isinstance(answer, DecodeError):
                raise answer
            if answer is not None:  # also a damaged definition
                known.append(unit.name)
            else:
                gone.append(unit)
        with suppress(ServerRefused):
            await catalog.forget_all(keys.KIND, gone)
        if len(known) >= LISTED:
            break
    return sorted(known[:LISTED])
