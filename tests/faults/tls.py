"""A server that is reached by TLS only: `Tls` ends the encryption in front of one that has none."""

import asyncio
import contextlib
import ssl
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import trustme

from faults.ports import LOOPBACK

CHUNK_BYTES = 2**16


class Tls:
    """TLS in front of a server, on a thread of its own; as a context manager it starts and ends.

    Args:
        target: host and port of the server.
        names: those that its certificate is for.
    """

    def __init__(
        self, target: tuple[str, int], names: Sequence[str] = (LOOPBACK, "localhost")
    ) -> None:
        self._target = target
        self._folder = tempfile.TemporaryDirectory()
        authority = trustme.CA()
        self.authority = Path(self._folder.name) / "ca.pem"
        authority.cert_pem.write_to_path(str(self.authority))
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert(*names).configure_cert(self._context)
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tls", daemon=True)
        self._loop: asyncio.AbstractEventLoop
        self._over: asyncio.Event
        self._visits: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self.port = 0

    @property
    def url(self) -> str:
        """Return the URL for clients."""
        return f"rediss://{LOOPBACK}:{self.port}?ssl_ca_certs={self.authority}"

    def cut(self) -> None:
        """End all present connections without a word of TLS; new ones are welcome."""
        asyncio.run_coroutine_threadsafe(self._cut(), self._loop).result()

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()
        self._folder.cleanup()

    def _run(self) -> None:
        asyncio.run(self._live())

    async def _cut(self) -> None:
        visits = dict(self._visits)
        for writer in visits.values():
            writer.transport.abort()
        await asyncio.gather(*visits, return_exceptions=True)

    async def _live(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._welcome, LOOPBACK, 0, ssl=self._context)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._over.wait()
        server.close()
        for task in self._visits:
            task.cancel()
        await asyncio.gather(*self._visits, return_exceptions=True)

    async def _welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        visit = asyncio.current_task()
        assert visit is not None
        self._visits[visit] = writer
        visit.add_done_callback(self._visits.pop)
        try:
            from_server, to_server = await asyncio.open_connection(*self._target)
        except BaseException:
            writer.close()
            raise
        ways = [(reader, to_server), (from_server, writer)]
        tasks = [asyncio.create_task(_forward(*way)) for way in ways]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            # Close both before the first await, because `_live` may cancel this task again.
            for each in (writer, to_server):
                each.close()
            for task in tasks:
                task.cancel()
            for each in (writer, to_server):
                with contextlib.suppress(OSError):
                    await each.wait_closed()


async def _forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(CHUNK_BYTES):
            writer.write(data)
            await writer.drain()
