"""Define the pages of a page server, and the address on which it listens."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Self

from .connection import fail
from .exit_codes import WRONG_USAGE

Status = HTTPStatus

LOOPBACK: Final = "127.0.0.1"
LOOPBACK_NAMES: Final = (LOOPBACK, "localhost", "::1", "[::1]")


@dataclass(frozen=True, slots=True)
class TextPage:
    """Holds a page, or an error, that answers an HTTP request.

    Attributes:
        body: the content.
        status: the HTTP status.
        content_type: the media type of the body.
    """

    body: bytes
    status: Status = Status.OK
    content_type: str = "text/plain; charset=utf-8"

    @classmethod
    def of_text(cls, text: str, status: Status = Status.OK) -> Self:
        """Return a page with one line of text."""
        return cls(f"{text}\n".encode(), status)


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """Holds the address on which a page server listens."""

    host: str
    port: int

    @classmethod
    def parsed(cls, text: str, option: str) -> Self:
        """Parse `HOST:PORT`, or `PORT` on the loopback. End the command if *text* is invalid."""
        host, colon, port = text.rpartition(":")
        if not (port.isascii() and port.isdecimal() and int(port) <= 65535):
            problem = f"{option} {text!r} is not an address"
            fail(f"{problem}; write HOST:PORT, such as 0.0.0.0:9100", code=WRONG_USAGE)
        return cls(host.strip("[]") if colon and host else LOOPBACK, int(port))

    @property
    def is_loopback(self) -> bool:
        """Return whether only programs on this machine can connect to the address."""
        return self.host in LOOPBACK_NAMES

    def bound(self) -> socket.socket:
        """Return a socket that listens on the address. End the command if that is impossible."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        try:
            return socket.create_server((self.host, self.port), family=family)
        except OSError as error:
            fail(f"cannot listen on {self.host}, port {self.port}: {error.strerror or error}")
