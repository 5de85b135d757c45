"""An SMTP server as difficult as real ones: it refuses some mails at first and some connections.

Every mail that it answers with 250 is in the maildir by then; a mail that it refuses is not. What
arrived is read from the mails themselves: the worker writes into their headers when the task was
enqueued, when it was claimed, which attempt this is and when it began, so nobody has to be believed
but the mail.

The server runs on a thread and an event loop of its own. Its faults depend on nothing but the
Message-ID and the number of the connection, so that every run of the demo meets the same ones.
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
from typing import Self

from aiosmtpd.smtp import SMTP, Envelope, Session

from .maildir import MailStore, headers, message_id

BACKLOG = 1024  # workers that all connect at once; the system lowers it to its own limit
START_TIMEOUT_S = 10.0
WRITERS = 4  # threads that store mails; few overlap their fsyncs, many only fight for the GIL


@dataclass(frozen=True, slots=True)
class Faults:
    """What the server refuses; the defaults are frequent enough to be seen in a short run.

    Args:
        refused_mails: so many mails in a thousand are refused once, a third of these twice.
        every_connection: one connection in so many is turned away; 0 turns none away.
    """

    refused_mails: int = 60
    every_connection: int = 150

    def refusals(self, mail_id: str) -> int:
        """How often this mail is refused before it is taken: 0, 1 or 2 times."""
        lot = zlib.crc32(mail_id.encode()) % 1000
        return (lot < self.refused_mails) + (lot < self.refused_mails // 3)

    def turns_away(self, connection: int) -> bool:
        """Whether this connection, counted from 1, is turned away."""
        return self.every_connection > 0 and connection % self.every_connection == 0


@dataclass(frozen=True, slots=True)
class Refused:
    """How often the server answered 451 to a mail and 421 to a connection."""

    mails: int
    connections: int


@dataclass(frozen=True, slots=True)
class Delivery:
    """One mail that came, by its own account; instants are epoch seconds, attempts count from 1.

    A mail that does not say when it was enqueued or begun, was so when it was answered.

    Attributes:
        token: of the claim; 0 when the mail does not say.
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
        """The delivery of a mail that was stored or refused just now."""
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
        """When a worker claimed it, by the clock of the queue's server: that is what tokens are."""
        return self.token / 1e6


class Intake:
    """What the server does with a mail: refuses it for now, or stores it, and notes that.

    Changed on the server's loop only; any thread may read the lists.
    """

    def __init__(self, store: MailStore, faults: Faults) -> None:
        self.deliveries: list[Delivery] = []
        self.refusals: list[Delivery] = []
        self._store = store
        self._faults = faults
        self._tries: Counter[str] = Counter()
        self._writers = ThreadPoolExecutor(WRITERS, "maildir")

    def close(self) -> None:
        """End the threads that store mails, once they have stored what they began."""
        self._writers.shutdown()

    async def handle_DATA(  # noqa: N802  (aiosmtpd looks for this name)
        self, _server: SMTP, _session: Session, envelope: Envelope
    ) -> str:
        content = bytes(envelope.original_content or b"")
        mail = headers(content)
        mail_id = message_id(mail)
        self._tries[mail_id] += 1
        if self._tries[mail_id] <= self._faults.refusals(mail_id):
            self.refusals.append(Delivery.read(mail))
            return "451 4.7.1 Greylisted, please try again later"
        loop = asyncio.get_running_loop()
        try:
            # Not on the loop: the fsync of one mail would hold up all other connections.
            await loop.run_in_executor(self._writers, self._store.add, content)
        except (OSError, mailbox.Error) as error:
            return f"452 4.3.1 Cannot store the mail: {type(error).__name__}"
        self.deliveries.append(Delivery.read(mail))
        return "250 2.0.0 Stored"


class MailServer:
    """`with MailServer(store) as server:` takes mail at `server.address` until the block ends."""

    def __init__(self, store: MailStore, faults: Faults | None = None) -> None:
        self._faults = faults or Faults()
        self._intake = Intake(store, self._faults)
        self._connections = 0
        self._turned_away = 0
        self._listening: Future[str] = Future()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve()), name="smtp", daemon=True
        )

    @property
    def address(self) -> str:
        """Where the server listens, as `host:port`."""
        return self._listening.result(START_TIMEOUT_S)

    @property
    def deliveries(self) -> list[Delivery]:
        """The mails that were stored, in that order; grows while the server runs."""
        return self._intake.deliveries

    @property
    def refusals(self) -> list[Delivery]:
        """The mails that were answered with 451, in that order; grows while the server runs."""
        return self._intake.refusals

    @property
    def refused(self) -> Refused:
        """What was refused so far."""
        return Refused(len(self._intake.refusals), self._turned_away)

    def __enter__(self) -> Self:
        self._thread.start()
        self._listening.result(START_TIMEOUT_S)
        return self

    def __exit__(self, *ended: object) -> None:
        self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join()
        self._intake.close()

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
            return _TurnedAway()
        return SMTP(self._intake, hostname="mail.fakegame.example", loop=self._loop)


class _TurnedAway(asyncio.Protocol):
    """A server that has too much to do: says so and hangs up (RFC 5321, 3.8)."""

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
