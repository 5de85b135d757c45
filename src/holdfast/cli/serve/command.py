"""`holdfast serve` and its commands: what they take."""

from __future__ import annotations

import ipaddress
import logging
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ... import AsyncHoldfast
from ..address import server_name
from ..codes import WRONG_USAGE
from ..connection import Embedded, Namespace, Url, client, errors_told, fail, on_command_line
from ..help import Commands
from ..logs import log_to_stderr
from ..loop import run_async
from ..output import say, warn
from .run import checked, listening, origin, run
from .secret import (
    HOW,
    VARIABLE,
    Secret,
    SecretFile,
    make_secret,
    pass_of,
    passes_of,
    secrets_of,
    token_of,
    tokens_of,
)

if TYPE_CHECKING:
    from ...web import Passes

HOST: Final = "127.0.0.1"
PORT: Final = 8000
LIFETIME_S: Final = 30 * 86_400.0

HELP: Final = """Serve the dashboard at /dashboard, and mailboxes and chats over HTTP and WebSocket.

There is a page to try the chats with at /chat.

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
        typer.Option(
            metavar="ADDRESS",
            help="A proxy, or a network of them, whose X-Forwarded-… count. Repeatable.",
        ),
    ] = None,
    user: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Print a link for this user. Repeatable."),
    ] = None,
    with_dashboard: Annotated[
        bool, typer.Option("--dashboard/--no-dashboard", help="Serve the dashboard as well.")
    ] = True,
    arguments: Annotated[
        bool,
        typer.Option(
            "--arguments/--no-arguments",
            help="Show arguments, messages and rows on the dashboard.",
        ),
    ] = True,
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
    hosts = checked([host, *(allow_host or ())] if host else allow_host or (), proxy or ())
    used = kept or [secrets.token_bytes(32)]
    tokens, passes = tokens_of(used), passes_of(used) if with_dashboard else None
    log_to_stderr(logging.WARNING)
    logging.getLogger("holdfast.audit").setLevel(logging.INFO)
    with errors_told(url, embedded):
        hf = client(AsyncHoldfast, url, embedded, namespace)
        taken = listening(host, port)
        where = origin(host, taken)
        greeting = [
            f"{where} serves namespace {namespace!r} of {server_name(url, embedded)}",
            *_about_secret(made=not kept, asked=bool(user)),
            *_about_dashboard(where, passes, made=not kept),
            *(f"{name}: {_link(where, token_of(tokens, name, LIFETIME_S))}" for name in user or ()),
        ]
        if not (allow_host or _only_from_here(host)):
            warn(f"by another name than {host} nobody reaches it; add --allow-host NAME")
        serving = run(
            hf,
            taken,
            tokens,
            passes=passes,
            arguments=arguments,
            hosts=hosts,
            proxies=proxy or (),
            greeting=greeting,
        )
        run_async(serving)
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
    made = token_of(tokens_of(_kept(secret_file, secret)), user, lifetime)
    typer.echo(made if bare else _link(at.rstrip("/"), made))


@app.command("pass")
def make_pass(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Who looks; the audit log has it.")],
    role: Annotated[
        str, typer.Option(metavar="ROLE", help="viewer sees everything; operator changes it.")
    ] = "viewer",
    lifetime: Annotated[
        float,
        typer.Option(metavar="SECONDS", help="How long it is valid.", show_default="30 days"),
    ] = LIFETIME_S,
    secret_file: SecretFile = None,
    secret: Secret = None,
    at: Annotated[
        str, typer.Option(metavar="URL", help="Where the dashboard is served.")
    ] = f"http://{HOST}:{PORT}",
    bare: Annotated[bool, typer.Option("--bare", help="Print the pass only, no link.")] = False,
) -> None:
    """Print a pass for the dashboard, as a link to it."""
    made = pass_of(passes_of(_kept(secret_file, secret)), name, role, lifetime)
    typer.echo(made if bare else _dashboard_link(at.rstrip("/"), made))


@app.command("secret")
def new_secret(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that does not exist yet.")],
) -> None:
    """Write a new secret to a file that only you can read."""
    make_secret(file)
    say(f"a new secret is in {str(file)!r}; serve with --secret-file")


@app.command()
def revoke(
    user: Annotated[str, typer.Argument(metavar="USER", help="Whose tokens and passes end.")],
    url: Url = None,
    embedded: Embedded = None,
    namespace: Namespace = "holdfast",
) -> None:
    """End all tokens and passes of a user that were made until now, also on open streams."""
    from .run import end_tokens

    with errors_told(url, embedded):
        run_async(end_tokens(client(AsyncHoldfast, url, embedded, namespace), user))
    say(f"all tokens and passes of {user!r} that were made until now are over")


def _kept(secret_file: Path | None, secret: str | None) -> list[bytes]:
    kept = secrets_of(secret_file, secret)
    if not kept:
        fail(
            f"which secret has the gateway? Give --secret-file, or set {VARIABLE}",
            code=WRONG_USAGE,
        )
    return kept


def _link(where: str, made: str) -> str:
    """In the fragment, which browsers keep to themselves."""
    return f"{where}/chat#token={made}"


def _dashboard_link(where: str, made: str) -> str:
    return f"{where}/dashboard/login#token={made}"


def _about_dashboard(where: str, passes: Passes | None, *, made: bool) -> Iterator[str]:
    """How to get in; who has no secret that is kept gets a pass that ends with this run."""
    if passes is not None and made:
        yield f"dashboard: {_dashboard_link(where, pass_of(passes, 'me', 'operator', LIFETIME_S))}"
    elif passes is not None:
        yield f"dashboard: {where}/dashboard/; `holdfast serve pass YOU` makes a pass for it"


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
