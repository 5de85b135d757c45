"""The line between a phone and the server: all goes well, or nothing goes through."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import TracebackType
from typing import Any, Self

FADING_S = 0.2  # from when answers get lost to when the connection breaks
PIECE_BYTES = 1 << 16


class Radio:
    """`async with Radio(at, server) as radio:` passes on what comes to the socket *at*.

    Args:
        at: a socket that it makes, for the client of one phone.
        server: the socket of the server.
    """

    def __init__(self, at: Path, server: str) -> None:
        self._at = at
        self._server = server
        self._out_of_reach = self._deaf = self._mute = False
        self._ends: set[asyncio.StreamWriter] = set()
        self._calls: set[Any] = set()

    async def __aenter__(self) -> Self:
        self._at.unlink(missing_ok=True)  # of a process that was killed
        self._listener = await asyncio.start_unix_server(self._connect, self._at)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._listener.close()
        self._cut()
        if self._calls:
            await asyncio.wait(self._calls)

    async def lose(self, *, mute: bool) -> None:
        """Go into a tunnel. At its mouth no answer comes in any more.

        Args:
            mute: nothing is sent, either. Otherwise it arrives, but the sender does not learn that.
        """
        self._deaf, self._mute = True, mute
        await asyncio.sleep(FADING_S)
        self._out_of_reach = True
        self._cut()

    def find(self) -> None:
        """Leave the tunnel: new connections succeed."""
        self._out_of_reach = self._deaf = self._mute = False

    def _cut(self) -> None:
        for end in self._ends:
            end.transport.abort()

    async def _connect(self, phone: asyncio.StreamReader, to_phone: asyncio.StreamWriter) -> None:
        call, ends = asyncio.current_task(), {to_phone}
        self._calls.add(call)
        self._ends |= ends
        try:
            if not self._out_of_reach:
                server, to_server = await asyncio.open_unix_connection(self._server)
                ends.add(to_server)
                self._ends.add(to_server)
                await asyncio.gather(
                    self._pass_on(phone, to_server), self._pass_on(server, to_phone, answers=True)
                )
        except OSError:
            pass
        finally:
            for end in ends:
                end.transport.abort()
            self._ends -= ends
            self._calls.remove(call)

    async def _pass_on(
        self, source: asyncio.StreamReader, to: asyncio.StreamWriter, *, answers: bool = False
    ) -> None:
        while piece := await source.read(PIECE_BYTES):
            if not (self._deaf if answers else self._mute):
                to.write(piece)
                await to.drain()
        raise ConnectionResetError  # one side is gone, and so is the other
