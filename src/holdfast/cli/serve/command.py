"""`holdfast serve` and `holdfast serve token`: what they take."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import secrets
from collections.abc import Iterator
from typing import Annotated, Final

import typer

from ... import AsyncHoldfast
from ..address import server_name
from ..connection import (
    WRONG_USAGE,
    Embedded,
    Namespace,
    Url,
    client,
    errors_told,
    fail,
    on_command_line,
)
from ..help import Commands
from ..logs import log_to_stderr
from ..output import say, warn
from .run import listening, origin, run
from .secret import HOW, VARIABLE, Secret, SecretFile, secrets_of, token_of, tokens_of

HOST: Final = "127.0.0.1"
PORT: Final = 8000
LIFETIME_S: Final = 30 * 86_400.0

HELP: Final = """Serve mailboxes and chats over HTTP and WebSocket, with a page to try it at /chat.

Until Ctrl-C or SIGTERM; requests under way are answered first."""

app = Commands(name="serve", help=HELP, invoke_without_command=True)


@app.callback(help=HELP)
def serve(
    ctx: typer.Context,
    url: Url = None,
    embedded: Embedded = None,
    namespace: Namespace = "holdfast",
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Where to listen.")] = HOST,
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="Likewise; 0 takes a free one.")
    ] = PORT,
    secret_file: SecretFile = None,
    secret: Secret = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A name by which clients reach it. Repeatable."),
    ] = None,
    proxy: Annotated[
        list[str] | None,
        typer.Option(metavar="ADDRESS", help="A proxy whose X-Forwarded-For counts. Repeatable."),
    ] = None,
    user: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Print a link for this user. Repeatable."),
    ] = None,
) -> None:
    """Serve until told to stop; see HELP."""
    if ctx.invoked_subcommand is not None:
        if any(on_command_line(ctx, param) for param in ctx.params):
            fail("options come after the command: holdfast serve token …", code=WRONG_USAGE)
        return
    kept = secrets_of(secret_file, secret)
    if not kept and not _only_from_here(host):
        fail(
            f"others can reach {host}, so tokens need a secret that is kept: give --secret-file, "
            f"or set {VARIABLE}; {HOW}",
            code=WRONG_USAGE,
        )
    tokens = tokens_of(kept or [secrets.token_bytes(32)])
    log_to_stderr(logging.WARNING)
    with errors_told(url, embedded):
        hf = client(AsyncHoldfast, url, embedded, namespace)
        taken = listening(host, port)
        where = origin(host, taken)
        greeting = [
            f"{where} serves namespace {namespace!r} of {server_name(url, embedded)}",
            *_about_secret(made=not kept, asked=bool(user)),
            *(f"{name}: {_link(where, token_of(tokens, name, LIFETIME_S))}" for name in user or ()),
        ]
        if not (allow_host or _only_from_here(host)):
            warn(f"by another name than {host} nobody reaches it; add --allow-host NAME")
        hosts = [host, *(allow_host or ())]
        asyncio.run(run(hf, taken, tokens, hosts=hosts, proxies=proxy or (), greeting=greeting))
    say("stopped", stderr=True)


@app.command()
def token(
    user: Annotated[str, typer.Argument(metavar="USER", help="Whose mailbox and chats it opens.")],
    lifetime: Annotated[
        float,
        typer.Option(metavar="SECONDS", help="How long it is valid.", show_default="30 days"),
    ] = LIFETIME_S,
    secret_file: SecretFile = None,
    secret: Secret = None,
    at: Annotated[
        str, typer.Option(metavar="URL", help="Where the gateway is.")
    ] = f"http://{HOST}:{PORT}",
    bare: Annotated[bool, typer.Option("--bare", help="Print the token only, no link.")] = False,
) -> None:
    """Print a token for a user, as a link to the page to try it with."""
    kept = secrets_of(secret_file, secret)
    if not kept:
        fail(
            f"which secret has the gateway? Give --secret-file, or set {VARIABLE}",
            code=WRONG_USAGE,
        )
    made = token_of(tokens_of(kept), user, lifetime)
    typer.echo(made if bare else _link(at.rstrip("/"), made))


def _link(where: str, made: str) -> str:
    """In the fragment, which browsers keep to themselves."""
    return f"{where}/chat#token={made}"


def _about_secret(*, made: bool, asked: bool) -> Iterator[str]:
    if made:
        hint = "" if asked else "; add --user NAME for a link to try it with"
        yield f"no secret was given, so one was made: its tokens end with this run{hint}"


def _only_from_here(host: str) -> bool:
    """Whether only programs of this machine reach *host*."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
