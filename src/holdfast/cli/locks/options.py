"""Options that the commands share."""

from __future__ import annotations

import math
from typing import Annotated

import typer


def finite(value: float | None) -> float | None:
    """*value*; what is no number of seconds is wrong usage."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"{value} is no number of seconds")
    return value


Timeout = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        min=0.0,
        callback=finite,
        help="How long to wait: 0 not at all, by default for ever.",
    ),
]
