"""A TCP proxy in front of a server; tests make it lose, delay and cut data: `Proxy`.

It runs on a thread of its own, so that blocking and asyncio tests use it alike: every control
takes effect before it returns. It knows where requests and replies begin and end, so faults hit
the n-th of them and not the n-th segment. It is not for replication links and MONITOR, which do
not speak in requests and replies.
"""

import asyncio
import contextlib
import threading
from collections import Counter
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

from faults.injection import Dropped, Injection
from faults.link import Link
from faults.ports import LOOPBACK, Port
from faults.traffic import Direction, Traffic

T = TypeVar("T")

CONTROL_S = 60.0  # a control that takes longer is a bug of the proxy
LAST_TURNS = 10

Directions = Literal["both", "requests", "replies"]


class Proxy:
    """A proxy in front of one server; as a context manager it is started and closed.

    Args:
        target: Host and port of the server, or the path of its unix socket.
    """

    def __init__(self, target: tuple[str, int] | str | Path) -> None:
        self._target = str(target) if isinstance(target, Path) else target
        self._port = Port()
        self._traffic = Traffic()
        self._links: dict[asyncio.Task[None], Link] = {}
        self._failures: list[BaseException] = []
        self._listener: asyncio.Server | None = None
        self._again: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop
        self._ended: asyncio.Event
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="proxy", daemon=True)

    @property
    def port(self) -> int:
        """Return the port to connect to instead of the server's."""
        return self._port.number

    @property
    def address(self) -> tuple[str, int]:
        """Host and port to connect to."""
        return LOOPBACK, self.port

    @property
    def url(self) -> str:
        """Return the address as a `redis://` URL."""
        return f"redis://{LOOPBACK}:{self.port}"

    @property
    def connections(self) -> int:
        """Connections accepted so far."""
        return self._traffic.connections

    @property
    def open_connections(self) -> int:
        """Connections open now."""
        return len(self._links)

    @property
    def requests(self) -> int:
        """Return the number of whole requests received so far, including connection setup."""
        return self._traffic.requests

    @property
    def replies(self) -> int:
        """Return the number of whole replies from the server so far, without pushes."""
        return self._traffic.replies

    @property
    def pushes(self) -> int:
        """Return the number of whole pushes (messages to subscribers) so far."""
        return self._traffic.pushes

    @property
    def commands(self) -> Counter[str]:
        """Return how often each command (its first word, in capitals) was received."""
        return self._traffic.commands.copy()

    @property
    def dropped(self) -> list[Dropped]:
        """Return all requests, replies and pushes that were dropped, oldest first."""
        return self._traffic.dropped.copy()

    def start(self) -> None:
        """Begin to accept connections."""
        self._thread.start()
        self._ready.wait()
        self._do(self._listen())

    def close(self) -> None:
        """Reset all connections and end the thread.

        Raises:
            Exception: The proxy itself failed on the way, for example at bytes that are not RESP.
        """
        if self._thread.is_alive():
            self._do(self._refuse(None))
            self._loop.call_soon_threadsafe(self._ended.set)
            self._thread.join()
        self._port.release()
        if self._failures:
            raise self._failures[0]

    def retarget(self, target: tuple[str, int]) -> None:
        """Connect later clients to another server, as a name that changes its address does."""
        self._target = target

    def delay(self, seconds: float, directions: Directions = "both") -> None:
        """Hold everything back for `seconds` on its way: 0.05 both ways is a 0.1 s round trip.

        What a client sent before it gave up still arrives, late.
        """
        delays = dict.fromkeys(_chosen(directions), seconds)
        self._do(self._set("delay_s", {**self._traffic.delay_s, **delays}))

    def slice(self, size: int) -> None:
        """Forward everything in slices of `size` bytes."""
        self._do(self._set("slice_bytes", size))

    def cut(self) -> None:
        """Reset all present connections; new ones are welcome."""
        self._do(self._cut(list(self._links)))

    def drop_reply(self, n: int = 1, match: bytes | None = None) -> Injection:
        """Lose the n-th coming reply, and reset its connection: the outcome is unknown.

        Args:
            n: 1 is the next one.
            match: Count only replies to requests that contain these bytes: a command, a key, the
                hex digest of a script. None: count all but those to HELLO, CLIENT and the like.
        """
        return self._inject(Injection("reply", match, skip=n - 1))

    def drop_replies(self, count: int, match: bytes | None = None) -> Injection:
        """Lose the next `count` replies in a row, and reset the connection at each."""
        return self._inject(Injection("reply", match, count=count))

    def drop_request(self, n: int = 1, match: bytes | None = None) -> Injection:
        """Lose the n-th coming request and reset its connection: surely not applied.

        Earlier requests of that connection are answered first, later ones are lost too.
        """
        return self._inject(Injection("request", match, skip=n - 1))

    def drop_pushes(self, count: int, match: bytes | None = None) -> Injection:
        """Lose the next `count` pushes that contain `match`; the connection lives on."""
        return self._inject(Injection("push", match, count=count))

    def cut_reply_at(self, byte: int, match: bytes | None = None) -> Injection:
        """Forward only so many bytes of the next reply, then reset that connection."""
        return self._inject(Injection("reply", match, keep=byte))

    def black_hole(self, directions: Directions = "both") -> None:
        """Accept everything, forward nothing: connections are half-open.

        "replies" alone: requests are applied and the client gets no reply. A connection that lost
        bytes here is reset by `heal`.
        """
        self._do(self._set("swallowed", frozenset(_chosen(directions))))

    def refuse(self, seconds: float | None = None) -> contextlib.AbstractContextManager[Any]:
        """Reset all connections and refuse new ones, as if the server were down.

        It lasts `seconds`, or until `accept` or `heal`, or until the end of the block if used in
        a `with` statement.
        """
        self._do(self._refuse(seconds))
        until_exit = contextlib.ExitStack()
        until_exit.callback(self.accept)
        return until_exit

    def accept(self) -> None:
        """Accept connections again."""
        self._do(self._listen())

    def heal(self) -> None:
        """End every fault; connections that lost bytes in a black hole are reset."""
        self._do(self._heal())

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self) -> None:
        asyncio.run(self._live())

    async def _live(self) -> None:
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        self._ready.set()
        await self._ended.wait()
        for _ in range(LAST_TURNS):  # refuse and close connections that are just being made
            await asyncio.sleep(0)

    def _do(self, control: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(control, self._loop).result(CONTROL_S)

    async def _set(self, name: str, value: object) -> None:
        setattr(self._traffic, name, value)

    def _inject(self, injection: Injection) -> Injection:
        async def arm() -> None:
            self._traffic.injections.append(injection)

        self._do(arm())
        return injection

    async def _listen(self) -> None:
        self._forget_timer()
        if self._listener is None:
            self._listener = await asyncio.start_server(self._welcome, sock=self._port.listen())

    def _forget_timer(self) -> None:
        if self._again is not None:
            self._again.cancel()
            self._again = None

    def _welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._listener is None:  # it was closed while this connection came in
            writer.transport.abort()
            return
        self._traffic.connections += 1
        link = Link(self._traffic, (reader, writer))
        task = self._loop.create_task(link.run(self._target))
        self._links[task] = link
        task.add_done_callback(self._farewell)

    def _farewell(self, task: asyncio.Task[None]) -> None:
        del self._links[task]
        if not task.cancelled() and (failure := task.exception()):
            self._failures.append(failure)

    async def _cut(self, tasks: list[asyncio.Task[None]]) -> None:
        for task in tasks:
            if task in self._links:  # it may have ended while another thread asked for this
                self._links[task].reset()
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _refuse(self, seconds: float | None) -> None:
        self._forget_timer()
        listener, self._listener = self._listener, None
        if listener is not None:
            # A connection that the loop has just accepted would never be closed.
            for accepting in listener.sockets:
                self._loop.remove_reader(accepting.fileno())
            await asyncio.sleep(0)
            listener.close()
        await self._cut(list(self._links))
        if seconds is not None:
            self._again = self._loop.call_later(
                seconds, lambda: self._loop.create_task(self._listen())
            )

    async def _heal(self) -> None:
        self._traffic.clear()
        await self._cut([task for task, link in self._links.items() if link.lost_bytes])
        await self._listen()


def _chosen(directions: Directions) -> tuple[Direction, ...]:
    return ("requests", "replies") if directions == "both" else (directions,)
