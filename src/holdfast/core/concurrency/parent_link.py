"""Connect a child process to the worker that started it."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Final

from .child_process import LENGTH_BYTES, framed
from .fork_hooks import register_after_fork

_PR_SET_PDEATHSIG: Final = 1

_here: list[ParentLink] = []


def is_child() -> bool:
    """Return whether this process is a child that runs CPU-bound tasks."""
    return bool(_here)


class ParentLink:
    """Receives the requests of the worker, and sends the answers.

    The child never outlives the worker: on Linux the kernel kills it when the worker's thread or
    process ends. On every system, a thread also notices the end of the connection, and ends the
    process even while a task runs. SIGINT and SIGTERM do nothing: they are meant for the worker,
    which ends its children.

    A process that a task forks is a copy: it has no connection. Otherwise it could answer in the
    place of the child, and the worker would not notice the end of the child as long as it lives.

    Args:
        descriptor: file descriptor of the socket that connects it to the worker.

    Attributes:
        is_copy: whether this process was forked by a task.
    """

    def __init__(self, descriptor: int) -> None:
        _here.append(self)
        self.is_copy: bool = False
        self._socket = socket.socket(fileno=descriptor)
        self._socket.set_inheritable(False)  # processes that tasks start must not keep it open
        self._frames: SimpleQueue[tuple[bytes, bytes] | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._received = self._done = 0
        for number in (signal.SIGINT, signal.SIGTERM):
            # Not SIG_IGN, which programs that a task starts would inherit.
            signal.signal(number, lambda *_: None)
        _end_with_parent()
        register_after_fork(self)
        threading.Thread(target=self._read, name="holdfast parent", daemon=True).start()

    def frames(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield header and body of each frame, until the worker closes the connection."""
        while (frame := self._frames.get()) is not None:
            yield frame
            self._done += 1

    def send(self, header: bytes, body: bytes = b"") -> None:
        """Send a frame, from any thread. Do nothing in a copy, or if the worker is gone."""
        if self.is_copy:
            return
        with self._lock, contextlib.suppress(OSError):
            self._socket.sendall(framed(header, body))

    def after_fork(self) -> None:
        """Close the connection in a process that a task has forked."""
        self.is_copy = True
        with contextlib.suppress(OSError):  # the task may have closed it
            os.close(self._socket.detach())

    def _read(self) -> None:
        with contextlib.suppress(OSError), self._socket.makefile("rb") as stream:
            while len(start := stream.read(LENGTH_BYTES)) == LENGTH_BYTES:
                header, _, body = stream.read(int.from_bytes(start, "big")).partition(b"\n")
                self._received += 1
                self._frames.put((header, body))
        self._frames.put(None)
        if self._received > self._done:
            os._exit(1)  # no worker waits for its results any more


def _end_with_parent() -> None:
    """Ask the kernel to kill this process when the thread that started it ends."""
    if sys.platform == "linux":
        with contextlib.suppress(ImportError, OSError, AttributeError):
            import ctypes

            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
