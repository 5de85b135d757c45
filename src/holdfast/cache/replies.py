"""Parse the replies of the scripts of cached functions. No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self


class Loaded(NamedTuple):
    """What a call of the function returned, or the exception that it raised."""

    value: Any
    error: Exception | None = None

    def outcome(self) -> Any:
        """Return the value, or raise the exception."""
        if self.error is not None:
            raise self.error
        return self.value


class LoadClaim(NamedTuple):
    """The reply of `lua/claim.lua`.

    Attributes:
        verb: `load` (the caller has the lease), `wait` (another process has it), `newer` (a newer
            value is stored) or `failed` (the awaited load has failed).
        now_ms: the server's time.
        token: token of the lease; with `wait`, of the other process.
        wait_s: with `wait`, seconds until the lease of the other process ends.
        epochs: with `load`, the epochs to store with the value.
        reason: with `failed`, why the load failed; empty if only its result could not be stored.
    """

    verb: str
    now_ms: int
    token: str
    wait_s: float = 0.0
    epochs: tuple[bytes, ...] = ()
    reason: str = ""

    @classmethod
    def of(cls, token: str, reply: Sequence[Any]) -> Self:
        """Parse *reply*. *token* is the token that the caller sent for its own lease."""
        verb, now_ms, *rest = reply
        match verb:
            case b"load":
                return cls("load", int(now_ms), token, epochs=tuple(rest))
            case b"wait":
                holder = rest[1].decode(errors="replace")
                return cls("wait", int(now_ms), holder, int(rest[0]) / 1000)
            case _:
                reason = rest[0].decode(errors="replace") if rest else ""
                return cls(verb.decode(), int(now_ms), token, reason=reason)
