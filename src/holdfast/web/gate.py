"""What all requests of one gateway share: who may come in, who waits, and when it closes."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from starlette.requests import HTTPConnection

from .. import AsyncHoldfast
from .limits import Buckets, Limits, Places, address_of, too_many
from .problems import Problem

Who = TypeVar("Who")

BEARER = "bearer "


class Gate(Generic[Who]):
    """Lets users in, one request at a time.

    Args:
        hf: where the mailboxes and chats are.
        who: says whom a token proves, as `Authenticator.user_of` does; None is nobody.
        limits: what is allowed.

    Attributes:
        hf: where the mailboxes and chats are.
        limits: what is allowed.
        users: how often each user may ask.
        places: how many of each user wait.
        closing: set when the gateway ends: whoever waits answers at once.
    """

    def __init__(
        self,
        hf: AsyncHoldfast,
        who: Callable[[str | None, HTTPConnection], Awaitable[Who | None]],
        limits: Limits,
    ) -> None:
        self.hf = hf
        self.limits = limits
        self.users = Buckets(limits.user)
        self.places = Places(limits.waiting)
        self.closing = asyncio.Event()
        self._who = who
        self._failures = Buckets(limits.failures)

    async def user_of(self, connection: HTTPConnection, token: str | None = None) -> Who:
        """The user of a request.

        Args:
            connection: the request.
            token: which came some other way than in its headers.

        Raises:
            Problem: there is none.
        """
        token = bearer(connection) if token is None else token
        try:
            user = await self._who(token, connection)
        except ValueError as error:  # nothing that was asked for: its words are not for strangers
            raise RuntimeError("whoever says who asks failed") from error
        if user is not None:
            return user
        client = connection.client
        if wait := self._failures.take(address_of(client.host if client else "")):
            raise too_many("too many wrong tokens from this address", wait)
        if token is None:
            raise _unauthorized("send a token: Authorization: Bearer …", "")
        raise _unauthorized(
            "the token is forged, or over: get a new one", ', error="invalid_token"'
        )


def bearer(connection: HTTPConnection) -> str | None:
    """The token in the headers of a request."""
    value = connection.headers.get("authorization", "")
    return value[len(BEARER) :].strip() if value.lower().startswith(BEARER) else None


def _unauthorized(detail: str, error: str) -> Problem:
    challenge = {"WWW-Authenticate": f'Bearer realm="holdfast"{error}'}
    return Problem("unauthorized", detail, headers=challenge)


def new_key() -> str:
    """A name for a write whose client gave it none."""
    return secrets.token_urlsafe(16)
