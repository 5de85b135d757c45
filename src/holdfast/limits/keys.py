"""Define every key of rate limiters: type, content and lifetime."""

from __future__ import annotations

from ..core.names import Unit

LIMITER = "limiter"
"""A rate limiter, under its name."""

SUBJECT = "limit"
"""One subject of a limiter, such as one user; named by `subject_unit` in limits/definition.py."""

KEPT_MS = 30 * 86_400 * 1000
"""Milliseconds after its last use for which a limiter is listed."""


def definition(unit: Unit) -> str:
    """STRING the limits of a limiter, as in `60/60000 90000/60000/tokens`.

    Each limit has an amount, a period (ms) and perhaps a name. It expires 30 days after the last
    use.
    """
    return unit.key("definition")


def log(unit: Unit) -> str:
    """STRING what passed a subject: packed instants and costs for each limit.

    It expires when none of these costs counts any more, one period after the last instant.
    """
    return unit.key("log")
