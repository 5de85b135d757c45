"""Encode and decode the records of the steps of a task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from ...core.codec import JSON, encoded
from ...core.stored import decoding
from ...errors import PayloadTooLarge

Kind = Literal["step", "sleep", "wait"]
Outcome = Literal["done", "failed", "late"]

MOST_STEPS: Final = 1000
"""Maximum number of steps of one task."""

MOST_NAME_BYTES: Final = 100

MOST_SIGNAL_BYTES: Final = 65_536

HEADER_BYTES: Final = 300
"""Bytes of a record without its JSON, at most."""


@dataclass(frozen=True, slots=True)
class StepRecord:
    """How a step ended.

    Attributes:
        kind: `step`, `sleep` or `wait`.
        name: its name, with its number if the name is repeated.
        outcome: `done`; `failed`, the task caught its exception; `late`, a wait that timed out.
        data: JSON of the result, or of the exception.
        token: token of the claim that stored it.
        attempt: the attempt of the task.
        ended_ms: when it was stored, by the server's clock (ms).
        duration_us: how long its function ran (µs).
    """

    kind: Kind
    name: str
    outcome: Outcome
    data: bytes
    token: int = 0
    attempt: int = 0
    ended_ms: int = 0
    duration_us: int = 0

    @classmethod
    def parsed(cls, raw: bytes) -> StepRecord:
        """Return the record that the server stores.

        Raises:
            DecodeError: another program changed it.
        """
        with decoding("the record of a step"):
            ended, token, attempt, duration, kind, outcome, size, rest = raw.split(b":", 7)
            name, data = rest[: int(size)], rest[int(size) :]
            return cls(
                kind.decode(),  # type: ignore[arg-type]
                name.decode(),
                outcome.decode(),  # type: ignore[arg-type]
                data,
                int(token),
                int(attempt),
                int(ended),
                int(duration),
            )

    def sent(self) -> bytes:
        """Return the record without its instant, which the server adds."""
        name = self.name.encode()
        facts = f"{self.token}:{self.attempt}:{self.duration_us}:{self.kind}:{self.outcome}"
        return f"{facts}:{len(name)}:".encode() + name + self.data

    @property
    def label(self) -> str:
        """Return the kind and the name."""
        return f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class BegunStep:
    """A sleep or a wait that has begun and not ended.

    Attributes:
        kind: `sleep` or `wait`.
        name: its name, with its number if the name is repeated.
        signal: the signal that a wait waits for.
        until_ms: when it ends at the latest (ms since 1970).
    """

    kind: Kind
    name: str
    signal: str
    until_ms: int = 0

    @classmethod
    def parsed(cls, kind: bytes, name: bytes, signal: bytes, until_ms: bytes) -> BegunStep:
        """Return the step in the reply of `read_steps.lua`."""
        return cls(kind.decode(), name.decode(), signal.decode(), int(until_ms))  # type: ignore[arg-type]

    @property
    def label(self) -> str:
        """Return the kind and the name."""
        return f"{self.kind} {self.name}"


def checked_name(name: Any, what: str) -> str:
    """Return the name of a step or a signal, or raise why it is not allowed."""
    if not isinstance(name, str):
        raise TypeError(f"{what} must be a str, got {type(name).__name__}")
    size = len(name.encode(errors="replace"))
    if not 1 <= size <= MOST_NAME_BYTES:
        raise ValueError(f"{what} takes 1 to {MOST_NAME_BYTES} bytes, got {size}")
    if not name.isprintable() or " " in name or "#" in name:
        raise ValueError(f"{what} holds no blanks, no control characters and no '#', got {name!r}")
    return name


def stored_signal(name: str, value: Any) -> bytes:
    """Return the value of a signal as it is stored.

    Raises:
        TypeError: it is no JSON.
        PayloadTooLarge: it is over the limit.
    """
    what = f"the value of signal {name!r}"
    data = encoded(JSON, value, what)
    if len(data) > MOST_SIGNAL_BYTES:
        raise PayloadTooLarge(what, len(data), MOST_SIGNAL_BYTES)
    return data
