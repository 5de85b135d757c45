"""The gateway and the dashboard, from their first connection to their last."""

from __future__ import annotations

import ipaddress
import resource
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ... import ServerUnavailable
from ..codes import WRONG_USAGE
from ..connection import fail
from ..output import say, warn

if TYPE_CHECKING:
    from ... import AsyncHoldfast
    from ...web import Passes, Tokens


async def run(
    hf: AsyncHoldfast,
    taken: socket.socket,
    tokens: Tokens,
    *,
    passes: Passes | None,
    arguments: bool,
    hosts: Sequence[str],
    proxies: Sequence[str],
    greeting: Sequence[str],
) -> None:
    """Serve until a signal comes.

    Args:
        hf: where the mailboxes and chats are; it is closed.
        taken: the socket to serve on.
        tokens: say who a request comes from.
        passes: likewise, of the dashboard; None: there is none.
        arguments: whether the dashboard shows arguments, messages and rows.
        hosts: names by which it is reached, besides those of this machine.
        proxies: addresses that say whom they ask for.
        greeting: lines to print as soon as it can be reached.
    """
    from ...web import Server, dashboard, gateway, metrics
    from ...web.combined_app import HOME, combined_app
    from ...web.security_middleware import LOOPBACK_HOSTS

    def greet() -> None:
        for line in greeting:
            say(line)

    hosts = [*LOOPBACK_HOSTS, *hosts]
    served = gateway(hf, authenticator=tokens, hosts=hosts, home=HOME if passes else None)
    if passes is not None:
        shown = dashboard(hf, access=passes, hosts=hosts, arguments=arguments)
        served = combined_app(served, shown, metrics(hf, access=passes, hosts=hosts))
    _raise_open_files(served.state.shared.limits.all_connections)
    async with hf:
        try:
            await hf.mailboxes()  # a wrong address is told now, and not to the first client
        except ServerUnavailable as error:
            if passes is None:
                raise
            warn(f"{error}; the dashboard says so, until it is there")
        await Server(served, proxies=proxies, ready=greet).serve([taken])


def checked(hosts: Sequence[str], proxies: Sequence[str]) -> tuple[str, ...]:
    """Return *hosts*; a host or a proxy that cannot be one ends the command."""
    try:
        from ...web.security_middleware import checked_hosts
    except ModuleNotFoundError as error:
        fail(str(error))
    for proxy in proxies:
        try:
            ipaddress.ip_network(proxy, strict=False)
        except ValueError:
            fail(f"--proxy {proxy!r} is neither an address nor a network", code=WRONG_USAGE)
    try:
        return checked_hosts(hosts)
    except ValueError as error:
        fail(str(error), code=WRONG_USAGE)


async def end_tokens(hf: AsyncHoldfast, user: str) -> None:
    """Revoke the tokens and passes of *user*; *hf* is closed."""
    try:
        from ...web import revoke
    except ModuleNotFoundError as error:
        fail(str(error))
    async with hf:
        try:
            await revoke(hf, user)
        except ValueError as error:
            fail(str(error), code=WRONG_USAGE)


def _raise_open_files(wanted: int) -> None:
    """Let this process open as many files as it may, up to what *wanted* connections need."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = 2 * wanted if hard == resource.RLIM_INFINITY else min(2 * wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def listening(host: str, port: int) -> socket.socket:
    """A socket at *host* and *port*; if that cannot be had, the command ends."""
    from ...web.server import listening

    try:
        return listening(host, port)
    except OSError as error:
        fail(f"cannot listen on {host}, port {port}: {error.strerror or error}")


def origin(host: str, taken: socket.socket) -> str:
    """The URL of the gateway: of *host*, with the port that was taken."""
    return f"http://{f'[{host}]' if ':' in host else host}:{taken.getsockname()[1]}"
