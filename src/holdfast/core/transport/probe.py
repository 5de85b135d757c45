"""Find out why a server closes new connections, or does not answer on them.

No error shows that only one of the two uses TLS. An asyncio connection often breaks before it has
read the error that the server sent, for example that there are too many clients.
"""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress
from typing import Final

from ..concurrency.interruption import raise_interruption
from .rejection import USE_NO_TLS, OpeningProblem
from .settings import Address

_TLS_SHARE: Final = 0.1
"""Part of the time for opening a connection with TLS in which the server is probed."""

_PLAIN_SHARE: Final = 0.25
"""Part of the time for opening a connection without TLS that each of two probes may take. This is
longer, because the connection was closed at once."""

_LONGEST_LINE: Final = 512

_TLS_RECORDS: Final = (b"\x15", b"\x16")
"""First bytes of a TLS server's answer: an alert, or its handshake (RFC 8446, section 5.1)."""

_EXPECTS_TLS: Final = OpeningProblem(
    "it expects TLS, and this client does not use it", "tls", "use a rediss:// URL"
)
_EXPECTS_NO_TLS: Final = OpeningProblem(
    "it does not use TLS on this port, and this client does", "tls", USE_NO_TLS
)


def opening_s(patience_s: float, security: str) -> float:
    """Return which part of *patience_s* opening may take, so that the rest suffices for `probe`."""
    return patience_s * (1 - _TLS_SHARE) if security == "tls" else patience_s


def probe(address: Address, security: str, patience_s: float) -> OpeningProblem | None:
    """Return why connections to *address* fail; None if that is still unknown.

    Args:
        address: address of the server.
        security: what the client uses: `plain` or `tls`.
        patience_s: timeout of opening a connection in seconds; a probe takes a part of it.
    """
    if security == "tls":
        return _EXPECTS_NO_TLS if _answer_to_ping(address, patience_s * _TLS_SHARE) else None
    step_s = patience_s * _PLAIN_SHARE
    answer = _answer_to_ping(address, step_s)
    if answer.startswith("-") and not answer.startswith("-NOAUTH"):
        return OpeningProblem(answer[1:].removeprefix("ERR "))
    return _EXPECTS_TLS if not answer and _speaks_tls(address, step_s) else None


def _answer_to_ping(address: Address, timeout_s: float) -> str:
    """Return the line with which the server answers `PING` without TLS, also if it only closes the
    connection after it; empty if it is no line of the Redis protocol."""
    try:
        with socket.create_connection(address, timeout_s) as connection:
            connection.sendall(b"PING\r\n")
            answer = connection.recv(_LONGEST_LINE).decode(errors="replace")
    except OSError as error:
        raise_interruption(error)
        return ""
    return answer.partition("\r\n")[0] if answer.startswith(("+", "-")) else ""


def _speaks_tls(address: Address, timeout_s: float) -> bool:
    """Return whether the server at *address* answers the beginning of a TLS handshake."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    hello = ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), hello, server_hostname=address[0]).do_handshake()
    try:
        # Not by `wrap_socket`: it leaves the socket open if the server has already reset it.
        with socket.create_connection(address, timeout_s) as connection:
            connection.sendall(hello.read())
            return connection.recv(1) in _TLS_RECORDS
    except OSError as error:
        raise_interruption(error)
        return False
