"""Which server a command talks to: `--url` or `--embedded FOLDER`, or their variables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

import typer

from .. import Holdfast, HoldfastError, InvalidName, OutcomeUnknown
from .output import console, stranger

FAILED: Final = 1
WRONG_USAGE: Final = 2
NOT_FOUND: Final = 3
REFUSED: Final = 4


def _one_server(ctx: typer.Context, param: typer.CallbackParam, value: Any) -> Any:
    """There is one server: what the command line says goes before any variable.

    The parser comes to options of the command line first, so whichever comes second is judged.
    """
    rival = {"url": "embedded", "embedded": "url"}[str(param.name)]
    if value is None or ctx.params.get(rival) is None or ctx.resilient_parsing:
        return value
    by_hand = [on_command_line(ctx, name) for name in (str(param.name), rival)]
    if by_hand != [False, True]:
        what = "--url and --embedded" if all(by_hand) else "HOLDFAST_URL and HOLDFAST_EMBEDDED"
        fail(f"{what} name two servers: which one? Give --url or --embedded", code=WRONG_USAGE)
    return None


def on_command_line(ctx: typer.Context, name: str) -> bool:
    """Whether a parameter was written there, not taken from a variable or from its default."""
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


Url = Annotated[
    str | None,
    typer.Option(
        "--url", envvar="HOLDFAST_URL", callback=_one_server, help="redis://, rediss://, unix://, …"
    ),
]
Embedded = Annotated[
    Path | None,
    typer.Option(
        "--embedded",
        metavar="FOLDER",
        envvar="HOLDFAST_EMBEDDED",
        callback=_one_server,
        help="The bundled server of this folder.",
    ),
]
Namespace = Annotated[
    str, typer.Option("--namespace", envvar="HOLDFAST_NAMESPACE", help="Whose data.")
]


@contextmanager
def connected(
    url: str | None, embedded: Path | None, namespace: str, *, create: bool = True
) -> Iterator[Holdfast]:
    """A client for a command; its errors end the command with a sentence, not a traceback.

    Args:
        url: where the server is, or
        embedded: the folder of its data.
        namespace: whose data.
        create: whether a folder that does not exist is made. Who only looks makes none.
    """
    try:
        with _client(url, embedded, namespace, create=create) as hf:
            yield hf
    except InvalidName as error:
        fail(str(error), code=WRONG_USAGE)
    except OutcomeUnknown as error:  # its own message tells a program what to call
        fail(
            f"{error.action} may or may not have been applied: {error.reason}; "
            "look at what is there before you repeat it"
        )
    except HoldfastError as error:
        fail(str(error))


def fail(message: str, *, code: int = FAILED) -> NoReturn:
    """End the command: say why on standard error, and leave with *code*."""
    out = console(stderr=True)
    for line in f"holdfast: {message}".split("\n"):
        out.print(stranger(line, "red"), soft_wrap=True)
    raise typer.Exit(code)


def _client(url: str | None, embedded: Path | None, namespace: str, *, create: bool) -> Holdfast:
    if embedded is not None:
        if not create and not embedded.is_dir():
            fail(f"there is no folder {str(embedded)!r}, so no server of it", code=NOT_FOUND)
        return Holdfast.embedded(embedded, namespace=namespace)
    if url is None:
        fail(
            "which server? Give --url or --embedded FOLDER, "
            "or set HOLDFAST_URL or HOLDFAST_EMBEDDED",
            code=WRONG_USAGE,
        )
    try:
        return Holdfast.from_url(url, namespace=namespace)
    except ValueError as error:
        fail(str(error), code=WRONG_USAGE)
