"""Build the gateway application from its routes and its middleware."""

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
from . import chat_page, chat_routes, inbox_routes, mailbox_routes, stream_session, task_routes
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
    """Return the gateway as an application. Serve it, or mount it in your own application.

    Args:
        hf: the client of the Valkey or Redis server. Close it after the application has stopped.
        authenticator: identifies the user of a request: `Tokens(secret)`, or an object of yours.
        hosts: the host names and addresses under which clients reach the gateway. It refuses
            requests for other hosts, because a foreign page could resolve its own name to your
            address (DNS rebinding). Use `*` only if a proxy checks the host.
        limits: limits on rates, sizes and waiting; None: the defaults of `Limits`.
        may: the authorization hook `may(user, action, target) -> bool`, a plain or a coroutine
            function. docs/gateway.md#authorization lists the actions. By default every user may
            write to every mailbox and add every user to chats. The hook cannot let anyone read a
            chat or write to it who is not a member.
        try_page: whether to serve a chat page at `/chat`, for trying the gateway.
        home: the path in this application to which `/` redirects. None: the chat page if it is
            served, otherwise no redirect.
    """
    limits, hosts = limits or Limits(), checked_hosts(hosts)
    state = GatewayState(hf, authenticator, limits, may)
    routes = [
        *mailbox_routes.ROUTES,
        *inbox_routes.ROUTES,
        *chat_routes.ROUTES,
        *stream_session.ROUTES,
        *task_routes.ROUTES,
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
    app.router.redirect_slashes = False  # a redirect without authentication would reveal paths
    app.state.shared = state
    return app
