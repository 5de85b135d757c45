"""Visitors of the dashboard, their roles, and the passes that prove them."""

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
"""Each role may do what the roles before it may do."""


@dataclass(frozen=True, slots=True)
class Visitor:
    """A visitor of the dashboard.

    Attributes:
        name: shown in the audit log.
        role: `viewer` sees everything; `operator` may also change it.
    """

    name: str
    role: Role

    def may(self, role: Role) -> bool:
        """Return whether the visitor has *role* or a higher one."""
        return ROLES.index(self.role) >= ROLES.index(role)


class Access(Protocol):
    """Identifies visitors and their roles. `Passes` is one."""

    async def visitor_of(self, token: str | None, connection: HTTPConnection) -> Visitor | None:
        """Return the visitor who sent a request, or None. The dashboard calls this each time.

        Args:
            token: from `Authorization: Bearer …`, or from the cookie of the dashboard.
            connection: the request itself, with its headers and the cookies of your application.
        """


class Passes:
    """Issues and checks passes: `Tokens` with a role.

    The dashboard refuses tokens of the gateway, and the gateway refuses passes, also with the same
    secret.

    Args:
        secrets: as of `Tokens`.
        clock: as of `Tokens`.

    Attributes:
        cookie_key: signs the flash message; the same in each process.

    Raises:
        ValueError: there is no secret, or one is easy to guess.
    """

    def __init__(self, *secrets: bytes, clock: Callable[[], float] = time.time) -> None:
        self._tokens = {
            role: Tokens(*secrets, audience=f"dashboard {role}", clock=clock) for role in ROLES
        }
        self.cookie_key = hmac.digest(secrets[0], b"holdfast dashboard cookies", "sha256")

    def issue(self, name: str, role: Role, *, lifetime: float | timedelta = 86_400.0) -> str:
        """Return a new pass.

        Args:
            name: of the visitor; shown in the audit log.
            role: `viewer` or `operator`.
            lifetime: seconds for which it is valid.

        Raises:
            ValueError: as of `Tokens.issue`, or the role is unknown.
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
        """Return when *token* is valid, or None if it is forged."""
        found = (tokens.validity(token) for tokens in self._tokens.values())
        return next((validity for validity in found if validity is not None), None)
