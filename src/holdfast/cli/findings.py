"""Print the findings of `doctor` and `fsck`, and choose their exit codes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import typer
from rich.text import Text

from .. import Severity
from ..inspect.formats import counted
from .exit_codes import WARNED, WRONG
from .output import print_block, untrusted

EXIT_CODES: Final = {
    Severity.ERROR: WRONG,
    Severity.WARNING: WARNED,
    Severity.NOTE: 0,
    Severity.OK: 0,
}

STYLES: Final = {
    Severity.ERROR: "bold red",
    Severity.WARNING: "bold yellow",
    Severity.NOTE: "bold cyan",
}


def print_title(level: str, title: str) -> None:
    """Print the first line of a finding."""
    print_block(Text.assemble((level, STYLES[Severity(level)]), " ", untrusted(title)))


def summary(levels: Iterable[str], *, nothing: str) -> str:
    """Return the number of findings of each severity, such as `1 error, 2 warnings`."""
    counts = Counter(map(Severity, levels))
    parts = [counted(counts[each], each.value) for each in STYLES if counts[each]]
    return ", ".join(parts) or nothing


def exit_with(levels: Sequence[str]) -> None:
    """Exit with the exit code for the most serious of *levels*."""
    raise typer.Exit(EXIT_CODES[Severity.worst(levels)])


def layout_title(version: int | None) -> str:
    """Return the version of the layout that a namespace stores, for the summary of a check."""
    return "no layout version yet" if version is None else f"layout version {version}"
