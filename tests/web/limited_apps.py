"""A program that serves a limited application: `python -m web.limited_apps NAME URL NAMESPACE`."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from holdfast import AsyncHoldfast, Limit, RateLimitMiddleware
from holdfast.web import Limits, Tokens, gateway
from holdfast.web.server import listening
from web.running import SECRET

AMOUNT = 20
"""Requests that one user may send in an hour to all processes together."""


def make_gateway(hf: AsyncHoldfast) -> Starlette:
    return gateway(hf, authenticator=Tokens(SECRET), limits=Limits(user=Limit(AMOUNT, per=3600.0)))


def make_application(hf: AsyncHoldfast) -> Starlette:
    """Return an application behind the middleware, which counts the header `user`."""

    def user_of(scope: Any) -> str:
        return str(dict(scope["headers"]).get(b"user", b"").decode())

    async def greet(request: Any) -> PlainTextResponse:
        return PlainTextResponse("hello")

    limiter = hf.rate_limit("greetings", Limit(AMOUNT, per=3600.0))
    limited = Middleware(RateLimitMiddleware, limiter=limiter, subject=user_of)
    return Starlette(routes=[Route("/", greet)], middleware=[limited])


APPLICATIONS = {"gateway": make_gateway, "middleware": make_application}


async def serve(name: str, url: str, namespace: str) -> None:
    taken = listening("127.0.0.1", 0)
    async with AsyncHoldfast.from_url(url, namespace=namespace) as hf:
        print("port", taken.getsockname()[1])
        config = uvicorn.Config(APPLICATIONS[name](hf), log_level="warning")
        await uvicorn.Server(config).serve([taken])


if __name__ == "__main__":
    asyncio.run(serve(*sys.argv[1:]))
