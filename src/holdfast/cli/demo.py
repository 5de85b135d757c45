"""`holdfast demo`: run the demos of the package `holdfast_demo`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any, Final, get_type_hints

import typer

from .commands import Commands
from .connection import Embedded, Url, client_errors, connected, fail, on_command_line
from .exit_codes import WRONG_USAGE
from .options import flag

MISSING: Final = "the demo needs {}: install `holdfast[demo]` from where you got Holdfast"

try:
    from holdfast_demo.demos import DEMOS, DemoFailed, WorldDemo, run
except ModuleNotFoundError as _missing:
    fail(MISSING.format(_missing.name))

if TYPE_CHECKING:
    from holdfast_demo.demos import Demo

AsJson = Annotated[bool, flag("Print the report as one JSON object.", "--json")]
SERVER: Final[dict[str, Any]] = {"url": Url, "embedded": Embedded}
"""Options of a demo that other commands have as well: name → type."""


def command_of(kind: type[Demo]) -> Callable[..., None]:
    """Return a command that runs the demo *kind*. The fields of *kind* are its options."""

    def command(as_json: bool = False, **options: Any) -> None:
        _run(kind(**options), as_json=as_json)

    hints = get_type_hints(kind, include_extras=True) | SERVER | {"as_json": AsJson}
    defaults = {each.name: each.default for each in fields(kind)} | {"as_json": False}  # type: ignore[arg-type]
    names = [name for name in defaults if hasattr(hints[name], "__metadata__")]
    command.__doc__ = inspect.getdoc(kind)
    command.__annotations__ = {name: hints[name] for name in names}
    command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=defaults[name], annotation=hints[name]
            )
            for name in names
        ]
    )
    return command


def _run(demo: Demo, *, as_json: bool) -> None:
    try:
        if demo.url:
            with connected(demo.url, None, "demo"):  # ends the command if the URL is invalid
                pass
        with client_errors(demo.url, demo.embedded):
            code = run(demo, as_json=as_json)
    except DemoFailed as error:
        fail(str(error), code=error.code)
    except ModuleNotFoundError as error:  # a demo imports an extra when it uses it
        fail(MISSING.format(error.name))
    raise typer.Exit(code)


app: Final = Commands(
    help=inspect.getdoc(WorldDemo), invoke_without_command=True, example="holdfast demo --check"
)
for _kind in DEMOS:
    app.command(_kind.name, example=f"holdfast demo {_kind.name}")(command_of(_kind))

world: Final = command_of(WorldDemo)


def all_demos(ctx: typer.Context, **options: Any) -> None:
    """Run the demo `world`. Refuse its options if the user names another demo."""
    if ctx.invoked_subcommand is None:
        world(**options)
    elif any(on_command_line(ctx, name) for name in ctx.params):
        fail("options come after the command: holdfast demo mail …", code=WRONG_USAGE)


_signature = inspect.signature(world)
_context = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
all_demos.__annotations__ = {"ctx": typer.Context, **world.__annotations__}
all_demos.__signature__ = _signature.replace(  # type: ignore[attr-defined]
    parameters=[_context, *_signature.parameters.values()]
)
app.callback(help=inspect.getdoc(WorldDemo))(all_demos)
