# Generated from _async/loader.py by tools/unasync.py: edit that, then run `make sync`.
"""Compute missing values. One caller computes a value; all others, in any process, wait for it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import Any, Final

from ...core.clock import Deadline
from ...core.concurrency._sync.cancellation import run_in_background
from ...core.concurrency._sync.primitives import Event
from ...core.concurrency._sync.user_calls import UserWork
from ...core.concurrency.interruption import raise_interruption
from ...core.notifier import RECHECK_S, Notifier
from ...core.telemetry import during
from ...errors import CacheLoadFailed, CacheTimeout, HoldfastError
from ...errors.one_line_logger import logger_of
from ..call_key import CallKey
from ..function_counts import FunctionCounts
from ..load_renewal import LoadRenewal
from ..options import CacheOptions, Lifetimes
from ..replies import LoadClaim, Loaded
from ..result_format import ResultFormat
from ..stored_value import StoredValue
from .flights import Flight, Flights, local_flights
from .value_store import FAILED_MS, ValueStore, new_token

logger: Final = logger_of("holdfast.cache")

MAX_REFRESHES: Final = 32
"""Number of values of one function that a process refreshes at the same time."""

_SHORTEST_WAIT_S: Final = 0.01


class ResultLoader:
    """Compute the missing values of one function.

    Args:
        store: calls the server.
        notifier: reports values that other processes have stored.
        renewal: renews the lease while the function runs.
        options: options of the function.
        results: encodes and decodes results.
        counts: returns the current counts of the function; each report replaces this object.
        name: name of the function.
    """

    def __init__(
        self,
        store: ValueStore,
        notifier: Notifier,
        renewal: LoadRenewal,
        options: CacheOptions,
        results: ResultFormat,
        counts: Callable[[], FunctionCounts],
        name: str,
    ) -> None:
        self._store = store
        self._notifier = notifier
        self._renewal = renewal
        self._options = options
        self._results = results
        self._counts = counts
        self._name = name
        self._flights = local_flights()

    def load(self, key: CallKey, work: UserWork[Any], missed: StoredValue | None) -> Loaded:
        """Return a value that is not stored: compute it, or wait for another caller that does.

        Args:
            key: the value.
            work: calls the function.
            missed: the stored value that the caller has read and cannot use; None: it found none.

        Raises:
            CacheLoadFailed: the function failed in another process.
            CacheTimeout: another caller took too long.
        """
        deadline, flights = Deadline(self._options.timeout_s), self._flights.get()
        while True:
            flight, is_mine = flights.enter(key.text)
            if is_mine:
                try:
                    return self._lead(key, work, missed, flight, deadline)
                finally:
                    flights.end(key.text, flight)
            flight.done.wait(_finite(deadline))
            if flight.error is not None:
                return Loaded(None, flight.error)
            if flight.is_unstored:
                return self._run(work)
            if flight.found is not None and (loaded := self._loaded(flight.found)) is not None:
                return loaded
            self._check(deadline)

    def refresh_soon(self, key: CallKey, work: UserWork[Any], seen: StoredValue) -> None:
        """Compute a value again in the background.

        Do nothing if `MAX_REFRESHES` refreshes run, if the value is being computed, or if a refresh
        of it failed a short time ago.
        """
        flights = self._flights.get()
        busy = len(flights.refreshing) >= MAX_REFRESHES
        if busy or key.text in flights.refreshing or flights.is_quiet(key.text, monotonic()):
            return
        flights.refreshing.add(key.text)
        run_in_background(partial(self._refresh, key, work, seen, flights))

    def put(self, key: CallKey, value: Any) -> None:
        """Store a value that the caller has. Results that are being computed now are not stored.

        Raises:
            TypeError, ValueError: the value cannot be stored; nothing was changed.
            HoldfastError: the server did not store it.
        """
        lifetimes = self._options.lifetimes(value)
        if lifetimes is None:  # the new value must not be stored, and the stored one is out of date
            self._store.invalidate([key])
            return
        packed = self._results.encoded(value)
        claim = self._store.claim(key, new_token(), "put", None)
        self._commit(key, claim, lifetimes, packed)

    def _refresh(
        self, key: CallKey, work: UserWork[Any], seen: StoredValue, flights: Flights
    ) -> None:
        """Compute a value again. Log failures, because the old value is still served."""
        flight, is_mine = flights.enter(key.text)
        try:
            if not is_mine:
                return
            claim = self._claim(key, "refresh", seen)
            if claim.verb == "wait":
                flights.keep_quiet(key.text, monotonic() + min(claim.wait_s, RECHECK_S))
            elif claim.verb == "load":
                self._counts().refreshes += 1
                _, error = self._compute(key, work, claim, flight)
                if error is not None:
                    flights.keep_quiet(key.text, monotonic() + FAILED_MS / 1000)
                    problem = f"{type(error).__name__}: {error}"
                    logger.warning("%s could not be refreshed: %s", self._name, problem)
        except HoldfastError as error:
            flights.keep_quiet(key.text, monotonic() + RECHECK_S)
            logger.debug("%s could not be refreshed: %s", self._name, error)
        finally:
            flights.refreshing.discard(key.text)
            if is_mine:
                flights.end(key.text, flight)

    def _lead(
        self,
        key: CallKey,
        work: UserWork[Any],
        missed: StoredValue | None,
        flight: Flight,
        deadline: Deadline,
    ) -> Loaded:
        """Claim the value and compute it. If another process computes it, wait for its result."""
        claim = self._claim(key, "miss", missed)
        if claim.verb == "load":
            return self._compute(key, work, claim, flight)
        flag, asked_ms = Event(), claim.now_ms
        with self._notifier.follow([key.events], flag):
            while True:
                flag.clear()
                stored = self._store.read(key)
                if (loaded := self._accepted(stored, asked_ms)) is not None:
                    self._share(key, flight)
                    return loaded
                awaited = claim.token if claim.verb == "wait" else ""
                claim = self._claim(key, "miss", stored, awaited)
                if claim.verb == "load":
                    return self._compute(key, work, claim, flight)
                if claim.verb == "failed":
                    return self._failed_elsewhere(work, claim, flight)
                self._check(deadline)
                wait_s = claim.wait_s if claim.verb == "wait" else 0.0
                flag.wait(min(max(wait_s, _SHORTEST_WAIT_S), deadline.left_s()))

    def _failed_elsewhere(self, work: UserWork[Any], claim: LoadClaim, flight: Flight) -> Loaded:
        """Return the error of the load for which the caller has waited.

        If that load had no error, but a result that is not stored, call the function.
        """
        if not claim.reason:
            flight.is_unstored = True
            return self._run(work)
        flight.error = CacheLoadFailed(self._name, claim.reason)
        return Loaded(None, flight.error)

    def _claim(
        self, key: CallKey, purpose: str, seen: StoredValue | None, awaited: str = ""
    ) -> LoadClaim:
        """Claim the value. If the caller is interrupted meanwhile, end the lease, if it has one."""
        token, seen_ms = new_token(), None if seen is None else seen.stored_ms
        try:
            return self._store.claim(key, token, purpose, seen_ms, awaited)
        except HoldfastError:
            raise
        except BaseException:
            run_in_background(partial(self._abandon, key, token, None))
            raise

    def _compute(
        self, key: CallKey, work: UserWork[Any], claim: LoadClaim, flight: Flight
    ) -> Loaded:
        """Call the function and store its result. Return what a reader of the stored one gets."""
        try:
            with self._renewal.renewing(key, claim.token):
                value, error = self._run(work)
        except BaseException:
            run_in_background(partial(self._abandon, key, claim.token, None))
            raise
        if error is not None:
            flight.error = error
            self._store_error(key, claim, error)
            return Loaded(None, error)
        body = self._store_value(key, claim, value)
        if body is None:
            flight.is_unstored = True
            return Loaded(value)
        self._share(key, flight)
        return self._results.loaded(body[1], body[0]) or Loaded(value)

    def _store_value(self, key: CallKey, claim: LoadClaim, value: Any) -> tuple[int, bytes] | None:
        """Store a result under a lease. Return its flags and body; None if it is not stored."""
        try:
            lifetimes = self._options.lifetimes(value)
            packed = None if lifetimes is None else self._results.encoded(value)
        except (TypeError, ValueError) as error:
            logger.warning("the result of %s is not stored: %s", self._name, error)
            lifetimes = packed = None
        if lifetimes is None or packed is None:
            self._abandon(key, claim.token, "")
            return None
        try:
            self._commit(key, claim, lifetimes, packed)
        except HoldfastError as error:
            logger.warning("a result of %s is not stored: %s", self._name, error)
        return packed

    def _commit(
        self, key: CallKey, claim: LoadClaim, lifetimes: Lifetimes, packed: tuple[int, bytes]
    ) -> None:
        """Store a result under a lease. If that fails, end the lease, so that another caller can
        compute the value."""
        try:
            is_stored = self._store.commit(key, claim, lifetimes, *packed)
        except BaseException:
            run_in_background(partial(self._abandon, key, claim.token, None))
            raise
        if is_stored:
            self._counts().stored(len(packed[1]), lifetimes.fresh_ms + lifetimes.stale_ms)

    def _store_error(self, key: CallKey, claim: LoadClaim, error: Exception) -> None:
        """Store an exception of the function if `error_ttl` names its class.

        Otherwise store its text for five seconds, for the callers that wait for the value.
        """
        self._counts().failures += 1
        try:
            lifetimes = self._options.lifetimes(None, error)
            if lifetimes is not None:
                packed = self._results.encoded_error(error)
                self._store.commit(key, claim, lifetimes, *packed)
                return
        except (TypeError, ValueError) as problem:
            logger.warning("an exception of %s is not stored: %s", self._name, problem)
        except HoldfastError as problem:
            logger.debug("an exception of %s is not stored: %s", self._name, problem)
        self._abandon(key, claim.token, f"{type(error).__name__}: {error}")

    def _abandon(self, key: CallKey, token: str, reason: str | None) -> None:
        """End a lease; see `ValueStore.abandon`. If this call fails, it ends by itself."""
        try:
            self._store.abandon(key, token, reason)
        except HoldfastError as error:
            logger.debug("a lease of %s ends later: %s", self._name, error)

    def _share(self, key: CallKey, flight: Flight) -> None:
        """Read the value once for all callers of this process that wait for *flight*. They began to
        wait before this read, so its result is as new as that of a read of their own."""
        if self._flights.get().close(key.text, flight):
            with suppress(HoldfastError):  # Then each follower reads the value itself.
                flight.found = self._store.read(key)

    def _run(self, work: UserWork[Any]) -> Loaded:
        """Call the function. Count the call and its duration. Return its result or exception."""
        began = monotonic()
        self._counts().loads += 1
        try:
            with during(self._store.telemetry, "load", self._store.unit):
                return Loaded(work())
        except Exception as error:  # noqa: BLE001 (raised in the caller)
            raise_interruption(error)
            return Loaded(None, error)
        finally:
            self._counts().load_ms += round((monotonic() - began) * 1000)

    def _accepted(self, stored: StoredValue | None, asked_ms: int) -> Loaded | None:
        """Return the value if it is fresh, or was stored at or after *asked_ms* (server time)."""
        if stored is None or not (stored.is_fresh or stored.stored_ms >= asked_ms):
            return None
        return self._loaded(stored)

    def _loaded(self, stored: StoredValue) -> Loaded | None:
        return self._results.loaded(stored.body, stored.flags)

    def _check(self, deadline: Deadline) -> None:
        if deadline.passed:
            raise CacheTimeout(self._name, self._options.timeout_s or 0.0)


def _finite(deadline: Deadline) -> float | None:
    """Return the seconds left; None without a limit."""
    left_s = deadline.left_s()
    return None if left_s == float("inf") else left_s
