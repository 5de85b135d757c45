"""Detect that a server, or TLS, rejects a client: then only other settings may help, no repeat."""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, Literal, Self

from redis.exceptions import AuthenticationError, NoPermissionError, ResponseError

if TYPE_CHECKING:
    from .settings import Address, Settings

Rejection = Literal["", "credentials", "permission", "tls", "settings"]
"""What is rejected: the login, the use of a command or key, the TLS connection, or another setting
such as the database number. Empty if nothing is: then the same call may succeed later."""

_CREDENTIALS: Final = ("NOAUTH", "WRONGPASS")
_PERMISSION: Final = re.compile(r"NOPERM|ACL failure in script|user executing the script can't")
"""In an error reply; inside a script, Redis 7.0 has the last of these texts."""

_INTERRUPTED: Final = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)
"""TLS errors of a connection that broke."""


class NotOpened(ConnectionError):
    """A connection could not be opened.

    Attributes:
        rejection: what is rejected; empty if opening the connection may succeed later.
    """

    def __init__(self, text: str, rejection: Rejection = "") -> None:
        super().__init__(text)
        self.rejection = rejection

    @classmethod
    def because(cls, error: BaseException, settings: Settings, address: Address) -> Self:
        """Convert *error*, which redis-py raised while it opened a connection to *address*."""
        rejection = _rejection_by(error, is_tls=settings.security == "tls")
        return cls(settings.explained(address, str(error)), rejection)


def rejection_in(reply: str) -> Rejection:
    """Return what the error *reply* means: `credentials` or `permission`; '': no rejection."""
    if reply.startswith(_CREDENTIALS):
        return "credentials"
    return "permission" if _PERMISSION.search(reply) else ""


def _rejection_by(error: BaseException, *, is_tls: bool) -> Rejection:
    for cause in _causes(error):
        if isinstance(cause, AuthenticationError):
            return "credentials"
        if isinstance(cause, NoPermissionError):
            return "permission"
        if isinstance(cause, ssl.SSLError) and not isinstance(cause, _INTERRUPTED):
            return "tls"
        if is_tls and isinstance(cause, FileNotFoundError):  # A certificate or key is missing.
            return "tls"
        # Another error reply to AUTH or SELECT, such as `ERR DB index is out of range`. Subclasses
        # of ResponseError mean that the server cannot execute the command now.
        if type(cause) is ResponseError:
            return "settings"
    return ""


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield *error* and the errors that caused it, also causes that redis-py does not name."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__
