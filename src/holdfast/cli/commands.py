"""Extend Typer: help texts show no Python types, and commands are imported when they are called."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption
from typer.main import get_command

from ..errors import UnsupportedPlatform
from .exit_codes import FAILED


class Commands(typer.Typer):
    """Groups commands. Their help shows no Python types."""

    def __init__(self, *, add_completion: bool = False, example: str = "", **options: Any) -> None:
        epilog = _epilog(example)
        super().__init__(cls=_PlainGroup, add_completion=add_completion, epilog=epilog, **options)

    def command(
        self, name: str | None = None, *, example: str = "", **options: Any
    ) -> Callable[[Any], Any]:
        """Add a command, as `typer.Typer.command` does, with *example* at the end of its help."""
        ending = {"epilog": _epilog(example)}
        return super().command(name, **{"cls": _PlainCommand, **ending, **options})

    def add_lazily(self, name: str, module: str, about: str, *, needs_posix: bool) -> None:
        """Add the `app` in *module* as the command *name*. Import *module* when it is called.

        If *needs_posix*, the command ends with a message on Windows.
        """

        def load() -> typer.Typer:
            if needs_posix and sys.platform == "win32":
                error = UnsupportedPlatform(f"`holdfast {name}`", "run it there")
                typer.echo(f"holdfast: {error}", err=True)
                raise typer.Exit(FAILED)
            found: typer.Typer = import_module(module).app
            return found

        self.command(name, cls=LazyCommand, help=about)(load)


def _epilog(example: str) -> str | None:
    """Return the text with *example* for the end of a help text."""
    return f"Example: {example}" if example else None


class LazyCommand(TyperCommand):
    """Stands for a command with its name and a line of help, until the command is called."""

    def load(self) -> Any:
        """Import the real command and return it."""
        assert self.callback is not None
        return get_command(self.callback())

    def make_context(self, *args: Any, **options: Any) -> Any:
        """Return the context of the real command."""
        return self.load().make_context(*args, **options)


class _PlainCommand(TyperCommand):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.help = _unfolded(self.help)

    def get_params(self, ctx: Any) -> list[Any]:
        return _plain(super().get_params(ctx))


class _PlainGroup(TyperGroup):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.help = _unfolded(self.help)

    def get_params(self, ctx: Any) -> list[Any]:
        return _plain(super().get_params(ctx))


def _unfolded(text: str | None) -> str | None:
    """Return *text* with each paragraph on one line, so that the terminal folds it once."""
    if text is None:
        return None
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


class _LightCoercion:
    """Returns values that need no conversion, and lets Typer convert all others.

    For a conversion Typer imports pydantic, which takes longer than most commands take to run.
    """

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return *value* converted to the type of *param*."""
        kind = param.type_descriptor.annotation
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if type(value) is kind and (kind is str or value is param.default):
            return value
        return type(param).get_runtime_param(param).coerce(value, param=param, ctx=ctx)


def _plain(params: Iterable[Any]) -> list[Any]:
    """Remove `<bool>`, `<str>` and `[x>=1]` from the help of *params*, but not their validation."""
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
    """Return None, so that the help shows no type behind an argument's name."""
