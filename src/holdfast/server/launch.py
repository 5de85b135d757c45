"""Starting the server of a folder through a keeper, and stopping it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress
from typing import IO, Final

from ..errors import ServerFailed
from . import keeper
from .binary import find_server
from .folder import Folder
from .ownership import open_own
from .probe import Answer, ask_to_stop, ping

SILENCE_S: Final = 30.0
"""How long a starting server may give no sign of life. Reading its data, it says so."""

STARTS_MAX: Final = 2
"""The second because the first may be hit by somebody who stops the server just then."""

POLL_S: Final = 0.005
"""Between two looks; a start takes about a tenth of a second."""

LOG_BYTES_MAX: Final = 2**20
"""A log over this size is put aside, replacing the one put aside before, at the next start."""


def ensure_running(folder: Folder) -> None:
    """Return when the server of *folder*, where we hold a seat, answers. Starts it if needed.

    Raises:
        ServerNotFound: there is no server binary.
        ServerFailed: it ended before it answered, or is silent for `SILENCE_S`.
    """
    deadline_s = time.monotonic() + SILENCE_S
    starts = 0
    while time.monotonic() < deadline_s:
        # First the keeper, then PING: a server without a keeper must not be taken for a good one.
        if not folder.kept:
            if starts == STARTS_MAX:
                raise _failure(folder, "it ended before it answered")
            starts += _start_keeper(folder)
        answer = ping(folder.socket)
        if answer is Answer.READY:
            return
        if answer is Answer.LOADING:
            deadline_s = time.monotonic() + SILENCE_S
        time.sleep(POLL_S)
    raise _failure(folder, f"it was silent for {SILENCE_S:g} s")


def _start_keeper(folder: Folder) -> bool:
    """Start a keeper and, through it, the server. False: somebody else just did."""
    with folder.gate_shut():
        if folder.kept:
            return False
        command = [find_server(), *_options(folder)]
        if not stop_server(folder):
            raise _failure(folder, "a server left by a killed keeper does not stop; kill it")
        _run_keeper(folder, command)
        return True


def stop_server(folder: Folder) -> bool:
    """Tell server and keeper to end. False: they do not within `STOP_S`. The gate must be shut."""
    deadline_s = time.monotonic() + keeper.STOP_S
    while folder.served:
        if time.monotonic() > deadline_s:
            return False
        ask_to_stop(folder.socket)
        time.sleep(POLL_S)
    return True


def _run_keeper(folder: Folder, command: list[str]) -> None:
    # Isolated and without site-packages: it needs only the standard library, and starts in 20 ms.
    interpreter = [sys.executable, "-I", "-S", keeper.__file__]
    kind = "private" if folder.private else "named"
    with _open_log(folder) as log:
        subprocess.run(  # noqa: S603  # our own interpreter and script
            [*interpreter, str(folder), kind, *command],
            check=False,  # Whether it lives shows in its lock, and why it does not in the log.
            cwd=folder.path,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # Neither Ctrl-C nor a closed terminal is meant for it.
            umask=0o077,
        )


def _open_log(folder: Folder) -> IO[bytes]:
    with suppress(FileNotFoundError):
        found = folder.log.lstat()
        # A second name may be one of a file elsewhere, which is not to get our lines.
        if found.st_size > LOG_BYTES_MAX or found.st_nlink > 1:
            folder.log.replace(folder.log.with_suffix(".log.1"))
    return os.fdopen(open_own(folder.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT), "ab")


def _failure(folder: Folder, reason: str) -> ServerFailed:
    return ServerFailed(str(folder), f"{reason}; the log ends with\n{folder.log_tail()}")


def _options(folder: Folder) -> list[str]:
    """The server's settings; its working directory is the folder.

    Only a unix socket of this user: no port to find, no password to keep. In a named folder each
    write is on disk before it is acknowledged, so that killing everything loses nothing.
    """
    append_only = "no" if folder.private else "yes"
    return [
        *("--port", "0"),
        *("--unixsocket", keeper.SOCKET),
        *("--unixsocketperm", "700"),
        *("--save", ""),
        *("--appendonly", append_only),
        *("--appendfsync", "always"),
        *("--appenddirname", "aof"),
        *("--aof-load-truncated", "yes"),
    ]
