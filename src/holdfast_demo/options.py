"""Options of the demos."""

from __future__ import annotations

from typing import Annotated, Any, Final

import typer

WRONG_USAGE: Final = 2

Seed = Annotated[
    int | None,
    typer.Option("--seed", metavar="N", min=0, help="Repeat a run that had this seed."),
]


def number(name: str, text: str, least: float, most: float) -> Any:
    """Return an option for a number from *least* to *most*. Its help is *text* and the limits."""
    sign = "S" if name == "--seconds" else "N"
    limits = f"{least:,g} to {most:,.0f}"
    return typer.Option(name, metavar=sign, min=least, max=most, help=f"{text}, {limits}.")


Seconds = Annotated[float, number("--seconds", "Seconds that it runs", 1, 600)]
