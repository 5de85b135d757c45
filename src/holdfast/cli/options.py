"""How commands declare their options, flags and arguments."""

from __future__ import annotations

from typing import Any

import typer


def option(metavar: str, about: str, *names: str, **settings: Any) -> Any:
    """Return an option with a value; without *names* it is called like the parameter.

    Args:
        metavar: stands for the value in help texts.
        about: the help text.
        names: such as `--limit`.
        settings: limits and others, as of `typer.Option`.
    """
    return typer.Option(*names, metavar=metavar, help=about, **settings)


def flag(about: str, *names: str) -> Any:
    """Return an option without a value; *about* is its help text."""
    return typer.Option(*names, help=about)


def argument(metavar: str, about: str, **settings: Any) -> Any:
    """Return an argument; *about* is its help text."""
    return typer.Argument(metavar=metavar, help=about, **settings)
