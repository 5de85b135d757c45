"""The SMTP server: as difficult as real ones, it refuses some mails and some connections at first.

Every mail that it answers with 250 is in the maildir by then; a mail that it refuses is not. What
arrived is read from the mails themselves: the worker writes into their headers when the task was
enqueued, when it was claimed, which attempt this is and when it began.

The server runs on a thread and an event loop of its own. Its faults depend on nothing but the
Message-ID and the number of the connection, so every run of the demo meets the same ones.
"""

from __future__ import annotations

import asyncio
import mailbox
import threading
import time
import zlib
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from email.message import Message
from email.parser import BytesHeaderParser
from pathlib import Path
from typing import Self

from aiosmtpd.smtp import SMTP, Envelope, Session

BACKLOG = 1024  # workers that all connect at once; the system lowers it to its own limit
START_TIMEOUT_S = 10.0
WRITERS = 4  # threads that store mails; few overlap their fsyncs, many only fight for the GIL


class MaildirStore:
    """A maildir that knows which Message-IDs it holds.

    It has no state but the files: a demo that was killed and starts again finds every mail that was
    answered with 250.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._maildir = mailbox.Maildir(folder)

    def add(self, content: bytes) -> None:
        """Store one mail; it is on disk (`fsync`) when this returns.

        Raises:
            OSError: it was not stored, the disk is full for example.
            mailbox.Error: it was not stored, two writers chose the same file name.
        """
        self._maildir.add(content.replace(b"\r\n", b"\n"))

    def message_ids(self) -> Counter[str]:
        """Return how many copies of each mail are on disk."""
        return Counter(self._message_id(key) for key in self._maildir.keys())  # noqa: SIM118

    def _message_id(self, key: str) -> str:
        with self._maildir.get_file(key) as file:
            return message_id(headers(file.read()))


@dataclass(frozen=True, slots=True)
class SmtpFaults:
    """What the server refuses; the defaults are frequent enough to be seen in a short run.

    Args:
        refused_mails: so many mails in a thousand are refused once, a third of these twice.
        every_connection: one connection in so many is refused; 0 refuses none.
    """

    refused_mails: int = 60
    every_connection: int = 150

    def refusals(self, mail_id: str) -> int:
        """Return how often this mail is refused before it is taken: 0, 1 or 2 times."""
        lot = zlib.crc32(mail_id.encode()) % 1000
        return (lot < self.refused_mails) + (lot < self.refused_mails // 3)

    def turns_away(self, connection: int) -> bool:
        """Return whether this connection, counted from 1, is refused."""
        return self.every_connection > 0 and connection % self.every_connection == 0


@dataclass(frozen=True, slots=True)
class SmtpRefusals:
    """Number of mails answered with 451 and of connections answered with 421."""

    mails: int
    connections: int


@dataclass(frozen=True, slots=True)
class MailArrival:
    """A mail that arrived, by its own headers; instants are epoch seconds, attempts count from 1.

    A mail without the headers counts as enqueued and begun when it was answered.

    Attributes:
        token: token of the claim; 0 without the header.
        answered_at: when it was stored, or refused.
    """

    mail_id: str
    attempt: int
    token: int
    enqueued_at: float
    started_at: float
    answered_at: float

    @classmethod
    def read(cls, mail: Message) -> Self:
        """Read the headers of a mail that was stored or refused just now."""
        now = time.time()
        return cls(
            mail_id=message_id(mail),
            attempt=_number(mail["X-Attempt"], 1),
            token=_number(mail["X-Token"], 0),
            enqueued_at=_instant(mail["X-Enqueued-At"], now),
            started_at=_instant(mail["X-Started-At"], now),
            answered_at=now,
        )

    @property
    def claimed_at(self) -> float:
        """Return when a worker claimed it: tokens are instants of the server's clock."""
        return self.token / 1e6


class SmtpServer:
    """`with SmtpServer(store) as server:` takes mail at `server.address` until the block ends.

    The lists are changed on the server's loop only; any thread may read them.

    Attributes:
        deliveries: the mails that were stored, in that order.
        refusals: the mails that were answered with 451, in that order.
    """

    def __init__(self, store: MaildirStore, faults: SmtpFaults | None = None) -> None:
        self._faults = faults or SmtpFaults()
        self._store = store
        self.deliveries: list[MailArrival] = []
        self.refusals: list[MailArrival] = []
        self._tries: Counter[str] = Counter()
        self._writers = ThreadPoolExecutor(WRITERS, "maildir")
        self._connections = 0
        self._turned_away = 0
        self._listening: Future[str] = Future()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve()), name="smtp", daemon=True
        )

    @property
    def address(self) -> str:
        """Return where the server listens, as `host:port`."""
        return self._listening.result(START_TIMEOUT_S)

    @property
    def refused(self) -> SmtpRefusals:
        """Return what was refused so far."""
        return SmtpRefusals(len(self.refusals), self._turned_away)

    def __enter__(self) -> Self:
        self._thread.start()
        self._listening.result(START_TIMEOUT_S)
        return self

    def __exit__(self, *ended: object) -> None:
        self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join()
        self._writers.shutdown()  # once they have stored what they began

    async def handle_DATA(  # noqa: N802  (aiosmtpd looks for this name)
        self, _server: SMTP, _session: Session, envelope: Envelope
    ) -> str:
        content = bytes(envelope.original_content or b"")
        mail = headers(content)
        mail_id = message_id(mail)
        self._tries[mail_id] += 1
        if self._tries[mail_id] <= self._faults.refusals(mail_id):
            self.refusals.append(MailArrival.read(mail))
            return "451 4.7.1 Greylisted, please try again later"
        loop = asyncio.get_running_loop()
        try:
            # Not on the loop: the fsync of one mail would hold up all other connections.
            await loop.run_in_executor(self._writers, self._store.add, content)
        except (OSError, mailbox.Error) as error:
            return f"452 4.3.1 Cannot store the mail: {type(error).__name__}"
        self.deliveries.append(MailArrival.read(mail))
        return "250 2.0.0 Stored"

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._ending = asyncio.Event()
        try:
            # By host and port, not by a socket of ours: only then asyncio sets TCP_NODELAY, and
            # without that every EHLO waits 40 ms for a delayed acknowledgement.
            server = await self._loop.create_server(self._accept, "127.0.0.1", 0, backlog=BACKLOG)
        except OSError as error:
            self._listening.set_exception(error)
            return
        host, port = server.sockets[0].getsockname()
        self._listening.set_result(f"{host}:{port}")
        await self._ending.wait()
        server.close()

    def _accept(self) -> asyncio.Protocol:
        self._connections += 1
        if self._faults.turns_away(self._connections):
            self._turned_away += 1
            return _BusyProtocol()
        return SMTP(self, hostname="mail.fakegame.example", loop=self._loop)


class _BusyProtocol(asyncio.Protocol):
    """A server that has too much to do: it says so and hangs up (RFC 5321, 3.8)."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.write(b"421 4.3.2 Too busy, please try again later\r\n")
        transport.close()


def _number(text: str | None, default: int) -> int:
    return int(text) if text and text.isdecimal() else default


def _instant(text: str | None, default: float) -> float:
    try:
        return datetime.fromisoformat(text or "").timestamp()
    except ValueError:
        return default


def headers(content: bytes) -> Message:
    """Return the headers of a mail, without parsing its body."""
    return BytesHeaderParser().parsebytes(content)


def message_id(mail: Message) -> str:
    """Return the Message-ID without its angle brackets; empty if the header is missing."""
    return str(mail["Message-ID"] or "").strip().strip("<>")
