"""Run the gateway and the dashboard."""

from __future__ import annotations

import ipaddress
import resource
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ... import ServerUnavailable
from ..connection import argument_errors, fail
from ..exit_codes import WRONG_USAGE
from ..output import print_line, warn

if TYPE_CHECKING:
    from ... import AsyncHoldfast
    from ...web import Passes, Tokens


async def run_gateway(
    hf: AsyncHoldfast,
    bound: socket.socket,
    tokens: Tokens,
    *,
    passes: Passes | None,
    arguments: bool,
    hosts: Sequence[str],
    proxies: Sequence[str],
    greeting: Sequence[str],
) -> None:
    """Serve until a signal.

    Args:
        hf: the client of the Valkey or Redis server. This function closes it.
        bound: the socket to serve on.
        tokens: authenticate the users of the gateway.
        passes: authenticate the visitors of the dashboard; None: serve no dashboard.
        arguments: whether the dashboard shows arguments, messages and rows.
        hosts: names of the gateway, besides those of this machine.
        proxies: addresses of proxies. Their headers X-Forwarded-… are trusted.
        greeting: lines to print when the server accepts connections.
    """
    from ...web import Server, dashboard, gateway, metrics
    from ...web.combined_app import HOME, combined_app
    from ...web.security_middleware import LOOPBACK_HOSTS

    def greet() -> None:
        for line in greeting:
            print_line(line)

    hosts = [*LOOPBACK_HOSTS, *hosts]
    served = gateway(hf, authenticator=tokens, hosts=hosts, home=HOME if passes else None)
    if passes is not None:
        shown = dashboard(hf, access=passes, hosts=hosts, arguments=arguments)
        served = combined_app(served, shown, metrics(hf, access=passes, hosts=hosts))
    _raise_open_files(served.state.shared.limits.all_connections)
    async with hf:
        try:
            await hf.mailboxes()  # a wrong address fails now, not at the first request
        except ServerUnavailable as error:
            if passes is None:
                raise
            warn(f"{error}; the dashboard shows this until the server is there")
        await Server(served, proxies=proxies, ready=greet).serve([bound])


def check_hosts(hosts: Sequence[str], proxies: Sequence[str]) -> tuple[str, ...]:
    """Return *hosts*. End the command if a host or a proxy is invalid."""
    for proxy in proxies:
        try:
            ipaddress.ip_network(proxy, strict=False)
        except ValueError:
            fail(f"--proxy {proxy!r} is neither an address nor a network", code=WRONG_USAGE)
    with argument_errors():
        from ...web.security_middleware import checked_hosts

        return checked_hosts(hosts)


async def end_tokens(hf: AsyncHoldfast, user: str) -> None:
    """Revoke all tokens and passes of *user*, and close *hf*."""
    with argument_errors():
        from ...web import revoke

        async with hf:
            await revoke(hf, user)


def _raise_open_files(wanted: int) -> None:
    """Raise the limit of open files to what *wanted* connections need, if that is allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = 2 * wanted if hard == resource.RLIM_INFINITY else min(2 * wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens at *host* and *port*, or end the command."""
    from ...web.server import listening

    try:
        return listening(host, port)
    except OSError as error:
        fail(f"cannot listen on {host}, port {port}: {error.strerror or error}")


def origin(host: str, bound: socket.socket) -> str:
    """Return the URL of the gateway, with the port of *bound*."""
    return f"http://{f'[{host}]' if ':' in host else host}:{bound.getsockname()[1]}"
