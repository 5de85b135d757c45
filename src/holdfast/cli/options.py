"""Declare options, flags and arguments of commands."""

from __future__ import annotations

from typing import Any

import typer


def option(metavar: str, about: str, *names: str, **settings: Any) -> Any:
    """Return an option with a value.

    Args:
        metavar: the placeholder for the value in help texts.
        about: the help text.
        names: names of the option, such as `--limit`; by default the name of the parameter.
        settings: further settings of `typer.Option`, such as limits.
    """
    return typer.Option(*names, metavar=metavar, help=about, **settings)


def flag(about: str, *names: str) -> Any:
    """Return an option without a value; *about* is its help text."""
    return typer.Option(*names, help=about)


def argument(metavar: str, about: str, **settings: Any) -> Any:
    """Return an argument; *about* is its help text."""
    return typer.Argument(metavar=metavar, help=about, **settings)
