"""Open and close the embedded server of a folder."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Final
from urllib.parse import quote

from ..errors import ServerFailed
from .folder import Folder
from .launch import ensure_running
from .lock import FileLock
from .supervisor import STOP_S

CLOSE_S: Final = 2 * STOP_S
"""Seconds that `close` waits for the server to end. A slower server still ends later."""

POLL_S: Final = 0.01
"""Seconds between two checks of whether the server has ended."""


class EmbeddedServer:
    """A Valkey server in a folder. All processes that open it share it; the last close stops it.

    The process that starts the server may end or be killed without effect on the other users. After
    a fork, the server runs until parent and child have closed it or ended. No acknowledged write is
    lost when processes are killed, even the server's. A server that dies is started again while it
    has users.

    Attributes:
        folder: real path of the folder.
        socket: path of the server's unix socket, which only this operating-system user may use.
        url: URL of the socket, for `from_url`.
    """

    def __init__(self, folder: Folder, client_lock: FileLock) -> None:
        self.folder: str = str(folder)
        self.socket: str = folder.socket
        self.url: str = socket_url(folder.socket)
        self._folder = folder
        self._client_lock = client_lock

    @classmethod
    def open(cls, folder: str | os.PathLike[str] | None) -> EmbeddedServer:
        """Use the server of *folder*. Start it if it does not run.

        Block until the server answers. A start takes minutes if the server loads gigabytes.

        Args:
            folder: path of the folder for the data, on a local file system; it is created if
                missing (mode 0700). It must belong to this user. Other users must not be able to
                write to it or to a folder above it, except a sticky one such as `/tmp`. None: use a
                temporary folder, without persistence, which is deleted after its last user.

        Raises:
            ValueError: *folder* is an empty string.
            ServerNotFound: there is no server binary; the message lists what to install.
            ServerFailed: the folder cannot be used, others could change it, or the server does not
                start; the message gives the reason.
        """
        if folder == "":
            raise ValueError("the folder's name is empty; None means a private, temporary one")
        with explained(folder):
            place = Folder.made(folder)
            client_lock = None
            try:
                client_lock = place.lock_as_client()
                ensure_running(place)
                return cls(place, client_lock)
            except BaseException:
                if client_lock:
                    client_lock.close()
                if place.private:
                    place.delete()
                raise

    def close(self) -> None:
        """Stop using the server. The last user waits until it has stopped. Safe to repeat."""
        self._client_lock.close()
        deadline_s = time.monotonic() + CLOSE_S
        while self._stopping() and time.monotonic() < deadline_s:
            time.sleep(POLL_S)

    def _stopping(self) -> bool:
        """Return whether the server has no user and no pin, but still runs."""
        place = self._folder
        if place.pin.exists() or place.user_pids():
            return False
        return place.supervised or (place.private and place.path.exists())

    def __enter__(self) -> EmbeddedServer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<EmbeddedServer of {self.folder!r}>"


def socket_url(address: str) -> str:
    """Return the URL of the unix socket *address*, for `from_url`."""
    return f"unix://{quote(address)}"


@contextmanager
def explained(folder: str | os.PathLike[str] | None) -> Iterator[None]:
    """Raise `ServerFailed` instead of an `OSError` about *folder*."""
    try:
        yield
    except OSError as error:
        name = "a temporary folder" if folder is None else os.fspath(folder)
        raise ServerFailed(name, str(error)) from error
