"""How an embedded server is, seen without opening it."""

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
    """An embedded server at one instant.

    Attributes:
        folder: its real path.
        running: whether it answers, be it only that it is still reading its data.
        url: where it answers, or would.
        pid: of the server's process; None if it does not run.
        version: such as `valkey 9.1.2`; None if it does not run.
        used_memory: bytes of memory for data; None if it does not run.
        pinned: whether it stays when its last user leaves.
        users: the process ids, as they saw them, of those who have it open; one per `open`.
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
    """How the server of *folder* is. Starts nothing; a folder that does not exist is not running.

    Raises:
        ServerFailed: the folder cannot be read, or others could change it.
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
    """Which server it is. Valkey also answers the version of Redis that it is compatible with."""
    if "valkey_version" in info:
        return f"valkey {info['valkey_version']}"
    return f"redis {info['redis_version']}"
