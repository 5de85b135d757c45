"""Hold the objects that all requests of one application share, and authenticate the requests."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, Generic, TypeVar

from starlette.requests import HTTPConnection

from .. import AsyncHoldfast, client_address
from .audit_log import ANONYMOUS, record
from .limits import Limits
from .problems import Problem
from .request_rates import RequestRate, RequestRates
from .revocation import DatedAuthenticator, Revocations, Validity

Identity = TypeVar("Identity")

BEARER: Final = "bearer "

TOO_MANY: Final = "you have sent too many requests"


class SharedState(Generic[Identity]):
    """Holds what all requests of one application share, and authenticates the requests.

    Args:
        hf: the client of the Valkey or Redis server.
        identify: returns the identity that a token proves, as `Authenticator.user_of` does.
        limits: the limits of the application.
        name: name of the application, with which the names of its rate limiters begin.
        authenticator: the object that *identify* belongs to. If it is a `DatedAuthenticator`, its
            tokens expire and can be revoked.

    Attributes:
        hf: the client of the Valkey or Redis server.
        limits: the limits of the application.
        rates: makes further rate limiters.
        user_rate: limits the cost of the requests of each user.
        address_rate: limits the requests of each address.
        closing: set when the server stops, to end all long polls and streams.
    """

    def __init__(
        self,
        hf: AsyncHoldfast,
        identify: Callable[[str | None, HTTPConnection], Awaitable[Identity | None]],
        limits: Limits,
        *,
        name: str,
        authenticator: object = None,
    ) -> None:
        self.hf = hf
        self.limits = limits
        self.rates: RequestRates = RequestRates(hf, name)
        self.user_rate: RequestRate = self.rates.limiter("user", limits.user)
        self.address_rate: RequestRate = self.rates.limiter("address", limits.address)
        self.closing: asyncio.Event = asyncio.Event()
        self._identify = identify
        self._dated = authenticator if isinstance(authenticator, DatedAuthenticator) else None
        self._failures = self.rates.limiter("failures", limits.failures)
        self._revocations = Revocations(hf)

    async def authenticate(self, connection: HTTPConnection, token: str | None = None) -> Identity:
        """Return the identity that the token of a request proves.

        Args:
            connection: the request.
            token: the token; None: it is in the header Authorization.

        Raises:
            Problem: the request has no valid token, or the token is revoked.
            ServerUnavailable: the revocations cannot be read from the server.
        """
        token = bearer_token(connection) if token is None else token
        identity = await self.identify(connection, token)
        await self.check_not_revoked(connection, identity, token)
        return identity

    async def identify(self, connection: HTTPConnection, token: str | None) -> Identity:
        """Return the identity that *token* proves. Do not check whether *token* is revoked.

        Raises:
            Problem: *token* is missing, forged or expired.
        """
        identity = await self.find_identity(connection, token)
        if identity is None:
            raise await self._refused(connection, token, "forged or expired")
        return identity

    async def find_identity(self, connection: HTTPConnection, token: str | None) -> Identity | None:
        """Return the identity that *token* proves, or None. Do not count or record a failure."""
        try:
            return await self._identify(token, connection)
        except ValueError as error:  # hide its text: a client sees the text of a ValueError
            raise RuntimeError("the authenticator failed") from error

    async def check_not_revoked(
        self, connection: HTTPConnection, identity: Identity, token: str | None
    ) -> None:
        """Refuse a token that was issued before the tokens of its user were revoked.

        Raises:
            Problem: *token* is revoked.
        """
        validity = self.validity(token)
        if validity is None:
            return
        name = identity if isinstance(identity, str) else str(getattr(identity, "name", identity))
        if await self._revocations.covers(name, validity.issued_at):
            raise await self._refused(connection, token, "revoked")

    def validity(self, token: str | None) -> Validity | None:
        """Return how long *token* is valid.

        Return None if it is missing or forged, or if the authenticator's tokens do not expire.
        """
        return None if self._dated is None or token is None else self._dated.validity(token)

    async def _refused(self, connection: HTTPConnection, token: str | None, reason: str) -> Problem:
        address = client_address(connection.scope)
        try:
            await self._failures.require(address, "too many wrong tokens from this address")
        except Problem as flood:
            return flood
        if token is None:
            return _unauthorized("send a token: Authorization: Bearer …", "")
        outcome = f"refused: the token is {reason}"
        record(ANONYMOUS, ANONYMOUS, "login", {"address": address}, outcome)
        return _unauthorized(
            "the token is forged, revoked or expired: get a new one", ', error="invalid_token"'
        )


def bearer_token(connection: HTTPConnection) -> str | None:
    """Return the token in the header Authorization of a request, or None."""
    value = connection.headers.get("authorization", "")
    return value[len(BEARER) :].strip() if value.lower().startswith(BEARER) else None


def _unauthorized(detail: str, error: str) -> Problem:
    challenge = {"WWW-Authenticate": f'Bearer realm="holdfast"{error}'}
    return Problem("unauthorized", detail, headers=challenge)
