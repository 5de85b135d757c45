# Generated from _async/commit_listener.py by tools/unasync.py: edit that, then run `make sync`.
"""Receive the notifications of PostgreSQL that a transaction with new rows has committed."""

from __future__ import annotations

from typing import Any, Final

from ...core.concurrency._sync.primitives import Event
from ...errors.one_line_logger import logger_of
from ..database import driver_connection
from ..table import CHANNEL

logger: Final = logger_of("holdfast.outbox")

_CHECK_S: Final = 0.5
"""Seconds between two checks whether the listener was stopped."""

_PAUSE_S: Final = 1.0
"""Seconds until the listener connects again after a failure."""


class CommitListener:
    """Set *flag* at each notification of PostgreSQL, which arrives on a separate connection.

    Notifications only save time: without them a relay reads the table every second.
    """

    def __init__(self, engine: Any, flag: Event) -> None:
        self._engine = engine
        self._flag = flag
        self._stopped = Event()

    def run(self) -> None:
        """Listen until `stop`."""
        while not self._stopped.is_set():
            try:
                with self._engine.connect() as connection:
                    connection.execution_options(isolation_level="AUTOCOMMIT")
                    connection.exec_driver_sql(f"LISTEN {CHANNEL}")
                    self._listen(driver_connection(connection))
            except Exception as error:  # noqa: BLE001 (each driver has errors of its own)
                logger.debug("PostgreSQL does not notify the relay: %s", error)
                self._stopped.wait(_PAUSE_S)

    def stop(self) -> None:
        """Let `run` return soon."""
        self._stopped.set()

    def _listen(self, driver: Any) -> None:
        self._flag.set()  # rows may have been committed before this connection listened
        if hasattr(driver, "add_listener"):  # asyncpg calls a function
            driver.add_listener(CHANNEL, lambda *_: self._flag.set())
            while not (driver.is_closed() or self._stopped.wait(_CHECK_S)):
                pass
            return
        while not self._stopped.is_set():  # psycopg yields notifications
            for _ in driver.notifies(timeout=_CHECK_S, stop_after=1):
                self._flag.set()
