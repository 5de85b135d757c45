"""What commands print with."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape


def console(*, stderr: bool = False) -> Console:
    """A console for this moment's standard output; it honours NO_COLOR and pipes."""
    return Console(stderr=stderr, highlight=False)


def visible(text: str) -> str:
    """*text* of a stranger: control characters become visible escapes, markup is none."""
    return escape(
        "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    )
