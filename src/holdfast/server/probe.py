"""What can be asked of a server over its socket, each time on a connection of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from typing import Any, Final

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from ..core.transport.request import Packer

ANSWER_S: Final = 1.0
"""How long an answer may take."""


class Answer(Enum):
    """What a server says to PING."""

    READY = "it serves"
    LOADING = "it is reading its data"
    SILENT = "nobody answers"


def ping(address: str) -> Answer:
    """Ask the server at the socket *address* whether it serves."""
    try:
        with _client(address) as client:
            client.ping()
    except redis.BusyLoadingError:
        return Answer.LOADING
    except redis.ResponseError:
        return Answer.READY  # It refuses (say, a script is running too long), so it is there.
    except (redis.RedisError, OSError):
        return Answer.SILENT
    return Answer.READY


def info(address: str) -> dict[str, Any] | None:
    """The server's INFO; None when it does not answer."""
    try:
        with _client(address) as client:
            return dict(client.info())
    except (redis.RedisError, OSError):
        return None


def ask_to_stop(address: str) -> None:
    """Tell the server to flush and end. Whether it listened shows in its lock being freed."""
    with suppress(redis.RedisError, OSError), _client(address) as client:
        client.shutdown()


@contextmanager
def _client(address: str) -> Iterator[redis.Redis]:
    pool = redis.ConnectionPool(
        redis.UnixDomainSocketConnection,
        path=address,
        socket_timeout=ANSWER_S,
        socket_connect_timeout=ANSWER_S,
        retry=Retry(NoBackoff(), 0),
        command_packer=Packer(),
    )
    try:
        yield redis.Redis(connection_pool=pool)
    finally:
        pool.close()
