"""Send single commands to a server over its socket, each on a connection of its own."""

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
"""Timeout of a reply, in seconds."""


class Answer(Enum):
    """The state of a server, derived from its reply to PING."""

    READY = "it accepts commands"
    LOADING = "it loads its data"
    SILENT = "it does not answer"


def ping(address: str) -> Answer:
    """Return the state of the server at the socket *address*."""
    try:
        with _client(address) as client:
            client.ping()
    except redis.BusyLoadingError:
        return Answer.LOADING
    except redis.ResponseError:
        return Answer.READY  # Any error reply, for example BUSY while a script runs, is an answer.
    except (redis.RedisError, OSError):
        return Answer.SILENT
    return Answer.READY


def info(address: str) -> dict[str, Any] | None:
    """Return the server's INFO fields; None if the server does not answer."""
    try:
        with _client(address) as client:
            return dict(client.info())
    except (redis.RedisError, OSError):
        return None


def ask_to_stop(address: str) -> None:
    """Send SHUTDOWN. The server writes its data to disk and ends, which frees `server.lock`."""
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
