"""The gateway as a type checker sees it. Checked by `mypy --strict`, never run."""

from __future__ import annotations

from typing import assert_type

from starlette.applications import Starlette
from starlette.requests import HTTPConnection

from holdfast import AsyncHoldfast, Holdfast, Limit
from holdfast.web import Authenticator, Limits, Server, Tokens, gateway

tokens = Tokens(b"new", b"old")
assert_type(tokens.issue("jill", lifetime=60.0), str)
assert_type(tokens.user("hf1"), str | None)
known: Authenticator = tokens


class Cookies:
    """An authenticator of an application."""

    async def user_of(self, token: str | None, connection: HTTPConnection) -> str | None:
        return connection.cookies.get("user")


class Wrong:
    """One that does not wait."""

    def user_of(self, token: str | None, connection: HTTPConnection) -> str | None:
        return token


def serve(hf: AsyncHoldfast, blocking: Holdfast) -> None:
    limits = Limits(user=Limit(10, per=2), waiting=3)
    app = gateway(hf, authenticator=Cookies(), hosts=["chat.example.org"], limits=limits)
    assert_type(app, Starlette)
    Server(app, proxies=["127.0.0.1"])
    gateway(hf, authenticator=Wrong())  # type: ignore[arg-type]
    gateway(blocking, authenticator=tokens)  # type: ignore[arg-type]
    gateway(hf)  # type: ignore[call-arg]
