"""Run an SMTP server that, like real ones, refuses some mails and some connections at first.

When the server replies 250 to a mail, the mail is in the maildir; a refused mail is not. The server
reads from the headers of a mail when its task was enqueued and claimed, which attempt this is, and
when the attempt began. The worker writes these headers.

The server runs in a separate thread with its own event loop. Its refusals depend only on the
Message-ID and the number of the connection, so they are the same in each run.
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

BACKLOG = 1024  # pending connections, as many workers connect at once; the system may lower it
START_TIMEOUT_S = 10.0
WRITERS = 4  # threads that store mails; more would not be faster, because of the GIL


class MaildirStore:
    """Store mails in a maildir, and list their Message-IDs.

    The files are the only state. So after a kill, a new run finds all mails to which the server
    replied 250.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._maildir = mailbox.Maildir(folder)

    def add(self, content: bytes) -> None:
        """Store one mail. When this method returns, the mail is on disk (`fsync`).

        Raises:
            OSError: the mail was not stored, for example because the disk is full.
            mailbox.Error: the mail was not stored, because two writers chose the same file name.
        """
        self._maildir.add(content.replace(b"\r\n", b"\n"))

    def message_ids(self) -> Counter[str]:
        """Return Message-ID → number of mails on disk."""
        return Counter(self._message_id(key) for key in self._maildir.keys())  # noqa: SIM118

    def _message_id(self, key: str) -> str:
        with self._maildir.get_file(key) as file:
            return message_id(headers(file.read()))


@dataclass(frozen=True, slots=True)
class SmtpFaults:
    """Define which mails and connections the server refuses.

    Args:
        refused_mails: how many of 1,000 mails are refused once; a third of these is refused twice.
        every_connection: 150: each 150th connection is refused; 0: none.
    """

    refused_mails: int = 60
    every_connection: int = 150

    def refusals(self, mail_id: str) -> int:
        """Return how often this mail is refused before it is accepted: 0, 1 or 2 times."""
        hashed = zlib.crc32(mail_id.encode()) % 1000
        return (hashed < self.refused_mails) + (hashed < self.refused_mails // 3)

    def turns_away(self, connection: int) -> bool:
        """Return whether the connection with this number, from 1, is refused."""
        return self.every_connection > 0 and connection % self.every_connection == 0


@dataclass(frozen=True, slots=True)
class SmtpRefusals:
    """Count mails that were answered with 451, and connections that were answered with 421."""

    mails: int
    connections: int


@dataclass(frozen=True, slots=True)
class MailArrival:
    """Hold the headers of a mail that arrived. Times are epoch seconds.

    Attributes:
        mail_id: Message-ID.
        attempt: number of the attempt to send the mail, from 1.
        token: token of the claim; 0 without the header.
        enqueued_at: when the task was enqueued; `answered_at` without the header.
        started_at: when the worker began the attempt; `answered_at` without the header.
        answered_at: when the mail was stored or refused.
    """

    mail_id: str
    attempt: int
    token: int
    enqueued_at: float
    started_at: float
    answered_at: float

    @classmethod
    def read(cls, mail: Message) -> Self:
        """Parse the headers of a mail that was stored or refused just now."""
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
        """Return when a worker claimed the task: its token is the server's time in us."""
        return self.token / 1e6


class SmtpServer:
    """Receive mails at `server.address` in a block: `with SmtpServer(store) as server:`.

    Only the server's loop changes the lists; any thread may read them.

    Attributes:
        deliveries: the mails that were stored, in order of time.
        refusals: the mails that were answered with 451, in order of time.
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
        """Return the address at which the server listens: `host:port`."""
        return self._listening.result(START_TIMEOUT_S)

    @property
    def refused(self) -> SmtpRefusals:
        """Return how many mails and connections were refused so far."""
        return SmtpRefusals(len(self.refusals), self._turned_away)

    def __enter__(self) -> Self:
        self._thread.start()
        self._listening.result(START_TIMEOUT_S)
        return self

    def __exit__(self, *ended: object) -> None:
        self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join()
        self._writers.shutdown()  # waits until they have stored their mails

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
            # Store the mail in a thread, because its fsync would block all other connections.
            await loop.run_in_executor(self._writers, self._store.add, content)
        except (OSError, mailbox.Error) as error:
            return f"452 4.3.1 Cannot store the mail: {type(error).__name__}"
        self.deliveries.append(MailArrival.read(mail))
        return "250 2.0.0 Stored"

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._ending = asyncio.Event()
        try:
            # Pass host and port, not a socket, because only then asyncio sets TCP_NODELAY. Without
            # it each EHLO waits 40 ms for a delayed acknowledgement.
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
    """Refuse a connection: reply that the server is too busy, and close it (RFC 5321, 3.8)."""

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
