"""What `--help` shows beside an option: what it takes, in words for people, if anything."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption


class Commands(typer.Typer):
    """Commands whose help is for people."""

    def __init__(self, **options: Any) -> None:
        super().__init__(cls=_Group, **options)

    def command(self, name: str | None = None, **options: Any) -> Callable[[Any], Any]:
        """Add a command, as `typer.Typer.command` does."""
        return super().command(name, cls=_Command, **options)


class _Command(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        return _plain(super().get_params(ctx))


class _Group(TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:
        return _plain(super().get_params(ctx))


def _plain(params: Iterable[Any]) -> list[Any]:
    """*params*, shown without `<bool>`, `<str>` and `[x>=1]`; they are checked as before."""
    params = list(params)
    for param in params:
        if isinstance(param, TyperArgument):
            param.display_type_rich = _nothing  # type: ignore[method-assign]
        elif isinstance(param, TyperOption):
            param.min = param.max = None
            if param.is_flag:
                param.metavar = ""
    return params


def _nothing(ctx: Any) -> None:
    """The type of an argument: its name says enough."""
