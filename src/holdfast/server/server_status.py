"""Read the state of an embedded server without opening it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from . import probe
from .embedded import explained, socket_url
from .folder import Folder
from .ownership import check_own


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """The state of an embedded server at one instant.

    Attributes:
        folder: real path of the folder.
        running: whether the server answers, even if it still loads its data.
        url: URL of the server, also while it does not run.
        pid: process id of the server; None if it does not run.
        version: such as `valkey 9.1.2`; None if it does not run.
        used_memory: bytes of memory that it uses for data; None if it does not run.
        pinned: whether it keeps running without users.
        users: process id of each user, as that process sees it; one per `open`.
    """

    folder: str
    running: bool
    url: str
    pid: int | None
    version: str | None
    used_memory: int | None
    pinned: bool
    users: tuple[int, ...]


def status(folder: str | os.PathLike[str]) -> ServerStatus:
    """Return the state of the server of *folder*, without starting it.

    Raises:
        ServerFailed: the folder cannot be read, or other users could change it.
    """
    with explained(folder):
        place = Folder(folder)
        if place.path.exists():
            check_own(place.path)
        answer = probe.info(place.socket)
        known = answer or {}
        return ServerStatus(
            folder=str(place),
            running=answer is not None,
            url=socket_url(place.socket),
            pid=known.get("process_id"),
            version=_version(known) if known else None,
            used_memory=known.get("used_memory"),
            pinned=place.pin.exists(),
            users=place.user_pids(),
        )


def _version(info: dict[str, Any]) -> str:
    """Return software and version. Valkey also reports the Redis version it is compatible with."""
    if "valkey_version" in info:
        return f"valkey {info['valkey_version']}"
    return f"redis {info['redis_version']}"
