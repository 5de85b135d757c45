"""Skip the server for a while after it did not answer, so that calls do not wait for it in vain."""

from __future__ import annotations

from time import monotonic
from typing import Final

from ..core.clock import backoff_s
from ..errors import ServerRefused
from ..errors.one_line_logger import logger_of

logger: Final = logger_of("holdfast.cache")

_FIRST_PAUSE_S: Final = 0.1
_LONGEST_PAUSE_S: Final = 2.0
_LOGGED_S: Final = 60.0


class ServerOutage:
    """Whether the server of a client is available for cached functions. All threads may use it."""

    def __init__(self) -> None:
        self._failures = 0
        self._until = 0.0
        self._logged_at = -_LOGGED_S

    @property
    def is_pausing(self) -> bool:
        """Return whether to skip the server now."""
        return self._failures > 0 and monotonic() < self._until

    def failed(self, error: Exception, *, calls: bool) -> None:
        """Note that a call to the server failed, and log it once a minute.

        Args:
            error: the error.
            calls: whether the function is called without its cache; only for the text of the log.
        """
        now = monotonic()
        if not isinstance(error, ServerRefused):  # A refusal arrives at once: no pause is needed.
            if now >= self._until:
                self._failures += 1
            self._until = now + backoff_s(self._failures, _FIRST_PAUSE_S, _LONGEST_PAUSE_S)
        if now - self._logged_at >= _LOGGED_S:
            self._logged_at = now
            what = "functions are called without their cache" if calls else "calls fail"
            logger.warning("the server of cached functions is not available: %s; %s", error, what)

    def answered(self) -> None:
        """Note that the server answered."""
        if self._failures:
            self._failures, self._until = 0, 0.0  # the next failure begins a new pause
            logger.info("the server of cached functions is available again")
