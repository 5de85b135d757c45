"""Options that several demos have."""

from __future__ import annotations

from typing import Annotated, Final

import typer

WRONG_USAGE: Final = 2

Seed = Annotated[
    int | None,
    typer.Option("--seed", metavar="N", min=0, help="Repeat a run that had this seed."),
]
Seconds = Annotated[
    float,
    typer.Option("--seconds", metavar="S", min=1.0, max=600.0, help="How long it runs, 1 to 600."),
]
