"""One thing that somebody should know about a server."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

Level = Literal["error", "warning", "note"]

LEVELS: Final[tuple[Level, ...]] = ("error", "warning", "note")
"""The worst first."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that should be looked at.

    Attributes:
        level: `error`: data is being lost, or open to strangers; `warning`: it may come to that;
            `note`: worth knowing, also what the user of the client may not look at.
        title: what it is.
        why: why that matters.
        command: what mends it: a command for the server's prompt, or in words what to do.
        server: its address; empty: all of them.
    """

    level: Level
    title: str
    why: str
    command: str
    server: str = ""


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """*findings* by level, else in their order; each once."""
    return sorted(dict.fromkeys(findings), key=lambda each: LEVELS.index(each.level))
