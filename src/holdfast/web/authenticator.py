"""Who is asking: the one question that an application may answer its own way."""

from __future__ import annotations

from typing import Protocol

from starlette.requests import HTTPConnection


class Authenticator(Protocol):
    """Says which user a request comes from. `Tokens` is one."""

    async def user_of(self, token: str | None, connection: HTTPConnection) -> str | None:
        """The user who sent this, or None if it proves nobody.

        It is asked for every request, and on a stream once more every 20 seconds, so that what is
        revoked ends. Failures are limited per address; who checks passwords, which can be guessed,
        should limit them per user as well.

        Args:
            token: what came as `Authorization: Bearer …`, or in the first frame of a stream.
            connection: the request itself, with its headers and cookies.
        """
