"""The gateway as an application: its routes and its middleware."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import Route

from ... import AsyncHoldfast
from ..combined_app import redirect_to
from ..limits import Limits
from ..problems import answer_http_exception
from ..security_middleware import LOOPBACK_HOSTS, SecurityMiddleware, checked_hosts
from ..tokens import Authenticator
from . import chat_page, chat_routes, inbox_routes, mailbox_routes, stream_session
from .authorization import May
from .gateway_state import GatewayState


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
    """Return the gateway as an application, to be served or mounted in yours.

    Args:
        hf: the client of the server. Close it after the application.
        authenticator: identifies the user of a request; `Tokens(secret)`, or one of yours.
        hosts: the names under which clients reach it. A request for another name is refused, as a
            page elsewhere could resolve its own name to your address. `*`: a proxy checks them.
        limits: on rates, sizes and waiting; by default those of `Limits`.
        may: the authorization hook, `may(user, action, target) -> bool`, a plain or a coroutine
            function; docs/gateway.md#authorization lists the actions. By default each user may
            write to each mailbox and add each user to chats. Whatever it returns, only members
            read a chat or write to it.
        try_page: whether to serve the chat page at `/chat`, for trying the gateway.
        home: the path in this application to which `/` leads; by default the chat page, if it is
            served.
    """
    limits, hosts = limits or Limits(), checked_hosts(hosts)
    state = GatewayState(hf, authenticator, limits, may)
    routes = [
        *mailbox_routes.ROUTES,
        *inbox_routes.ROUTES,
        *chat_routes.ROUTES,
        *stream_session.ROUTES,
    ]
    if try_page:
        routes += chat_page.ROUTES
        home = home or "/chat"
    if home:
        routes.append(Route("/", redirect_to(home)))
    app = Starlette(
        routes=routes,
        middleware=[Middleware(SecurityMiddleware, hosts=hosts, address_rate=state.address_rate)],
        exception_handlers={HTTPException: answer_http_exception},
    )
    app.router.redirect_slashes = False  # an answer before authentication would reveal paths
    app.state.shared = state
    return app
