"""Define findings about servers, and the scale of severity that all checks use."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """Define how serious a problem is. The members are also texts, such as `"error"`.

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
        """Return the most serious of *severities*; `OK` if *severities* is empty."""
        return max(map(cls, severities), key=lambda each: each.rank, default=cls.OK)


@dataclass(frozen=True, slots=True)
class Finding:
    """Describe a problem of a server, or a note about it.

    Attributes:
        level: how serious the problem is: `error`, `warning` or `note`. A check that the client's
            user may not make is a note.
        title: what the problem is.
        why: the consequence of the problem.
        command: how to solve it: a command for the server's prompt, or an instruction.
        server: address of the server; empty if the finding is about all servers.
    """

    level: Severity
    title: str
    why: str
    command: str
    server: str = ""


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Return *findings* without duplicates, the most serious first. Findings of the same severity
    keep their order."""
    return sorted(dict.fromkeys(findings), key=lambda each: -each.level.rank)
