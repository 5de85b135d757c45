"""Commands that say in words for people what they take, and are loaded when they are called."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption
from typer.main import get_command

from .coercion import Sparing


class Commands(typer.Typer):
    """Commands whose help is for people."""

    def __init__(self, *, add_completion: bool = False, **options: Any) -> None:
        super().__init__(cls=_Group, add_completion=add_completion, **options)

    def command(self, name: str | None = None, **options: Any) -> Callable[[Any], Any]:
        """Add a command, as `typer.Typer.command` does."""
        return super().command(name, **{"cls": _Command, **options})

    def later(self, name: str, module: str, about: str) -> None:
        """Add the `app` of *module*, which is imported when the command is called."""

        def load() -> typer.Typer:
            found: typer.Typer = import_module(module).app
            return found

        self.command(name, cls=Later, help=about)(load)


class _Command(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        return _plain(super().get_params(ctx))


class _Group(TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:
        return _plain(super().get_params(ctx))


class Later(TyperCommand):
    """The name of a command and a line of help; it becomes the command when it is called."""

    def loaded(self) -> Any:
        """The command itself."""
        assert self.callback is not None
        return get_command(self.callback())

    def make_context(self, *args: Any, **options: Any) -> Any:
        """How a command begins to be called."""
        return self.loaded().make_context(*args, **options)


def _plain(params: Iterable[Any]) -> list[Any]:
    """*params*, shown without `<bool>`, `<str>` and `[x>=1]`; they are checked as before."""
    params = list(params)
    for param in params:
        param.get_runtime_param = Sparing  # which makes one
        if isinstance(param, TyperArgument):
            param.display_type_rich = _nothing  # type: ignore[method-assign]
        elif isinstance(param, TyperOption):
            param.min = param.max = None
            if param.is_flag:
                param.metavar = ""
    return params


def _nothing(ctx: Any) -> None:
    """The type of an argument: its name says enough."""
