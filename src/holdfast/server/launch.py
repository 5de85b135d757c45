"""Start the server of a folder through a supervisor, and stop it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress
from typing import IO, Final

from ..errors import ServerFailed
from . import supervisor
from .binary import find_server
from .folder import Folder
from .ownership import open_own
from .probe import Answer, ask_to_stop, ping

SILENCE_S: Final = 30.0
"""Seconds that a starting server may not reply. While it loads its data it replies LOADING."""

STARTS_MAX: Final = 2
"""Largest number of starts: two, because another process may stop the server during the first."""

POLL_S: Final = 0.005
"""Seconds between two checks; a start takes about a tenth of a second."""

LOG_BYTES_MAX: Final = 2**20
"""A log above this size is renamed to `server.log.1` at the next start, replacing the older one."""


def ensure_running(folder: Folder) -> None:
    """Wait until the server of *folder* answers. Start it if needed.

    The caller must hold a client lock; otherwise the server may stop again.

    Raises:
        ServerNotFound: there is no server binary.
        ServerFailed: the server ended before it answered, or did not reply for `SILENCE_S`.
    """
    deadline_s = time.monotonic() + SILENCE_S
    starts = 0
    while time.monotonic() < deadline_s:
        # Check for a supervisor before PING: a server without one could stop at any time, and is
        # replaced.
        if not folder.supervised:
            if starts == STARTS_MAX:
                raise _failure(folder, "it ended before it answered")
            starts += _start_supervisor(folder)
        answer = ping(folder.socket)
        if answer is Answer.READY:
            return
        if answer is Answer.LOADING:
            deadline_s = time.monotonic() + SILENCE_S
        time.sleep(POLL_S)
    raise _failure(folder, f"it was silent for {SILENCE_S:g} s")


def _start_supervisor(folder: Folder) -> bool:
    """Start a supervisor, which starts the server. Return False if another process has done so."""
    with folder.gate_held():
        if folder.supervised:
            return False
        command = [find_server(), *_options(folder)]
        if not stop_server(folder):
            raise _failure(folder, "a server left by a killed supervisor does not stop; kill it")
        _run_supervisor(folder, command)
        return True


def stop_server(folder: Folder) -> bool:
    """Stop server and supervisor. Return False if they still run after `STOP_S`.

    The caller must hold the gate lock.
    """
    deadline_s = time.monotonic() + supervisor.STOP_S
    while folder.served:
        if time.monotonic() > deadline_s:
            return False
        ask_to_stop(folder.socket)
        time.sleep(POLL_S)
    return True


def _run_supervisor(folder: Folder, command: list[str]) -> None:
    # -I -S: the supervisor needs only the standard library, and without site-packages it starts in
    # 20 ms.
    interpreter = [sys.executable, "-I", "-S", supervisor.__file__]
    kind = "private" if folder.private else "named"
    with _open_log(folder) as log:
        subprocess.run(  # noqa: S603  # the running interpreter and a script of this package
            [*interpreter, str(folder), kind, *command],
            check=False,  # The supervisor's lock shows whether it runs, and the log why not.
            cwd=folder.path,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # Ctrl-C or a closed terminal must not stop it.
            umask=0o077,
        )


def _open_log(folder: Folder) -> IO[bytes]:
    with suppress(FileNotFoundError):
        found = folder.log.lstat()
        # If the file has a second link, a file in another folder would get the lines of the log.
        if found.st_size > LOG_BYTES_MAX or found.st_nlink > 1:
            folder.log.replace(folder.log.with_suffix(".log.1"))
    return os.fdopen(open_own(folder.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT), "ab")


def _failure(folder: Folder, reason: str) -> ServerFailed:
    return ServerFailed(str(folder), f"{reason}; the log ends with\n{folder.log_tail()}")


def _options(folder: Folder) -> list[str]:
    """Return the server's options. Its working directory is the folder.

    The server listens only on a unix socket that this user may use, so it needs no password. In a
    named folder it writes each change to disk before it acknowledges the change.
    """
    append_only = "no" if folder.private else "yes"
    return [
        *("--port", "0"),
        *("--unixsocket", supervisor.SOCKET),
        *("--unixsocketperm", "700"),
        *("--save", ""),
        *("--appendonly", append_only),
        *("--appendfsync", "always"),
        *("--appenddirname", "aof"),
        *("--aof-load-truncated", "yes"),
    ]
