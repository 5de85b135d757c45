"""The gateway and the dashboard, from their first connection to their last."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ... import ServerUnavailable
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
        hosts: names by which it is reached, besides those of this machine.
        proxies: addresses that say whom they ask for.
        greeting: lines to print as soon as it can be reached.
    """
    from ...web import Server, dashboard, gateway, metrics
    from ...web.guard import LOOPBACK_HOSTS
    from ...web.site import HOME, site

    def greet() -> None:
        for line in greeting:
            say(line)

    hosts = [*LOOPBACK_HOSTS, *hosts]
    served = gateway(hf, authenticator=tokens, hosts=hosts, home=HOME if passes else None)
    if passes is not None:
        shown = dashboard(hf, access=passes, hosts=hosts)
        served = site(served, shown, metrics(hf, access=passes, hosts=hosts))
    async with hf:
        try:
            await hf.mailboxes()  # a wrong address is told now, and not to the first client
        except ServerUnavailable as error:
            if passes is None:
                raise
            warn(f"{error}; the dashboard says so, until it is there")
        await Server(served, proxies=proxies, ready=greet).serve([taken])


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
