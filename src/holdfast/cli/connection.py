"""Which server a command talks to: `--url` or `--embedded FOLDER`, or their variables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar

import typer

from .. import (
    DamagedData,
    HoldfastError,
    InvalidName,
    OutcomeUnknown,
    ServerRefused,
    ServerUnavailable,
)
from .address import server_name, url_problem, without_password
from .codes import FAILED, NOT_FOUND, WRONG_USAGE
from .output import console, stranger

if TYPE_CHECKING:
    from .. import AsyncHoldfast, Holdfast, Telemetry

Client = TypeVar("Client", "Holdfast", "AsyncHoldfast")


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
        "--url",
        metavar="URL",
        envvar="HOLDFAST_URL",
        callback=_one_server,
        help="The server, as in redis://localhost:6379.",
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
    str,
    typer.Option("--namespace", metavar="NAME", envvar="HOLDFAST_NAMESPACE", help="Whose data."),
]


@contextmanager
def connected(
    url: str | None,
    embedded: Path | None,
    namespace: str,
    *,
    create: bool = True,
    failed: int = FAILED,
    telemetry: Telemetry | None = None,
) -> Iterator[Holdfast]:
    """A client for a command; its errors end the command with a sentence, not a traceback.

    Args:
        url: where the server is, or
        embedded: the folder of its data.
        namespace: whose data.
        create: whether a folder that does not exist is made. Who only looks makes none.
        failed: exit code for a server that cannot be used.
        telemetry: of the client.
    """
    from .. import Holdfast  # here: `--help` and wrong usage need none

    with (
        errors_told(url, embedded, failed=failed),
        client(Holdfast, url, embedded, namespace, create=create, telemetry=telemetry) as hf,
    ):
        yield hf


@contextmanager
def errors_told(url: str | None, embedded: Path | None, *, failed: int = FAILED) -> Iterator[None]:
    """Errors of ours end the command with a sentence, not a traceback; see `connected`."""
    try:
        yield
    except InvalidName as error:
        fail(str(error), code=WRONG_USAGE)
    except HoldfastError as error:
        fail(reason(error, url, embedded), code=failed)


def reason(error: HoldfastError, url: str | None, embedded: Path | None) -> str:
    """Why a command cannot go on, for people: some errors speak of steps, and of what to call."""
    match error:
        case OutcomeUnknown():
            return (
                f"nobody knows whether it was done: {error.reason}; "
                "look at what is there before you repeat it"
            )
        case DamagedData():
            return str(error)
        case ServerRefused():
            return f"{server_name(url, embedded)} refuses: {error.reason}"
        case ServerUnavailable():
            where = "the URL, and whether it runs" if embedded is None else embedded / "server.log"
            return f"cannot use {server_name(url, embedded)} ({_cause(error)}); check {where}"
    return str(error)


def fail(message: str, *, code: int = FAILED) -> NoReturn:
    """End the command: say why on standard error, and leave with *code*."""
    out = console(stderr=True)
    for line in f"holdfast: {message}".split("\n"):
        out.print(stranger(line, "red"), soft_wrap=True)
    raise typer.Exit(code)


def _cause(error: ServerUnavailable) -> str:
    """Why the server could not be asked, without what redis-py repeats."""
    return re.sub(r"Error -?\d+ connecting to .+?\. ", "", error.reason).rstrip(".")


def client(
    half: type[Client],
    url: str | None,
    embedded: Path | None,
    namespace: str,
    *,
    create: bool = True,
    telemetry: Telemetry | None = None,
) -> Client:
    """A client of either *half*; see `connected`. A server that is not named ends the command."""
    if embedded is not None:
        if not create and not embedded.is_dir():
            fail(f"there is no folder {str(embedded)!r}, so no server of it", code=NOT_FOUND)
        return half.embedded(embedded, namespace=namespace, telemetry=telemetry)
    if url is None:
        fail(
            "which server? Give --url or --embedded FOLDER, "
            "or set HOLDFAST_URL or HOLDFAST_EMBEDDED",
            code=WRONG_USAGE,
        )
    try:
        return half.from_url(url, namespace=namespace, telemetry=telemetry)
    except InvalidName:  # a ValueError as well, but of the namespace
        raise
    except ValueError as error:
        told = f"{without_password(url)!r} is no URL of a server: {url_problem(url, error)}"
        fail(f"{told}; expected such as redis://localhost:6379", code=WRONG_USAGE)
