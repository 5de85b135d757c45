"""Detect that a server, or TLS, rejects a client: then only other settings may help, no repeat."""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Self

from redis.exceptions import AuthenticationError, NoPermissionError, ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError

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

USE_NO_TLS: Final = "use a redis:// URL, or the port on which the server uses TLS"
"""What to do if only the client uses TLS."""

_CHECK_TLS: Final = "check the certificates, and ssl_ca_certs in the URL"

_CLOSED: Final = (ConnectionResetError, BrokenPipeError, ConnectionAbortedError)

_TLS_FILES: Final = ("ssl_ca_certs", "ssl_ca_path", "ssl_certfile", "ssl_keyfile")
"""Options that name files."""


class OpeningProblem(NamedTuple):
    """Why a connection cannot be opened.

    Attributes:
        reason: why.
        rejection: what is rejected; empty if opening the connection may succeed later.
        remedy: what to do, if that is known.
    """

    reason: str
    rejection: Rejection = ""
    remedy: str = ""


class NotOpened(ConnectionError):
    """A connection could not be opened.

    Attributes:
        rejection: what is rejected; empty if opening the connection may succeed later.
        remedy: what to do, if that is known.
    """

    def __init__(self, text: str, rejection: Rejection = "", remedy: str = "") -> None:
        super().__init__(text)
        self.rejection = rejection
        self.remedy = remedy

    @classmethod
    def because(
        cls,
        error: BaseException,
        settings: Settings,
        address: Address,
        found: OpeningProblem | None = None,
    ) -> Self:
        """Convert *error*, which redis-py raised while it opened a connection to *address*.

        *found* is the result of a probe of the server.
        """
        reason, rejection, remedy = found or _problem(error, settings)
        return cls(settings.explained(address, reason), rejection, remedy)


def rejection_in(reply: str) -> Rejection:
    """Return what the error *reply* means: `credentials` or `permission`; '': no rejection."""
    if reply.startswith(_CREDENTIALS):
        return "credentials"
    return "permission" if _PERMISSION.search(reply) else ""


def may_be_probed(error: BaseException, security: str) -> bool:
    """Return whether a probe of the server may show why opening a connection failed with *error*.

    Without TLS, the server has closed the connection. With TLS, it has not answered.
    """
    causes = list(_causes(error))
    if security == "tls":
        return any(isinstance(cause, TimeoutError | RedisTimeoutError) for cause in causes)
    is_closed = any(isinstance(cause, _CLOSED) for cause in causes) or "closed" in str(error)
    return security == "plain" and is_closed


def _problem(error: BaseException, settings: Settings) -> OpeningProblem:
    """Return what *error* itself shows."""
    reason, rejection = str(error), _rejection_by(error, is_tls=settings.security == "tls")
    if rejection != "tls":
        return OpeningProblem(reason, rejection)
    if unreadable := _unreadable_file(settings.options):
        return OpeningProblem(unreadable, rejection, "correct its name, or let this user read it")
    return OpeningProblem(
        reason, rejection, USE_NO_TLS if "WRONG_VERSION_NUMBER" in reason else _CHECK_TLS
    )


def _unreadable_file(options: Mapping[str, Any]) -> str:
    """Return which file of the TLS *options* cannot be read; empty if all can be."""
    for name in _TLS_FILES:
        path = options.get(name)
        if path and not os.access(path, os.R_OK):
            what = "cannot be read" if os.path.exists(path) else "does not exist"  # noqa: PTH110
            return f"the file {os.fspath(path)!r} ({name}) {what}"
    return ""


def _rejection_by(error: BaseException, *, is_tls: bool) -> Rejection:
    for cause in _causes(error):
        if isinstance(cause, AuthenticationError):
            return "credentials"
        if isinstance(cause, NoPermissionError):
            return "permission"
        if isinstance(cause, ssl.SSLError) and not isinstance(cause, _INTERRUPTED):
            return "tls"
        # A certificate or key is missing, or may not be read.
        if is_tls and isinstance(cause, FileNotFoundError | PermissionError):
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
