"""`holdfast serve` and its subcommands."""

from __future__ import annotations

import ipaddress
import logging
import secrets
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ... import AsyncHoldfast
from ..address import server_name
from ..commands import Commands
from ..connection import (
    Embedded,
    Namespace,
    Url,
    client_errors,
    fail,
    on_command_line,
    open_client,
    storable_values,
)
from ..event_loop import run_async
from ..exit_codes import WRONG_USAGE
from ..log_output import log_to_stderr
from ..options import argument, flag, option
from ..output import print_line, warn
from .gateway_run import bind, check_hosts, end_tokens, origin, run_gateway
from .secrets_file import (
    HOW,
    VARIABLE,
    Secret,
    SecretFile,
    make_pass_text,
    make_passes,
    make_token_text,
    make_tokens,
    read_secrets,
    write_secret,
)

if TYPE_CHECKING:
    from ...web import Passes

HOST: Final = "127.0.0.1"
PORT: Final = 8000
LIFETIME_S: Final = 30 * 86_400.0

HELP: Final = """Serve the dashboard at /dashboard, and mailboxes and chats over HTTP and WebSocket.

The page at /chat lets you try the chats.

It runs until Ctrl-C or SIGTERM, and answers open requests first."""

app: Final = Commands(
    name="serve",
    help=HELP,
    invoke_without_command=True,
    example="holdfast serve --secret-file secret.txt --dashboard",
)


@app.callback(help=HELP)
def serve(
    ctx: typer.Context,
    url: Url = None,
    embedded: Embedded = None,
    namespace: Namespace = "holdfast",
    host: Annotated[str, option("ADDRESS", "Address to listen on.")] = HOST,
    port: Annotated[
        int, option("N", "The port to listen on; 0 takes a free one.", min=0, max=65535)
    ] = PORT,
    secret_file: SecretFile = None,
    secret: Secret = None,
    allow_host: Annotated[
        list[str] | None, option("NAME", "Host name that clients use. Repeatable.")
    ] = None,
    proxy: Annotated[
        list[str] | None,
        option(
            "ADDRESS",
            "Trust X-Forwarded-… of this proxy or network of proxies. Repeatable.",
        ),
    ] = None,
    user: Annotated[
        list[str] | None, option("NAME", "Print a link for this user. Repeatable.")
    ] = None,
    with_dashboard: Annotated[
        bool, flag("Serve the dashboard too.", "--dashboard/--no-dashboard")
    ] = True,
    arguments: Annotated[
        bool,
        flag("Show arguments, messages and rows on the dashboard.", "--arguments/--no-arguments"),
    ] = True,
) -> None:
    """Serve until a signal; HELP is the help text."""
    if ctx.invoked_subcommand is not None:
        if any(on_command_line(ctx, param) for param in ctx.params):
            fail("options come after the command: holdfast serve token …", code=WRONG_USAGE)
        return
    kept = read_secrets(secret_file, secret)
    if not kept and not _is_loopback(host):
        fail(
            f"other machines can reach {host}, so tokens need a permanent secret: give "
            f"--secret-file, or set {VARIABLE}; {HOW}",
            code=WRONG_USAGE,
        )
    hosts = check_hosts([host, *(allow_host or ())] if host else allow_host or (), proxy or ())
    used = kept or [secrets.token_bytes(32)]
    tokens, passes = make_tokens(used), make_passes(used) if with_dashboard else None
    log_to_stderr(logging.WARNING)
    logging.getLogger("holdfast.audit").setLevel(logging.INFO)
    with client_errors(url, embedded), bind(host, port) as bound:
        hf = open_client(AsyncHoldfast, url, embedded, namespace)
        where = origin(host, bound)
        greeting = [
            f"{where} serves namespace {namespace!r} of {server_name(url, embedded)}",
            *_secret_lines(made=not kept, asked=bool(user)),
            *_dashboard_lines(where, passes, secret_file, made=not kept),
            *(
                f"{name}: {_link(where, make_token_text(tokens, name, LIFETIME_S))}"
                for name in user or ()
            ),
        ]
        if not (allow_host or _is_loopback(host)):
            warn(f"clients reach it only by the name {host}; add --allow-host NAME for others")
        serving = run_gateway(
            hf,
            bound,
            tokens,
            passes=passes,
            arguments=arguments,
            hosts=hosts,
            proxies=proxy or (),
            greeting=greeting,
        )
        run_async(serving)
    print_line("stopped", stderr=True)


