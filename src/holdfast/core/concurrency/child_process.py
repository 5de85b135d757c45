"""Run a child process for the event loop of a worker, which may kill the child at any time."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from asyncio import IncompleteReadError, StreamReader, StreamWriter
from typing import Final

from ..clock import Deadline

LENGTH_BYTES: Final = 4
"""Size of the number before each frame, which is the frame's length. A frame has a header (a line
of JSON) and a body (any bytes)."""

_POLL_S: Final = 0.01

# The child gets `sys.path` of this process, to find the same modules. It is not forked, because
# this process has threads.
_BOOT: Final = (
    "import sys; sys.path[:] = sys.argv[3:]; from importlib import import_module; "
    "import_module(sys.argv[1]).main(int(sys.argv[2]))"
)


class ChildEnded(Exception):
    """The child process ended before it answered.

    Attributes:
        code: exit code of the process; negative: the signal that ended it.
    """

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class ChildProcess:
    """A Python process that runs `main` of a module, with a connection to it.

    The process has a process group of its own. So a Ctrl-C on a terminal does not reach it, and
    `kill` also ends the processes that it has started. Use this object only in the event loop in
    which it was created.

    Args:
        module: name of a module with a function `main(descriptor)`; see `ParentLink`.

    Raises:
        OSError: the system refuses to start the process.
    """

    def __init__(self, module: str) -> None:
        self._ours, theirs = socket.socketpair()
        self._streams: tuple[StreamReader, StreamWriter] | None = None
        try:
            with theirs:
                descriptor = theirs.fileno()
                self._popen = subprocess.Popen(  # noqa: S603 (our own program)
                    [sys.executable, "-c", _BOOT, module, str(descriptor), *sys.path],
                    stdin=subprocess.DEVNULL,
                    pass_fds=[descriptor],
                    process_group=0,
                )
        except OSError:
            self._ours.close()
            raise

    @property
    def pid(self) -> int:
        """Return the id of the child process."""
        return self._popen.pid

    @property
    def code(self) -> int | None:
        """Return the child's exit code; negative: the signal that ended it; None: it still runs."""
        return self._popen.poll()

    async def send(self, header: bytes, body: bytes = b"") -> None:
        """Send a frame to the child.

        Raises:
            ChildEnded: the child has ended.
        """
        try:
            _, writer = await self._opened()
            writer.write(framed(header, body))
            await writer.drain()
        except OSError:
            raise ChildEnded(await self.ended()) from None

    async def receive(self) -> tuple[bytes, bytes]:
        """Return the next frame of the child: header and body.

        Raises:
            ChildEnded: the child has ended.
        """
        try:
            reader, _ = await self._opened()
            length = int.from_bytes(await reader.readexactly(LENGTH_BYTES), "big")
            header, _, body = (await reader.readexactly(length)).partition(b"\n")
        except (OSError, IncompleteReadError):
            raise ChildEnded(await self.ended()) from None
        return header, body

    def kill(self) -> None:
        """Kill the child at once, with all processes in its process group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self.close()

    def close(self) -> None:
        """Close the connection. A child that waits for a frame then ends by itself."""
        if self._streams is not None:
            self._streams[1].close()
        else:
            self._ours.close()

    async def ended(self, patience_s: float = 1.0) -> int:
        """Wait for the end of the child, and return its exit code. Kill it after *patience_s*."""
        # Not a number of polls, because a busy event loop polls less often.
        patience = Deadline(patience_s)
        while (code := self.code) is None:
            if patience.passed:
                self.kill()
            await asyncio.sleep(_POLL_S)
        self.close()
        return code

    async def _opened(self) -> tuple[StreamReader, StreamWriter]:
        if self._streams is None:
            self._streams = await asyncio.open_connection(sock=self._ours)
        return self._streams


def framed(header: bytes, body: bytes) -> bytes:
    """Return the bytes of a frame as they are sent: its length, *header*, a newline, *body*."""
    return (len(header) + 1 + len(body)).to_bytes(LENGTH_BYTES, "big") + header + b"\n" + body
