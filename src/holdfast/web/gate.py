"""What all requests of one gateway share: who may come in, who waits, and when it closes."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from starlette.requests import HTTPConnection

from .. import AsyncHoldfast
from .audit import NOBODY, record
from .cache import TimedCache
from .contacts import Contacts
from .limits import Buckets, Limits, Places, address_of, too_many
from .permission import May, Permission
from .problems import Problem
from .revocation import Dated, Revocations, Validity

Who = TypeVar("Who")

BEARER = "bearer "

TOO_MANY = "you have sent too many requests"

INBOX_LIFETIME_S = 60.0
"""Seconds for which a number of chats is not read again."""


class Gate(Generic[Who]):
    """Lets users in, one request at a time.

    Args:
        hf: where the mailboxes and chats are.
        who: returns whom a token proves, as `Authenticator.user_of` does; None for nobody.
        limits: what is allowed.
        authenticator: what *who* belongs to. If it is `Dated`, its tokens end and can be revoked.
        may: the authorization hook.

    Attributes:
        hf: where the mailboxes and chats are.
        limits: what is allowed.
        users: what the requests of each user may cost.
        addresses: how often each address may ask.
        contacts: what each user may do to others who have not agreed.
        inboxes: the number of chats of each user, read at most once a minute.
        permission: what the application allows.
        places: how many of each user wait.
        arriving: WebSockets of each address that have not proven a user yet.
        closing: set when the gateway ends: all that wait are answered at once.
    """

    def __init__(
        self,
        hf: AsyncHoldfast,
        who: Callable[[str | None, HTTPConnection], Awaitable[Who | None]],
        limits: Limits,
        *,
        authenticator: object = None,
        may: May | None = None,
    ) -> None:
        self.hf = hf
        self.limits = limits
        self.users = Buckets(limits.user)
        self.looks = Buckets(limits.user)
        self.addresses = Buckets(limits.address)
        self.contacts = Contacts(limits)
        self.inboxes = TimedCache(lambda user: hf.inbox(user).size(), INBOX_LIFETIME_S)
        self.permission = Permission(may)
        self.places = Places(
            limits.waiting, f"you have {limits.waiting} long polls and streams open already"
        )
        self.arriving = Places(
            limits.arriving,
            f"{limits.arriving} streams from this address have not sent their first frame yet",
        )
        self.closing = asyncio.Event()
        self._who = who
        self._dated = authenticator if isinstance(authenticator, Dated) else None
        self._failures = Buckets(limits.failures)
        self._revocations = Revocations(hf)

    async def user_of(self, connection: HTTPConnection, token: str | None = None) -> Who:
        """Return the user of a request.

        Args:
            connection: the request.
            token: one that did not come in the headers.

        Raises:
            Problem: there is none.
            ServerUnavailable: the server cannot say whether the token is revoked.
        """
        token = bearer(connection) if token is None else token
        user = await self.proven(connection, token)
        await self.check_not_revoked(connection, user, token)
        return user

    async def proven(self, connection: HTTPConnection, token: str | None) -> Who:
        """Return whom *token* proves, though it may be revoked; `user_of` checks that as well."""
        user = await self.known(connection, token)
        if user is None:
            raise self._refused(connection, token, "forged or over")
        return user

    async def known(self, connection: HTTPConnection, token: str | None) -> Who | None:
        """Return whom *token* proves, or None; nothing is counted or recorded."""
        try:
            return await self._who(token, connection)
        except ValueError as error:  # no argument of a client: its words are not for clients
            raise RuntimeError("the authenticator failed") from error

    async def check_not_revoked(
        self, connection: HTTPConnection, user: Who, token: str | None
    ) -> None:
        """Refuse a token that was made before those of its user were revoked."""
        validity = self.validity(token)
        if validity is None:
            return
        name = user if isinstance(user, str) else str(getattr(user, "name", user))
        if await self._revocations.covers(name, validity.issued_at):
            raise self._refused(connection, token, "revoked")

    def validity(self, token: str | None) -> Validity | None:
        """Return between which instants *token* is valid; None if its authenticator cannot say."""
        return None if self._dated is None or token is None else self._dated.validity(token)

    def _refused(self, connection: HTTPConnection, token: str | None, why: str) -> Problem:
        address = client_address(connection)
        if wait := self._failures.take(address):
            return too_many("too many wrong tokens from this address", wait)
        if token is None:
            return _unauthorized("send a token: Authorization: Bearer …", "")
        record(NOBODY, NOBODY, "login", {"address": address}, f"refused: the token is {why}")
        return _unauthorized(
            "the token is forged, revoked or over: get a new one", ', error="invalid_token"'
        )


def client_address(connection: HTTPConnection) -> str:
    """Return what to count the client of *connection* as."""
    client = connection.client
    return address_of(client.host if client else "")


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
