"""One client's connection through the proxy: `Link`.

Each direction is a reader, which cuts the stream into frames and decides what becomes of each, and
a sender, which keeps the order, the delay and the slices. A reset waits its turn among the frames,
so that everything before it has arrived.
"""

import asyncio
import contextlib
import socket
import struct
from enum import Enum

from faults.conversation import Conversation
from faults.resp import Framer, first_word
from faults.traffic import Direction, Traffic

Target = tuple[str, int] | str
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]

CHUNK_BYTES = 2**16
QUEUED_FRAMES = 10_000  # a reader that is this far ahead waits for its sender
ANSWER_S = 10.0  # patience with the answers to earlier requests before a reset
CLOSE_S = 1.0  # patience with a peer that does not take the last bytes
RESET_ON_CLOSE = struct.pack("ii", 1, 0)  # SO_LINGER of zero seconds: RST instead of FIN


class End(Enum):
    """How a direction ends, once all before it is sent."""

    CLOSE = "close"
    RESET = "reset"


class FrameQueue:
    """One direction of a link: what was read and is not sent yet, each with its time to leave."""

    def __init__(self, direction: Direction, traffic: Traffic) -> None:
        self.direction = direction
        self._traffic = traffic
        self._waiting: asyncio.Queue[tuple[float, bytes | End]] = asyncio.Queue(QUEUED_FRAMES)

    async def put(self, item: bytes | End) -> None:
        """Append a frame or the end; it may leave after the delay of now."""
        delay_s = self._traffic.delay_s.get(self.direction, 0.0)
        await self._waiting.put((asyncio.get_running_loop().time() + delay_s, item))

    async def get(self) -> bytes | End:
        """Return the next item when it may leave; call `sent` after it has left."""
        leaves_s, item = await self._waiting.get()
        await asyncio.sleep(leaves_s - asyncio.get_running_loop().time())
        return item

    def sent(self) -> None:
        """Record that the last item was sent."""
        self._waiting.task_done()

    async def drained(self) -> None:
        """Wait until everything put so far has left."""
        await self._waiting.join()


class Link:
    """A client's connection and the one opened for it to the target."""

    def __init__(self, traffic: Traffic, client: Streams) -> None:
        self._traffic = traffic
        self._client_reader, self._client_writer = client
        self._conversation = Conversation()
        self._requests = FrameQueue("requests", traffic)
        self._replies = FrameQueue("replies", traffic)
        self.lost_bytes = False  # a black hole took some: the link can never be healed

    async def run(self, target: Target) -> None:
        """Connect to the target and carry bytes until one side ends."""
        try:
            reader, writer = await _connect(target)
        except OSError:
            self.reset()
            return
        writer.transport.set_write_buffer_limits(high=0)  # `drain` means sent
        self._client_writer.transport.set_write_buffer_limits(high=0)
        senders = [
            asyncio.create_task(self._send(self._requests, writer)),
            asyncio.create_task(self._send(self._replies, self._client_writer)),
        ]
        readers = [
            asyncio.create_task(self._read_requests()),
            asyncio.create_task(self._read_replies(reader)),
        ]
        try:
            await asyncio.wait(senders, return_when=asyncio.FIRST_COMPLETED)
        finally:
            # Nothing is awaited before both are closing: a cut may cancel this very cleanup.
            writer.close()
            self._client_writer.close()
            await _cancel(senders + readers)
            await _closed(writer)
            await _closed(self._client_writer)

    def reset(self) -> None:
        """Send the client a TCP reset at once.

        The target's side is closed in good order instead: a reset could overtake requests that
        were already forwarded, and "applied, reply lost" would become a matter of luck.
        """
        client = self._client_writer.get_extra_info("socket")
        with contextlib.suppress(OSError):  # the client may be gone
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        self._client_writer.transport.abort()

    async def _read_requests(self) -> None:
        framer = Framer()
        while chunk := await _receive(self._client_reader):
            for request in framer.feed(chunk):
                self._traffic.requests += 1
                self._traffic.commands[first_word(request)] += 1
                if self._traffic.takes("request", request):
                    await self._answer_all()
                    await self._requests.put(End.RESET)
                    return
                self._conversation.asked(request)
                await self._requests.put(request)
        await self._requests.put(framer.rest)
        await self._requests.put(End.CLOSE)

    async def _read_replies(self, reader: asyncio.StreamReader) -> None:
        framer = Framer()
        while chunk := await _receive(reader):
            for frame in framer.feed(chunk):
                request = self._conversation.answered(frame)
                if request is None:
                    self._traffic.pushes += 1
                    if not self._traffic.takes("push", frame):
                        await self._replies.put(frame)
                    continue
                self._traffic.replies += 1
                if fault := self._traffic.takes("reply", request):
                    await self._replies.put(frame[: fault.keep])
                    await self._replies.put(End.RESET)
                    return
                await self._replies.put(frame)
        await self._replies.put(framer.rest)
        await self._replies.put(End.CLOSE)

    async def _answer_all(self) -> None:
        """Let the requests before a dropped one be answered: their outcome must not be random."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ANSWER_S):
                await self._conversation.quiet.wait()
                await self._replies.drained()

    async def _send(self, queue: FrameQueue, writer: asyncio.StreamWriter) -> None:
        while True:
            item = await queue.get()
            if queue.direction in self._traffic.swallowed:
                self.lost_bytes = True
                if isinstance(item, End):  # the other side does not see the end either
                    await asyncio.Event().wait()
            elif item is End.RESET:
                self.reset()
                return
            elif item is End.CLOSE:
                return
            else:
                # If the receiver is gone, its own reader ends the link, after what it had sent.
                with contextlib.suppress(OSError):
                    await self._write(writer, item)
            queue.sent()

    async def _write(self, writer: asyncio.StreamWriter, frame: bytes) -> None:
        step = self._traffic.slice_bytes or len(frame)
        for start in range(0, len(frame), max(step, 1)):
            writer.write(frame[start : start + step])
            await writer.drain()
            await asyncio.sleep(0)


async def _connect(target: Target) -> Streams:
    if isinstance(target, str):
        return await asyncio.open_unix_connection(target)
    return await asyncio.open_connection(*target)


async def _receive(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read(CHUNK_BYTES)
    except OSError:
        return b""


async def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    for outcome in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(outcome, Exception):
            raise outcome


async def _closed(writer: asyncio.StreamWriter) -> None:
    try:
        async with asyncio.timeout(CLOSE_S):
            await writer.wait_closed()
    except OSError:  # also TimeoutError
        writer.transport.abort()
