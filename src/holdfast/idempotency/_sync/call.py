# Generated from _async/call.py by tools/unasync.py: edit that, then run `make sync`.
"""Provide one call under an idempotency key: it has begun, runs elsewhere, or has an answer."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Final, Literal, Self

from ...core._sync.caller import Argument, Caller
from ...core.concurrency._sync.cancellation import run_shielded
from ...core.concurrency.fork_hooks import process_id
from ...core.names import Unit
from ...core.renewer import RenewedLease, Renewer
from ...core.script import Script
from ...core.stored import decoding
from ...errors import HoldfastError, PayloadTooLarge
from ...errors.one_line_logger import logger_of

FINISH: Final = Script.load("holdfast.idempotency", "finish")
RELEASE: Final = Script.load("holdfast.idempotency", "release")
RENEW: Final = Script.load("holdfast.idempotency", "renew")

MAX_ANSWER_BYTES: Final = 1 << 20
"""Largest size of a stored answer."""

logger: Final = logger_of("holdfast")

State = Literal["begun", "running", "done", "conflict"]


class IdempotentCall:
    """A call under an idempotency key.

    As a context manager, it frees the key at the end of the block, unless `finish` was called.

    A thread of the client renews the lease of a call that has begun, until it is finished or
    released. If the process dies, the key is free when the lease ends. A forked child neither
    renews nor releases the call.

    Made by `Idempotency.begin`.

    Attributes:
        state: `begun`: this caller must do the work, then call `finish` or `release`. `running`:
            another caller does it. `done`: there is an answer. `conflict`: the key was used with
            another fingerprint.
        answer: the stored answer; None unless the state is `done`.
        free_in: seconds until the key is free, unless its caller renews the lease before.
    """

    def __init__(
        self,
        caller: Caller,
        renewer: Renewer,
        unit: Unit,
        lease: RenewedLease,
        kept_ms: int,
        reply: Any,
    ) -> None:
        with decoding(f"the answer of {unit}"):
            state, free_ms, answer = reply
            self.state: State = state.decode()
            self.free_in: float = max(0, free_ms) / 1000
        self.answer: bytes | None = answer if self.state == "done" else None
        self._caller = caller
        self._renewer = renewer
        self._unit = unit
        self._lease = lease
        self._kept_ms = kept_ms
        self._is_open = self.state == "begun"
        self._pid = process_id()
        if self._is_open:
            renewer.keep(lease)

    def __repr__(self) -> str:
        return f"IdempotentCall({self._unit.name!r}, {self.state!r})"

    @property
    def lost(self) -> bool:
        """Return whether the lease of a call that has begun is lost: another caller may run it."""
        is_inherited = self._pid != process_id()
        return self._is_open and (is_inherited or self._lease.lost or self._lease.ended)

    def finish(self, answer: bytes) -> bool:
        """Store *answer* for later calls with the same key. Safe to repeat.

        Args:
            answer: any bytes, at most 1 MiB.

        Returns:
            Whether it is stored; False if the lease was lost, so that the key is free, or belongs
            to another caller.

        Raises:
            PayloadTooLarge: *answer* is too large. The call still holds the key.
            RuntimeError: this call has not begun, or was released.
        """
        self._check_open("finish")
        if not isinstance(answer, bytes):
            raise TypeError(f"an answer must be bytes, got {type(answer).__name__}")
        if len(answer) > MAX_ANSWER_BYTES:
            raise PayloadTooLarge(f"the answer of {self._unit}", len(answer), MAX_ANSWER_BYTES)
        args: list[Argument] = [self._lease.token, answer, self._kept_ms, self._unit.channel]
        stored = self._caller.call(FINISH, self._unit, FINISH.keys(self._unit), args, harmless=True)
        self._end()
        return bool(stored == 1)

    def release(self) -> bool:
        """Free the key, so that the next call with it begins again. Safe to repeat.

        Returns:
            Whether this call held the key until now; False in a forked child, which holds no key.
        """
        self._end()
        if self._pid != process_id():
            return False
        return released(self._caller, self._unit, self._lease.token)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._is_open:
            run_shielded(self._release_quietly)

    def _release_quietly(self) -> None:
        """Free the key. If the server cannot be reached, it is free when the lease ends."""
        try:
            self.release()
        except HoldfastError as failure:
            logger.warning("%s is free only when its lease ends: %s", self._unit, failure)

    def _check_open(self, verb: str) -> None:
        if not self._is_open:
            why = self.state if self.state != "begun" else "finished or released"
            raise RuntimeError(f"{verb} on {self._unit}: this call is {why}, so it cannot {verb}")

    def _end(self) -> None:
        self._is_open = False
        self._renewer.drop(self._lease)


def released(caller: Caller, unit: Unit, token: int) -> bool:
    """Free the key of the attempt *token*. Return whether the attempt held it."""
    args: list[Argument] = [token, unit.channel]
    return bool(caller.call(RELEASE, unit, RELEASE.keys(unit), args, harmless=True))