@app.command(example="holdfast serve token jack --secret-file secret.txt")
def token(
    user: Annotated[str, argument("USER", "The owner of the mailbox and chats.")],
    lifetime: Annotated[
        float, option("SECONDS", "Seconds until it expires.", show_default="30 days")
    ] = LIFETIME_S,
    secret_file: SecretFile = None,
    secret: Secret = None,
    at: Annotated[str, option("URL", "URL of the gateway.")] = f"http://{HOST}:{PORT}",
    bare: Annotated[bool, flag("Print the token only, no link.", "--bare")] = False,
) -> None:
    """Print a token for a user, as a link to the test page."""
    made = make_token_text(make_tokens(_kept(secret_file, secret)), user, lifetime)
    typer.echo(made if bare else _link(at.rstrip("/"), made))


@app.command("pass", example="holdfast serve pass anna --role operator --secret-file secret.txt")
def make_pass(
    name: Annotated[str, argument("NAME", "The name of the visitor, for the audit log.")],
    role: Annotated[str, option("ROLE", "viewer sees everything; operator changes it.")] = "viewer",
    lifetime: Annotated[
        float, option("SECONDS", "Seconds until it expires.", show_default="30 days")
    ] = LIFETIME_S,
    secret_file: SecretFile = None,
    secret: Secret = None,
    at: Annotated[str, option("URL", "URL of the dashboard.")] = f"http://{HOST}:{PORT}",
    bare: Annotated[bool, flag("Print the pass only, no link.", "--bare")] = False,
) -> None:
    """Print a pass for the dashboard, as a link to it."""
    made = make_pass_text(make_passes(_kept(secret_file, secret)), name, role, lifetime)
    typer.echo(made if bare else _dashboard_link(at.rstrip("/"), made))


@app.command("secret", example="holdfast serve secret secret.txt")
def new_secret(
    file: Annotated[Path, argument("FILE", "A file that does not exist yet.")],
) -> None:
    """Write a new secret to a file that only you can read."""
    write_secret(file)
    print_line(f"a new secret is in {str(file)!r}; serve with --secret-file")


@app.command(example="holdfast serve revoke jack")
def revoke(
    user: Annotated[str, argument("USER", "The owner of the tokens and passes.")],
    url: Url = None,
    embedded: Embedded = None,
    namespace: Namespace = "holdfast",
) -> None:
    """End all tokens and passes of a user that were made until now, also on open streams."""
    with client_errors(url, embedded), storable_values():
        run_async(end_tokens(open_client(AsyncHoldfast, url, embedded, namespace), user))
    print_line(f"all tokens and passes of {user!r} that were made until now are revoked")


def _kept(secret_file: Path | None, secret: str | None) -> list[bytes]:
    kept = read_secrets(secret_file, secret)
    if not kept:
        fail(
            f"which secret has the gateway? Give --secret-file, or set {VARIABLE}",
            code=WRONG_USAGE,
        )
    return kept


def _link(where: str, made: str) -> str:
    """Return a link with the token in its fragment, which browsers do not send."""
    return f"{where}/chat#token={made}"


def _dashboard_link(where: str, made: str) -> str:
    return f"{where}/dashboard/login#token={made}"


def _dashboard_lines(
    where: str, passes: Passes | None, secret_file: Path | None, *, made: bool
) -> Iterator[str]:
    """Return how to log in. If the secret is *made* for this run, include a pass, which ends with
    the run."""
    if passes is not None and made:
        made_pass = make_pass_text(passes, "me", "operator", LIFETIME_S)
        yield f"dashboard: {_dashboard_link(where, made_pass)}"
    elif passes is not None:
        given = f" --secret-file {shlex.quote(str(secret_file))}" if secret_file else ""
        command = f"holdfast serve pass YOU --role operator{given} --at {where}"
        yield f"dashboard: {where}/dashboard/; for a link with a pass: {command}"


def _secret_lines(*, made: bool, asked: bool) -> Iterator[str]:
    if made:
        hint = "" if asked else "; add --user NAME for a link to try it with"
        yield f"no secret was given, so one was made: its tokens end with this run{hint}"


def _is_loopback(host: str) -> bool:
    """Return whether only programs of this machine reach *host*."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
