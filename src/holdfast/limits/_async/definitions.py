"""Store and list the definitions of rate limiters, for operators."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from ...core._async.caller import Argument, AsyncCaller, Step
from ...core._async.catalog import AsyncCatalog
from ...core.names import Namespace, Unit
from ...core.script import Script
from ...errors import DecodeError, HoldfastError, ServerRefused
from .. import keys
from ..definition import packed_limits, parsed_limits
from ..limit import Limit

DEFINE: Final = Script.load("holdfast.limits", "define")
DEFINITION: Final = Script.load("holdfast.limits", "definition")

LISTED: Final = 1000
"""Largest number of limiters that one call returns."""

_BATCH: Final = 500


async def define(caller: AsyncCaller, unit: Unit, limits: tuple[Limit, ...]) -> None:
    """Store the *limits* of a limiter. Ignore a server that refuses or cannot be reached."""
    args: list[Argument] = [packed_limits(limits), keys.KEPT_MS]
    with suppress(HoldfastError):
        await caller.call(DEFINE, unit, DEFINE.keys(unit), args, harmless=True, durable=False)


async def known_limiters(
    caller: AsyncCaller, catalog: AsyncCatalog, namespace: Namespace, names: list[str]
) -> dict[str, tuple[Limit, ...]]:
    """Return name → limits of the limiters that have a definition; at most `LISTED` of them.

    Remove the other names from the catalog if this user may write.

    Args:
        caller: sends the calls.
        catalog: the catalog of names.
        namespace: the namespace of the limiters.
        names: names from the catalog, the most recently used first.
    """
    known: dict[str, tuple[Limit, ...]] = {}
    for i in range(0, min(len(names), LISTED), _BATCH):
        units = [namespace.unit(keys.LIMITER, name) for name in names[i : i + _BATCH]]
        steps: list[Step] = [(unit, DEFINITION.keys(unit), []) for unit in units]
        answers = await caller.call_many(DEFINITION, steps)
        gone = []
        for unit, answer in zip(units, answers, strict=True):
            if isinstance(answer, HoldfastError):
                raise answer
            if answer is None:
                gone.append(unit)
                continue
            with suppress(DecodeError):
                known[unit.name] = parsed_limits(answer, f"the definition of {unit}")
        with suppress(ServerRefused):
            await catalog.forget_all(keys.LIMITER, gone)
    return known
