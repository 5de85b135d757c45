"""One user of an embedded server."""

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
from .keeper import STOP_S
from .launch import ensure_running
from .lock import FileLock

CLOSE_S: Final = 2 * STOP_S
"""How long the last one out waits for the server's end, which comes in any case."""

POLL_S: Final = 0.01


class EmbeddedServer:
    """A Valkey server in a folder, shared by all who have it open, stopped by the last one out.

    Nobody owns it: the process that starts it may end, in whatever way, without disturbing the
    others. A process forked from a user is one more user, until both have closed or ended.
    Nothing that was acknowledged is lost when any or all of them are killed, the server included;
    a server that dies is started again while it has users.

    Attributes:
        folder: its real path.
        socket: the path of its unix socket, for this user only.
        url: the same for `from_url`.
    """

    def __init__(self, folder: Folder, seat: FileLock) -> None:
        self.folder = str(folder)
        self.socket = folder.socket
        self.url = socket_url(folder.socket)
        self._folder = folder
        self._seat = seat

    @classmethod
    def open(cls, folder: str | os.PathLike[str] | None) -> EmbeddedServer:
        """Use the server of *folder*, starting it if it does not run.

        Blocks until it answers, also for minutes if it has gigabytes to read.

        Args:
            folder: on a local file system, made if missing (mode 0700); it keeps the data. It must
                belong to this user, and neither it nor a folder above it may be writable by others,
                unless that is sticky as `/tmp`. None: a temporary one, without persistence, deleted
                after its last user.

        Raises:
            ValueError: *folder* is an empty string.
            ServerNotFound: there is no server binary; the message says what to install.
            ServerFailed: the folder cannot be used, others could change it, or the server does not
                start; and why.
        """
        if folder == "":
            raise ValueError("the folder's name is empty; None means a private, temporary one")
        with explained(folder):
            place = Folder.made(folder)
            seat = None
            try:
                seat = place.enter()
                ensure_running(place)
                return cls(place, seat)
            except BaseException:
                if seat:
                    seat.close()
                if place.private:
                    place.delete()
                raise

    def close(self) -> None:
        """Leave. The last one out returns when the server has stopped. May be repeated."""
        self._seat.close()
        deadline_s = time.monotonic() + CLOSE_S
        while self._stopping() and time.monotonic() < deadline_s:
            time.sleep(POLL_S)

    def _stopping(self) -> bool:
        """Whether nobody needs the server any more and it is not gone yet."""
        place = self._folder
        if place.pin.exists() or place.user_pids():
            return False
        return place.kept or (place.private and place.path.exists())

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
    """The URL of the unix socket *address*, for `from_url`."""
    return f"unix://{quote(address)}"


@contextmanager
def explained(folder: str | os.PathLike[str] | None) -> Iterator[None]:
    """Turn what the operating system refuses in *folder* into `ServerFailed`."""
    try:
        yield
    except OSError as error:
        name = "a temporary folder" if folder is None else os.fspath(folder)
        raise ServerFailed(name, str(error)) from error
