"""How serious a finding is: one scale for `doctor` and the dashboard."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class Severity(StrEnum):
    """How serious a finding is; also the `level` of a `Finding`, as text.

    Attributes:
        OK: nothing to report.
        NOTE: worth knowing, nothing to do now.
        WARNING: data may be lost or work may stop later.
        ERROR: data is being lost, or work has stopped.
    """

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"

    @property
    def rank(self) -> int:
        """Return the place on the scale: 0 is `OK`, 3 is `ERROR`."""
        return list(Severity).index(self)


def worst(severities: Iterable[str]) -> Severity:
    """Return the most serious of *severities*; `OK` if there are none."""
    return max(map(Severity, severities), key=lambda each: each.rank, default=Severity.OK)
