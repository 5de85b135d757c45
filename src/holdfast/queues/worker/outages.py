"""Logs the outages of the servers of a worker."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from ...core.names import Unit
from ...errors.one_line_logger import logger_of

logger: Final = logger_of("holdfast.worker")

REPEAT_S: Final = 60.0
"""Seconds between two warnings of an outage."""

_CONNECTING: Final = re.compile(r"Error -?\d+ connecting to \S+\. ")
"""Text that redis-py puts before a reason. It is removed, because log records name the server."""

_LISTED: Final = 5
"""Number of queues that a warning names."""


@dataclass(slots=True)
class Outage:
    """Queues that one server does not serve.

    Attributes:
        units: queue → why its latest call failed.
        began: when the first call failed, in seconds of the monotonic clock.
        since: when the first call failed, by the wall clock, for people.
        warn_at: when the outage is logged again, in seconds of the monotonic clock.
    """

    units: dict[Unit, str]
    began: float
    since: datetime
    warn_at: float


class Outages:
    """Logs each outage at once, then every minute, and once when it is over.

    Queues of one server share an outage, so that a worker of many queues does not log one line for
    each of them.

    Args:
        worker: the worker's name.
        server_of: returns the name of the server of a queue.
        repeat_s: seconds between two warnings.
    """

    def __init__(
        self, worker: str, server_of: Callable[[Unit], str], *, repeat_s: float = REPEAT_S
    ) -> None:
        self._worker = worker
        self._server_of = server_of
        self._repeat_s = repeat_s
        self._by_server: dict[str, Outage] = {}
        self._servers: dict[Unit, str] = {}

    def problems(self) -> list[str]:
        """Return one text for each queue that is not served: its name, the reason, the duration."""
        now = time.monotonic()
        return [
            f"{unit}: {reason}, for {now - outage.began:.0f} s"
            for outage in list(self._by_server.values())
            for unit, reason in list(outage.units.items())
        ]

    def failed(self, unit: Unit, reason: str, *, alone: bool = False) -> None:
        """Record that a call about *unit* failed, and log the outage unless it was just logged.

        Args:
            unit: the queue.
            reason: why the call failed.
            alone: whether the cause is the queue, not its server.
        """
        now, reason = time.monotonic(), plain_reason(reason)
        server = self._servers.get(unit)
        if server is None:
            server = self._servers[unit] = str(unit) if alone else self._server_of(unit)
        outage = self._by_server.get(server)
        if outage is None:
            outage = Outage({}, now, datetime.now(UTC), now)
            self._by_server[server] = outage
        outage.units[unit] = reason
        if now < outage.warn_at:
            logger.debug("%s: %s; asking until it answers", unit, reason)
            return
        outage.warn_at = now + self._repeat_s
        logger.warning(
            "worker %s cannot claim tasks of %s since %s (%.0f s): %s; asking until it answers",
            self._worker,
            _listed(outage.units),
            outage.since.strftime("%Y-%m-%d %H:%M:%S UTC"),
            now - outage.began,
            reason,
        )

    def answered(self, unit: Unit) -> None:
        """Record that a call about *unit* was answered, and log the end of its outage."""
        server = self._servers.pop(unit, None)
        if server is None:
            return
        outage = self._by_server[server]
        del outage.units[unit]
        if not outage.units:
            del self._by_server[server]
            logger.info(
                "worker %s claims tasks again: %s answers after %.0f s",
                self._worker,
                unit,
                time.monotonic() - outage.began,
            )


def plain_reason(reason: str) -> str:
    """Return why a call failed, to be put into a sentence."""
    return _CONNECTING.sub("", reason).rstrip(".")


def _listed(units: Iterable[Unit]) -> str:
    """Return the names of some *units*, and how many more there are."""
    names = [str(unit) for unit in units]
    more = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {more:,} more" if more > 0 else "")
