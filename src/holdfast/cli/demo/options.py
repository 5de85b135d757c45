"""Options that the demos share."""

from __future__ import annotations

import random
from typing import Annotated, Any, Final

import typer

SEEDS: Final = 10_000

AsJson = Annotated[bool, typer.Option("--json", help="Print the report as one JSON object.")]


def seed_option(what: str) -> Any:
    """The option `--seed`, which brings *what* was seen back."""
    told = f"The same {what} as another time."
    return typer.Option("--seed", metavar="N", min=0, help=told)


def chosen(seed: int | None) -> int:
    """*seed*, or one that is drawn by lot."""
    return random.randrange(SEEDS) if seed is None else seed
