"""`Finding`: one problem of a server; `Severity`: the one scale of everything that is checked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How serious a problem is. The members are also text, such as `"error"`.

    Attributes:
        OK: nothing to report.
        NOTE: worth knowing; nothing to do now.
        WARNING: data may be lost, or work may stop, later.
        ERROR: data is being lost or exposed, or work has stopped.
    """

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"

    @property
    def rank(self) -> int:
        """Return the position on the scale: 0 is `OK`, 3 is `ERROR`."""
        return list(Severity).index(self)

    @classmethod
    def worst(cls, severities: Iterable[str]) -> Severity:
        """Return the most serious of *severities*; `OK` if there are none."""
        return max(map(cls, severities), key=lambda each: each.rank, default=cls.OK)


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem of a server, or a note about it.

    Attributes:
        level: `error`: data is being lost, or open to others; `warning`: that may happen;
            `note`: worth knowing, such as a check that the user of the client may not make.
        title: what the problem is.
        why: the consequence.
        command: how to fix it: a command for the server's prompt, or an instruction.
        server: the address of the server; empty: all of them.
    """

    level: Severity
    title: str
    why: str
    command: str
    server: str = ""


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Return *findings* without duplicates, the most serious first, otherwise in their order."""
    return sorted(dict.fromkeys(findings), key=lambda each: -each.level.rank)
