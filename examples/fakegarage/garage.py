"""Runs the day: starts the processes, kills some, and follows what every phone has on disk."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from .account import Account
from .check import Count, count, problems
from .day import Act, Day
from .journal import Follower
from .processes import PhoneProcess

NAMESPACE = "fakegarage"
SETTLE_S = 2.0  # about what it takes to start the processes
TICK_S = 0.125
STALL_S = 15.0  # without any news, when the day is over; longer than any call takes
SAID = 5
LINGER_S = 0.5  # for what must not come a second time


class Garage:
    """A day with all its phones.

    Args:
        day: what happens.
        seed: makes the same day in the processes.
        server: the socket of the server.
        folder: a private one for what the phones have on disk. Its path must be short: there are
            sockets in it.
        namespace: of all mailboxes and chats.

    Attributes:
        accounts: by user, what the phone has done and received.
        said: the latest messages that are sent, as their writers know.
        down: users with a process that was killed and is not back yet.
    """

    def __init__(
        self, day: Day, *, seed: int, server: str, folder: Path, namespace: str = NAMESPACE
    ) -> None:
        self.day = day
        self.accounts = {user: Account(user) for user in day.users}
        self.said: deque[Act] = deque(maxlen=SAID)
        self._acts = {act.id: act for acts in day.acts.values() for act in acts}
        self.down: set[str] = set()
        self._began_at = time.time() + SETTLE_S
        self._followers = {user: Follower(folder / f"{user}.jsonl") for user in day.users}
        where = {"server": server, "folder": str(folder), "namespace": namespace}
        what = {"seed": seed, "clients": len(day.users), "seconds": day.seconds}
        self._processes = [
            PhoneProcess(
                {**where, **what, "users": users, "began_at": self._began_at},
                folder / f"process-{number}.log",
            )
            for number, users in enumerate(day.processes, 1)
        ]
        self._coming = self._kills()
        self._quiet_since = time.monotonic()

    def run(self) -> Iterator[None]:
        """Let the day pass; pauses now and then, so that one can look at it.

        It ends when everybody has everything, or when nothing comes any more.

        Raises:
            PhonesFailed: a process ended by itself.
        """
        try:
            self.start()
            while self.look():
                yield
                time.sleep(TICK_S)
            time.sleep(LINGER_S)
        finally:
            self.end()

    def start(self) -> None:
        """Let the day begin."""
        for process in self._processes:
            process.start()
        self._quiet_since = time.monotonic()

    def look(self) -> bool:
        """Do what is due, and read on in all journals; to be called several times a second.

        Returns:
            Whether anything is left to do, or may still come.

        Raises:
            PhonesFailed: a process ended by itself.
        """
        while self._coming and self._coming[0][0] <= self.elapsed_s:
            self._coming.popleft()[1]()
        for process in self._processes:
            process.check()
        if self._follow() or self._coming or self.elapsed_s < self.day.seconds:
            self._quiet_since = time.monotonic()
        if self._coming or not (self.mailboxes.complete and self.chats.complete):
            return time.monotonic() - self._quiet_since < STALL_S
        return False

    def end(self) -> None:
        """Let all processes end, and read the rest of their journals."""
        for process in self._processes:
            process.end()
        self._follow()

    @property
    def elapsed_s(self) -> float:
        """Return the elapsed seconds of the day; more than it lasts when it is over."""
        return max(0.0, time.time() - self._began_at)

    def pids(self) -> dict[str, int]:
        """Return the processes that run now, by name."""
        pids = {f"phones-{n}": process.pid for n, process in enumerate(self._processes, 1)}
        return {name: pid for name, pid in pids.items() if pid is not None}

    @property
    def kills(self) -> int:
        """Return how often a process was killed so far."""
        return sum(process.kills for process in self._processes)

    @property
    def mailboxes(self) -> Count:
        """Return how far all mailboxes are."""
        return count(self.day, self.accounts, chats=False)

    @property
    def chats(self) -> Count:
        """Return how far all chats are."""
        return count(self.day, self.accounts, chats=True)

    def progress_line(self) -> str:
        """Return the progress in a line."""
        counts = self.mailboxes, self.chats
        written, delivered, to_deliver = (
            sum(getattr(each, name) for each in counts)
            for name in ("written", "delivered", "to_deliver")
        )
        away = sum(
            user in self.down or not account.signal for user, account in self.accounts.items()
        )
        return (
            f"{self.elapsed_s:5.1f} s  {written:,} written, {delivered:,} of {to_deliver:,} "
            f"delivered, {away:,} of {len(self.accounts):,} phones away"
        )

    def problems(self) -> list[str]:
        """Return what is wrong after the day, in sentences."""
        return list(problems(self.day, self.accounts))

    def _kills(self) -> deque[tuple[float, Callable[[], None]]]:
        """Return when to kill and start which process."""
        coming: deque[tuple[float, Callable[[], None]]] = deque()
        for kill in self.day.kills:
            process = self._processes[kill.process]
            coming += (kill.at, partial(self._kill, process)), (kill.again_at, process.start)
        return coming

    def _kill(self, process: PhoneProcess) -> None:
        process.kill()
        self.down.update(process.users)

    def _follow(self) -> bool:
        """Read on in all journals. Whether there was anything new."""
        moved = False
        for user, follower in self._followers.items():
            for record in follower.news():
                moved = True
                self.accounts[user].add(record)
                if "signal" in record:
                    self.down.discard(user)
                if record.get("seq") and "done" in record:
                    self.said.append(self._acts[record["done"]])
        return moved
