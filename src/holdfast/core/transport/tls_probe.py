"""Find out whether a server that does not answer expects TLS, or no TLS."""

from __future__ import annotations

import socket
import ssl

from .settings import Address


def speaks_tls(address: Address, timeout_s: float) -> bool:
    """Return whether the server at *address* answers a TLS handshake.

    Nothing is sent to it beyond the handshake, and its certificate is not checked.
    """
    host, port = address
    if not port:  # a unix socket
        return False
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with (
            socket.create_connection((host, port), timeout_s) as connection,
            context.wrap_socket(connection, server_hostname=host),
        ):
            return True
    except (ssl.SSLEOFError, ssl.SSLZeroReturnError):
        return False
    except ssl.SSLError as error:  # An alert: the server speaks TLS, but rejects this handshake.
        return "ALERT" in str(error)
    except OSError:
        return False


def speaks_plainly(address: Address, timeout_s: float) -> bool:
    """Return whether the server at *address* answers `PING` without TLS."""
    try:
        with socket.create_connection(address, timeout_s) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(1) in (b"+", b"-")  # `-` begins an error, such as NOAUTH.
    except OSError:
        return False
