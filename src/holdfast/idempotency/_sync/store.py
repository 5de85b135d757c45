# Generated from _async/store.py by tools/unasync.py: edit that, then run `make sync`.
"""Provide the store of answers by idempotency key."""

from __future__ import annotations

import secrets
from contextlib import suppress
from functools import partial
from typing import Final, Literal

from ...core._sync.caller import Argument, Caller
from ...core._sync.catalog import Catalog
from ...core.clock import Deadline, Duration, since_boot, to_ms, to_seconds
from ...core.concurrency._sync.cancellation import run_shielded
from ...core.concurrency._sync.primitives import Event
from ...core.names import Namespace, Unit, encode_name
from ...core.notifier import RECHECK_S, Notifier
from ...core.renewer import RenewedLease, Renewer
from ...core.script import Script
from ...core.stored import decoding
from ...errors import HoldfastError
from .. import keys
from ..call_names import call_unit, fingerprint_digest
from ..call_status import IdempotentCallStatus
from .call import RENEW, IdempotentCall, released

BEGIN: Final = Script.load("holdfast.idempotency", "begin")
FORGET: Final = Script.load("holdfast.idempotency", "forget")
PEEK: Final = Script.load("holdfast.idempotency", "peek")

MIN_LEASE_MS: Final = 1000
MAX_KEPT_MS: Final = 366 * 86_400 * 1000

_TOKEN_BITS: Final = 53

_FREE: Final = -2
"""Reply of `peek.lua` for a free key."""


class Idempotency:
    """Answers of calls by idempotency key: a repeated call gets the answer of the first one.

    Made by `Holdfast.idempotency`.

    Attributes:
        name: name of the store.
    """

    def __init__(
        self,
        caller: Caller,
        catalog: Catalog,
        notifier: Notifier,
        renewer: Renewer,
        namespace: Namespace,
        name: str,
        ttl: Duration,
        lease: Duration,
    ) -> None:
        encode_name(name)
        self.name = name
        self._kept_ms = to_ms(ttl, "ttl")
        self._lease_ms = to_ms(lease, "lease")
        if not self._lease_ms >= MIN_LEASE_MS:
            raise ValueError(f"lease must be at least 1 s, got {self._lease_ms / 1000:g} s")
        for what, value in (("ttl", self._kept_ms), ("lease", self._lease_ms)):
            if value > MAX_KEPT_MS:
                raise ValueError(f"{what} must be at most 366 days, got {value / 1000:g} s")
        self._caller = caller
        self._catalog = catalog
        self._notifier = notifier
        self._renewer = renewer
        self._namespace = namespace
        self._unit = namespace.unit(keys.STORE, name)

    def __repr__(self) -> str:
        return f"Idempotency({self.name!r})"

    def begin(
        self,
        key: str,
        fingerprint: bytes | str,
        *,
        user: str = "",
        wait: Duration | None = 0.0,
    ) -> IdempotentCall:
        """Begin the call under *key*, or return its state and its answer, if there is one.

        Of all concurrent callers with the same user, key and fingerprint, one gets the state
        `begun`. It must do the work, and call `finish` or `release`.

        Args:
            key: the idempotency key, which the user chose; any length.
            fingerprint: what is asked, such as the body of the request; the server stores a digest.
            user: the owner of the key. Each user has keys of its own, so that no user gets the
                answer of another user.
            wait: seconds to wait at most while another caller runs the call (or a timedelta); None:
                without limit, 0: not at all.

        Raises:
            ServerUnavailable: the server could not be reached. If it began the call nevertheless,
                the key is free when the lease ends.
            TypeError: *key* or *user* is not a str, or *fingerprint* is neither bytes nor a str.
            ValueError: *key* is empty.
        """
        unit = call_unit(self._namespace, self.name, user, key)
        asked = fingerprint_digest(fingerprint)
        deadline = Deadline(None if wait is None else to_seconds(wait, "wait"))
        found = self._attempt(unit, asked)
        if found.state == "running" and not deadline.passed:
            found = self._wait(unit, asked, deadline)
        if found.state == "begun" and not self._catalog.has(self._unit):
            self._note(found)
        return found

    def status(self, key: str, *, user: str = "") -> IdempotentCallStatus | None:
        """Return what is stored under *key*, without its answer; None if the key is free.

        Args:
            key: see `begin`.
            user: see `begin`.
        """
        unit = call_unit(self._namespace, self.name, user, key)
        reply = self._caller.call(PEEK, unit, PEEK.keys(unit), [], harmless=True, durable=False)
        with decoding(f"the call of {unit}"):
            free_ms, fingerprint, size = reply
            if free_ms == _FREE:
                return None
            state: Literal["running", "done"] = "done" if size >= 0 else "running"
            return IdempotentCallStatus(
                state, max(0, free_ms) / 1000, fingerprint.hex(), max(0, size)
            )

    def forget(self, key: str, *, user: str = "") -> bool:
        """Free *key*, so that the next call with it begins again. For operators; safe to repeat.

        A caller that holds the key continues, and cannot store its answer.

        Args:
            key: see `begin`.
            user: see `begin`.

        Returns:
            Whether there was a call.
        """
        unit = call_unit(self._namespace, self.name, user, key)
        args: list[Argument] = [unit.channel]
        return bool(self._caller.call(FORGET, unit, FORGET.keys(unit), args, harmless=True) == 1)

    def _wait(self, unit: Unit, asked: bytes, deadline: Deadline) -> IdempotentCall:
        """Begin the call when its key is free, or return its answer, until *deadline*."""
        woken = Event()
        with self._notifier.follow([unit], woken):
            while True:
                woken.clear()
                found = self._attempt(unit, asked)
                if found.state != "running" or deadline.passed:
                    return found
                woken.wait(min(deadline.left_s(), found.free_in or RECHECK_S))

    def _attempt(self, unit: Unit, asked: bytes) -> IdempotentCall:
        """Call `begin.lua` once. If an exception interrupts this at any line, free the key."""
        token = secrets.randbits(_TOKEN_BITS)
        lease = RenewedLease(
            unit,
            RENEW,
            RENEW.keys(unit),
            b"",
            token,
            self._lease_ms,
            since_boot(),
            on_lost=_do_nothing,
            listed=False,
        )
        args: list[Argument] = [token, asked, self._lease_ms]
        try:
            reply = self._caller.call(BEGIN, unit, BEGIN.keys(unit), args, harmless=True)
            return IdempotentCall(self._caller, self._renewer, unit, lease, self._kept_ms, reply)
        except HoldfastError:
            raise
        except BaseException:
            run_shielded(partial(self._undo, unit, token))
            raise

    def _undo(self, unit: Unit, token: int) -> None:
        with suppress(HoldfastError):  # then the key is free when the lease ends
            released(self._caller, unit, token)

    def _note(self, call: IdempotentCall) -> None:
        """Record the name of the store, so that operators can list it.

        If this is cancelled, free the key that *call* has just taken: no caller would finish it.
        """
        try:
            self._catalog.note(self._unit)
        except BaseException:
            run_shielded(call.release)
            raise


def _do_nothing() -> None:
    """Ignore the loss of a lease: `finish` reports it."""
