"""Connect a command to its server, which `--url`, `--embedded` or a variable names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar, get_type_hints

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
from .exit_codes import FAILED, NOT_FOUND, WRONG_USAGE
from .output import console, untrusted

if TYPE_CHECKING:
    from .. import AsyncHoldfast, Holdfast, Telemetry

Client = TypeVar("Client", "Holdfast", "AsyncHoldfast")


def _one_server(ctx: typer.Context, param: typer.CallbackParam, value: Any) -> Any:
    """End the command if both `--url` and `--embedded` are given, or both of their variables.

    An option takes precedence over the variable of the other option. Return None for the variable.

    The parser handles options before variables, and calls this function for each of them. So the
    call for the second parameter decides.
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
    """Return whether the parameter *name* was given on the command line, not by a variable."""
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
    typer.Option(
        "--namespace",
        metavar="NAME",
        envvar="HOLDFAST_NAMESPACE",
        help="Key prefix that separates applications.",
    ),
]

SERVER_OPTIONS: dict[str, tuple[Any, str | None]] = {
    "url": (Url, None),
    "embedded": (Embedded, None),
    "namespace": (Namespace, "holdfast"),
}
"""The parameters that select a server and a namespace: name → type and default value."""


def with_client(*, create: bool = False) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that replaces the parameter `hf` of a command by `SERVER_OPTIONS`.

    The decorated command connects to the server, and passes the client as `hf`; see `connected`.

    Args:
        create: whether to create the folder of an embedded server if it does not exist.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(*, url: str | None, embedded: Path | None, namespace: str, **options: Any) -> None:
            with connected(url, embedded, namespace, create=create) as hf:
                command(hf, **options)

        hints = {
            n: hint for n, hint in command.__annotations__.items() if n not in ("hf", "return")
        }
        run.__annotations__ = hints  # without `hf`: its type is imported only for type checkers
        resolved = get_type_hints(run, include_extras=True)
        _, *own = signature(command).parameters.values()
        run.__signature__ = Signature(  # type: ignore[attr-defined]
            [
                *(
                    Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)
                    for name, (kind, default) in SERVER_OPTIONS.items()
                ),
                *(
                    each.replace(kind=Parameter.KEYWORD_ONLY, annotation=resolved[each.name])
                    for each in own
                ),
            ]
        )
        return run

    return decorate


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
    """Yield a client for a command. Its errors end the command with a message, not a traceback.

    Args:
        url: the URL of the server, or None if *embedded* is given.
        embedded: the folder of an embedded server, or None.
        namespace: the namespace of the client.
        create: whether to create the folder if it does not exist. Pass False in commands that only
            read.
        failed: exit code if the server cannot be used.
        telemetry: receives the measurements of the client.
    """
    from .. import Holdfast  # imported here to keep `--help` and usage errors fast

    with (
        client_errors(url, embedded, failed=failed),
        open_client(Holdfast, url, embedded, namespace, create=create, telemetry=telemetry) as hf,
    ):
        yield hf


@contextmanager
def client_errors(
    url: str | None, embedded: Path | None, *, failed: int = FAILED
) -> Iterator[None]:
    """End the command with a message if the client raises an error; see `connected`."""
    try:
        yield
    except InvalidName as error:
        fail(str(error), code=WRONG_USAGE)
    except HoldfastError as error:
        fail(reason(error, url, embedded), code=failed)
    except UnicodeEncodeError as error:
        fail(f"{error.object!r} is not valid Unicode at position {error.start}", code=WRONG_USAGE)


@contextmanager
def argument_errors(hint: str = "") -> Iterator[None]:
    """End the command with a message if an argument is invalid or an extra is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        fail(str(error))
    except ValueError as error:
        fail(f"{error}{hint}", code=WRONG_USAGE)


@contextmanager
def storable_values() -> Iterator[None]:
    """End the command with a message if JSON cannot represent a value of the command line."""
    try:
        yield
    except TypeError as error:
        fail(str(error), code=WRONG_USAGE)


def reason(error: HoldfastError, url: str | None, embedded: Path | None) -> str:
    """Return why a command cannot continue, without the advice in *error* that is for programs."""
    match error:
        case OutcomeUnknown():
            return (
                f"it is unknown whether the server did it: {error.reason}; "
                "look at what is there before you repeat it"
            )
        case DamagedData():
            return str(error)
        case ServerRefused():
            return f"{server_name(url, embedded)} refuses: {error.reason}"
        case ServerUnavailable():
            where = "the URL, and whether it runs" if embedded is None else embedded / "server.log"
            remedy = error.remedy or f"check {where}"
            return f"cannot use {server_name(url, embedded)} ({_cause(error)}); {remedy}"
    return str(error)


def fail(message: str, *, code: int = FAILED) -> NoReturn:
    """Print *message* on standard error and exit with *code*."""
    out = console(stderr=True)
    for line in f"holdfast: {message}".split("\n"):
        out.print(untrusted(line, "red"), soft_wrap=True)
    raise typer.Exit(code)


def _cause(error: ServerUnavailable) -> str:
    """Return why the server did not answer, without the address, which redis-py repeats."""
    return re.sub(r"Error -?\d+ connecting to .+?\. ", "", error.reason).rstrip(".")


def open_client(
    half: type[Client],
    url: str | None,
    embedded: Path | None,
    namespace: str,
    *,
    create: bool = True,
    telemetry: Telemetry | None = None,
) -> Client:
    """Return a client of the class *half*. End the command if no server is named.

    See `connected` for the parameters.
    """
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
    except InvalidName:  # this ValueError is about the namespace, not about the URL
        raise
    except ValueError as error:
        problem = f"{without_password(url)!r} is no URL of a server: {url_problem(url, error)}"
        fail(f"{problem}; expected such as redis://localhost:6379", code=WRONG_USAGE)
