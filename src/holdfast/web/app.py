"""The application: which routes there are, and what stands before them."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import Route

from .. import AsyncHoldfast
from . import chats, inbox, mailbox, page, stream
from .authenticator import Authenticator
from .gate import Gate
from .guard import LOOPBACK_HOSTS, Guard, checked_hosts
from .limits import Limits
from .permission import May
from .problems import answer_http_exception
from .redirect import leading_to


def gateway(
    hf: AsyncHoldfast,
    *,
    authenticator: Authenticator,
    hosts: Iterable[str] = LOOPBACK_HOSTS,
    limits: Limits | None = None,
    may: May | None = None,
    try_page: bool = True,
    home: str | None = None,
) -> Starlette:
    """The gateway as an application of its own, or to be mounted in one of yours.

    Args:
        hf: where the mailboxes and chats are. It is yours to close, after the application.
        authenticator: says who a request comes from; `Tokens(secret)`, or one of yours.
        hosts: the names under which clients reach it. Requests for others are refused, as those of
            a page that resolves its own name to your address. `*`: something before it checks.
        limits: on rates, sizes and waiting; by default those of `Limits`.
        may: the authorization hook, `may(user, action, target) -> bool`, plain or a coroutine
            function; docs/gateway.md#authorization lists the actions. By default each user may
            write to each mailbox and add each user to chats. Whatever it returns, only members
            read a chat or write to it.
        try_page: whether `/chat` is there, the page to try it with.
        home: the path below this application to which `/` leads; by default that page, if it is
            there.
    """
    limits, hosts = limits or Limits(), checked_hosts(hosts)
    gate = Gate(hf, authenticator.user_of, limits, authenticator=authenticator, may=may)
    routes = [*mailbox.ROUTES, *inbox.ROUTES, *chats.ROUTES, *stream.ROUTES]
    if try_page:
        routes += page.ROUTES
        home = home or "/chat"
    if home:
        routes.append(Route("/", leading_to(home)))
    app = Starlette(
        routes=routes,
        middleware=[Middleware(Guard, hosts=hosts, addresses=gate.addresses)],
        exception_handlers={HTTPException: answer_http_exception},
    )
    app.router.redirect_slashes = False  # no answer before it is known who asks
    app.state.gate = gate
    return app
