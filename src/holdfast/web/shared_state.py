"""What all requests of one application share: the client, authentication, rate limiters."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, Generic, TypeVar

from starlette.requests import HTTPConnection

from .. import AsyncHoldfast
from .audit_log import ANONYMOUS, record
from .limits import Limits, RateLimiter, network_of, too_many
from .problems import Problem
from .revocation import DatedAuthenticator, Revocations, Validity

Identity = TypeVar("Identity")

BEARER: Final = "bearer "

TOO_MANY: Final = "you have sent too many requests"


class SharedState(Generic[Identity]):
    """The state of one application: it authenticates requests and limits their rate.

    Args:
        hf: the client of the server.
        identify: returns the identity that a token proves, as `Authenticator.user_of` does.
        limits: what is allowed.
        authenticator: the object that *identify* belongs to. If it is a `DatedAuthenticator`, its
            tokens end and can be revoked.

    Attributes:
        hf: the client of the server.
        limits: what is allowed.
        user_rate: limits the cost of the requests of each user.
        address_rate: limits the requests of each address.
        closing: set when the server stops: all requests that wait are answered at once.
    """

    def __init__(
        self,
        hf: AsyncHoldfast,
        identify: Callable[[str | None, HTTPConnection], Awaitable[Identity | None]],
        limits: Limits,
        *,
        authenticator: object = None,
    ) -> None:
        self.hf = hf
        self.limits = limits
        self.user_rate = RateLimiter(limits.user)
        self.address_rate = RateLimiter(limits.address)
        self.closing = asyncio.Event()
        self._identify = identify
        self._dated = authenticator if isinstance(authenticator, DatedAuthenticator) else None
        self._failures = RateLimiter(limits.failures)
        self._revocations = Revocations(hf)

    async def authenticate(self, connection: HTTPConnection, token: str | None = None) -> Identity:
        """Return the identity of a request, and refuse a revoked token.

        Args:
            connection: the request.
            token: one that did not come in the headers.

        Raises:
            Problem: the request has no valid token.
            ServerUnavailable: the server cannot be asked whether the token is revoked.
        """
        token = bearer_token(connection) if token is None else token
        identity = await self.identify(connection, token)
        await self.check_not_revoked(connection, identity, token)
        return identity

    async def identify(self, connection: HTTPConnection, token: str | None) -> Identity:
        """Return the identity that *token* proves. It may be revoked: `authenticate` checks that.

        Raises:
            Problem: *token* proves none.
        """
        identity = await self.find_identity(connection, token)
        if identity is None:
            raise self._refused(connection, token, "forged or expired")
        return identity

    async def find_identity(self, connection: HTTPConnection, token: str | None) -> Identity | None:
        """Return the identity that *token* proves, or None. Count and record no failure."""
        try:
            return await self._identify(token, connection)
        except ValueError as error:  # not about an argument of the client: keep its text private
            raise RuntimeError("the authenticator failed") from error

    async def check_not_revoked(
        self, connection: HTTPConnection, identity: Identity, token: str | None
    ) -> None:
        """Refuse a token that was issued before the tokens of its user were revoked.

        Raises:
            Problem: it is revoked.
        """
        validity = self.validity(token)
        if validity is None:
            return
        name = identity if isinstance(identity, str) else str(getattr(identity, "name", identity))
        if await self._revocations.covers(name, validity.issued_at):
            raise self._refused(connection, token, "revoked")

    def validity(self, token: str | None) -> Validity | None:
        """Return when *token* was issued and when it ends, or None if that is not known."""
        return None if self._dated is None or token is None else self._dated.validity(token)

    def _refused(self, connection: HTTPConnection, token: str | None, reason: str) -> Problem:
        address = client_address(connection)
        if wait := self._failures.take(address):
            return too_many("too many wrong tokens from this address", wait)
        if token is None:
            return _unauthorized("send a token: Authorization: Bearer …", "")
        outcome = f"refused: the token is {reason}"
        record(ANONYMOUS, ANONYMOUS, "login", {"address": address}, outcome)
        return _unauthorized(
            "the token is forged, revoked or expired: get a new one", ', error="invalid_token"'
        )


def client_address(connection: HTTPConnection) -> str:
    """Return the address under which the requests of a client are counted."""
    client = connection.client
    return network_of(client.host if client else "")


def bearer_token(connection: HTTPConnection) -> str | None:
    """Return the token in the headers of a request, or None."""
    value = connection.headers.get("authorization", "")
    return value[len(BEARER) :].strip() if value.lower().startswith(BEARER) else None


def _unauthorized(detail: str, error: str) -> Problem:
    challenge = {"WWW-Authenticate": f'Bearer realm="holdfast"{error}'}
    return Problem("unauthorized", detail, headers=challenge)
