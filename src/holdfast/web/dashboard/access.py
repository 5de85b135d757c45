"""Identify visitors of the dashboard and their roles, by signed passes."""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Literal, Protocol, get_args

from starlette.requests import HTTPConnection

from ..revocation import Validity
from ..tokens import Tokens

Role = Literal["viewer", "operator"]

ROLES: Final[tuple[Role, ...]] = get_args(Role)
"""All roles. Each may also do everything that the roles before it may do."""


@dataclass(frozen=True, slots=True)
class Visitor:
    """Represents a visitor of the dashboard.

    Attributes:
        name: the name of the visitor in the audit log.
        role: `viewer` sees all pages; `operator` may also change queues, locks and so on.
    """

    name: str
    role: Role

    def may(self, role: Role) -> bool:
        """Return whether the visitor has *role* or a higher one."""
        return ROLES.index(self.role) >= ROLES.index(role)


class Access(Protocol):
    """Identifies visitors and their roles. `Passes` implements this protocol."""

    async def visitor_of(self, token: str | None, connection: HTTPConnection) -> Visitor | None:
        """Return the visitor who sent a request, or None if the request has no valid pass.

        The dashboard calls this for each request.

        Args:
            token: the pass from the header `Authorization: Bearer …` or from the cookie of the
                dashboard; None: the request has no pass.
            connection: the HTTP request, with its headers and the cookies of your application.
        """


class Passes:
    """Issues and checks passes: tokens that contain a role.

    The dashboard refuses tokens of the gateway, and the gateway refuses passes, even if both use
    the same secret.

    Args:
        secrets: the secrets that sign and verify passes, as in `Tokens`.
        clock: returns seconds since 1970.

    Attributes:
        cookie_key: the key that signs flash messages. It is derived from the first secret, so all
            processes have the same key.

    Raises:
        ValueError: there is no secret, or a secret is easy to guess.
    """

    def __init__(self, *secrets: bytes, clock: Callable[[], float] = time.time) -> None:
        self._tokens = {
            role: Tokens(*secrets, audience=f"dashboard {role}", clock=clock) for role in ROLES
        }
        self.cookie_key: bytes = hmac.digest(secrets[0], b"holdfast dashboard cookies", "sha256")

    def issue(self, name: str, role: Role, *, lifetime: float | timedelta = 86_400.0) -> str:
        """Return a new pass.

        Args:
            name: the name of the visitor in the audit log.
            role: `viewer` or `operator`.
            lifetime: seconds for which the pass is valid.

        Raises:
            ValueError: the role is unknown, or the name or the lifetime is not valid, as in
                `Tokens.issue`.
        """
        if role not in self._tokens:
            raise ValueError(f"role must be one of {', '.join(ROLES)}, got {role!r}")
        return self._tokens[role].issue(name, lifetime=lifetime)

    async def visitor_of(self, token: str | None, connection: HTTPConnection) -> Visitor | None:
        """Return the visitor of *token*, as `Access` requires."""
        del connection
        if token is None:
            return None
        found = ((role, tokens.user(token)) for role, tokens in self._tokens.items())
        return next((Visitor(name, role) for role, name in found if name is not None), None)

    def validity(self, token: str) -> Validity | None:
        """Return how long the pass *token* is valid, or None if it is forged."""
        found = (tokens.validity(token) for tokens in self._tokens.values())
        return next((validity for validity in found if validity is not None), None)
