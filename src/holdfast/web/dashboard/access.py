"""Who may see the dashboard, and who may change something there."""

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
"""Each may do what those before it may."""


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who is looking.

    Attributes:
        name: for the audit log.
        role: `viewer` sees everything; `operator` may also change it.
    """

    name: str
    role: Role

    def may(self, role: Role) -> bool:
        """Whether this is an *role*, or more."""
        return ROLES.index(self.role) >= ROLES.index(role)


class Access(Protocol):
    """Says who a request comes from, and what they may do. `Passes` is one."""

    async def visitor_of(self, token: str | None, connection: HTTPConnection) -> Visitor | None:
        """Who sent this, or None if it proves nobody. It is asked for every request.

        Args:
            token: what came as `Authorization: Bearer …`, or in the cookie of the dashboard.
            connection: the request itself, with its headers and the cookies of your application.
        """


class Passes:
    """Makes and checks the passes with which one logs in: `Tokens` that name a role.

    A token of the gateway opens no dashboard, and a pass no mailbox, though the secret be the same.

    Args:
        secrets: as of `Tokens`.
        clock: likewise.

    Attributes:
        cookie_key: signs what the dashboard keeps in cookies; the same in each process.

    Raises:
        ValueError: there is no secret, or one is too short.
    """

    def __init__(self, *secrets: bytes, clock: Callable[[], float] = time.time) -> None:
        self._tokens = {
            role: Tokens(*secrets, audience=f"dashboard {role}", clock=clock) for role in ROLES
        }
        self.cookie_key = hmac.digest(secrets[0], b"holdfast dashboard cookies", "sha256")

    def issue(self, name: str, role: Role, *, lifetime: float | timedelta = 86_400.0) -> str:
        """A pass.

        Args:
            name: whose; the audit log has it.
            role: `viewer` or `operator`.
            lifetime: seconds for which it is valid.

        Raises:
            ValueError: as of `Tokens.issue`; or there is no such role.
        """
        if role not in self._tokens:
            raise ValueError(f"role must be one of {', '.join(ROLES)}, got {role!r}")
        return self._tokens[role].issue(name, lifetime=lifetime)

    async def visitor_of(self, token: str | None, connection: HTTPConnection) -> Visitor | None:
        """As `Access` has it."""
        del connection
        if token is None:
            return None
        found = ((role, tokens.user(token)) for role, tokens in self._tokens.items())
        return next((Visitor(name, role) for role, name in found if name is not None), None)

    def validity(self, token: str) -> Validity | None:
        """Return between which instants *token* is valid; None if it is forged."""
        found = (tokens.validity(token) for tokens in self._tokens.values())
        return next((validity for validity in found if validity is not None), None)
