"""Provide the command line `holdfast …`. It uses only public names of the package."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line. If its extra is not installed, exit and say how to install it."""
    try:
        from .app import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich", "click"):
            raise
        sys.exit(
            "the command line needs an extra: install `holdfast[cli]` from where you got Holdfast"
        )
    app()
