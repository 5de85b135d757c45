"""Check costs, and identify limits in the state of a subject."""

from __future__ import annotations

import hashlib
from binascii import b2a_base64
from collections.abc import Mapping, Sequence
from os import urandom
from typing import Final
from zlib import crc32

from ..core.checks import checked_int, checked_op_id
from .limit import MAX_AMOUNT, UNNAMED, Limit

Costs = int | Mapping[str, int] | None
"""What a call costs: name of a limit → cost. A number is the cost of `requests`. None: one call."""

MARK: Final = 6
"""Characters of a *mark*, which identifies an operation in the state of a subject."""

OURS: Final = "hf:limit:"
"""The beginning of an `op_id` that this library made; the mark follows."""


class CostAboveLimit(ValueError):
    """A cost is above the amount of its limit, so the call could never pass."""


def checked_costs(costs: Costs, limits: Sequence[Limit]) -> tuple[int, ...]:
    """Return the cost for each of *limits*.

    Raises:
        TypeError: a cost is not an int.
        CostAboveLimit: a cost is above its limit.
        ValueError: a cost is missing, negative, or of an unknown name.
    """
    if costs is None:
        given: Mapping[str, int] = {}
    else:
        given = costs if isinstance(costs, Mapping) else {UNNAMED: costs}
    found = []
    for limit in limits:
        if limit.key not in given and limit.key != UNNAMED:
            raise ValueError(f"give the cost of {limit.key!r}, as in {{{limit.key!r}: 1}}")
        cost = checked_int(given.get(limit.key, 1), f"the cost of {limit.key!r}", 0)
        if cost > limit.amount:
            raise CostAboveLimit(
                f"a cost of {cost:,} never fits: the limit of {limit.key!r} is {limit.amount:,}"
                f" in {limit.per_ms / 1000:g} s"
            )
        found.append(cost)
    _check_names(given, limits)
    return tuple(found)


def checked_actual(
    costs: Mapping[str, int], limits: Sequence[Limit], charged: Sequence[int]
) -> tuple[int, ...]:
    """Return the actual cost for each of *limits*. A cost that is not given stays as *charged*.

    Raises:
        TypeError: *costs* is not a mapping, or a cost is not an int.
        ValueError: a cost is negative, too large, or of an unknown name.
    """
    if not isinstance(costs, Mapping):
        got = f"got {type(costs).__name__} {costs!r}"
        raise TypeError(f"give the actual costs by name, as in {{{limits[0].key!r}: 1}}; {got}")
    _check_names(costs, limits)
    return tuple(
        checked_int(costs.get(limit.key, before), f"the cost of {limit.key!r}", 0, MAX_AMOUNT)
        for limit, before in zip(limits, charged, strict=True)
    )


def tags_of(limits: Sequence[Limit]) -> tuple[int, ...]:
    """Return a number of 16 bits for each of *limits*, which identifies its log.

    It depends on the name, and on the rank of the period among limits of that name. So a limit
    keeps its log if its amount or period changes.
    """
    taken: dict[int, int] = {}
    for i in sorted(range(len(limits)), key=lambda i: (limits[i].key, limits[i].per_ms)):
        rank = sum(limits[i].key == limits[n].key for n in taken.values())
        tag = crc32(f"{limits[i].key} {rank}".encode()) & 0xFFFF
        while tag in taken:
            tag = (tag + 1) & 0xFFFF
        taken[tag] = i
    by_limit = {i: tag for tag, i in taken.items()}
    return tuple(by_limit[i] for i in range(len(limits)))


def new_mark() -> str:
    """Return the mark of a new operation: 36 random bits."""
    return b2a_base64(urandom(MARK)).decode()[:MARK]


def mark_of(op_id: str) -> str:
    """Return the mark of the operation with this *op_id*.

    Raises:
        TypeError: *op_id* is not a str.
    """
    checked_op_id(op_id)
    if op_id.startswith(OURS) and len(op_id) == len(OURS) + MARK and op_id.isascii():
        return op_id[len(OURS) :]
    digest = hashlib.blake2b(op_id.encode("utf-8", "surrogatepass"), digest_size=MARK).digest()
    return b2a_base64(digest).decode()[:MARK]


def _check_names(given: Mapping[str, int], limits: Sequence[Limit]) -> None:
    known = dict.fromkeys(limit.key for limit in limits)
    for name in given:
        if name not in known:
            shown = ", ".join(map(repr, known))
            raise ValueError(f"no limit is called {name!r}; the limits are {shown}")
