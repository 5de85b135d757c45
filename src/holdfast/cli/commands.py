"""Typer commands with help texts for people, loaded when they are called."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption
from typer.main import get_command


class Commands(typer.Typer):
    """A group of commands; its help shows no Python types."""

    def __init__(self, *, add_completion: bool = False, **options: Any) -> None:
        super().__init__(cls=_PlainGroup, add_completion=add_completion, **options)

    def command(self, name: str | None = None, **options: Any) -> Callable[[Any], Any]:
        """Add a command, as `typer.Typer.command` does."""
        return super().command(name, **{"cls": _PlainCommand, **options})

    def add_lazily(self, name: str, module: str, about: str) -> None:
        """Add the `app` of *module*, which is imported when the command is called."""

        def load() -> typer.Typer:
            found: typer.Typer = import_module(module).app
            return found

        self.command(name, cls=LazyCommand, help=about)(load)


class LazyCommand(TyperCommand):
    """The name of a command and a line of help; the command itself is loaded when it is called."""

    def load(self) -> Any:
        """Import the command and return it."""
        assert self.callback is not None
        return get_command(self.callback())

    def make_context(self, *args: Any, **options: Any) -> Any:
        """Return the context of the command itself."""
        return self.load().make_context(*args, **options)


class _PlainCommand(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        return _plain(super().get_params(ctx))


class _PlainGroup(TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:
        return _plain(super().get_params(ctx))


class _LightCoercion:
    """Returns a value that already has its type; calls Typer for the others.

    Typer imports pydantic, which takes longer than most commands take to run.
    """

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the value of *param* for the text *value*."""
        kind = param.type_descriptor.annotation
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if type(value) is kind and (kind is str or value is param.default):
            return value
        return type(param).get_runtime_param(param).coerce(value, param=param, ctx=ctx)


def _plain(params: Iterable[Any]) -> list[Any]:
    """Show *params* without `<bool>`, `<str>` and `[x>=1]`; they are validated as before."""
    params = list(params)
    for param in params:
        param.get_runtime_param = _LightCoercion
        if isinstance(param, TyperArgument):
            param.display_type_rich = _no_type  # type: ignore[method-assign]
        elif isinstance(param, TyperOption):
            param.min = param.max = None
            if param.is_flag:
                param.metavar = ""
    return params


def _no_type(ctx: Any) -> None:
    """Return no type for an argument: its name is enough."""
