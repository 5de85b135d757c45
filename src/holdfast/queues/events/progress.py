"""How far a task has come, as the task itself reports it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

import msgspec

from ...core.clock import MAX_MS, from_epoch_ms
from ...core.codec import JSON, decoded
from ...errors import DecodeError, PayloadTooLarge

MESSAGE_BYTES: Final = 1000
"""Largest size of the message of a progress, in UTF-8."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a task has come, as it last reported it with `current_task().progress`.

    Attributes:
        done: how much is done, in the unit of the task: pages, bytes, percent.
        total: how much there is to do; None: not known.
        message: what the task does now, for people to read.
        at: when the server stored it; None if it is part of an event, which has its own instant.
    """

    done: float
    total: float | None = None
    message: str = ""
    at: datetime | None = None

    @property
    def fraction(self) -> float | None:
        """Return the part that is done, from 0 to 1; None if the total is not known."""
        if self.total is None:
            return None
        return self.done / self.total if self.total else 1.0


def packed_progress(done: float, total: float | None, message: str) -> bytes:
    """Return a progress as JSON.

    Raises:
        TypeError: an argument is of the wrong type.
        ValueError: a number is negative, infinite or NaN, or *done* is more than *total*.
        PayloadTooLarge: *message* takes more than `MESSAGE_BYTES`.
    """
    facts: dict[str, Any] = {"done": _checked(done, "done")}
    if total is not None:
        facts["total"] = _checked(total, "total")
        if done > total:
            raise ValueError(f"done must be at most the total, {total!r}, got {done!r}")
    if not isinstance(message, str):
        raise TypeError(f"message must be a str, got {type(message).__name__}")
    if message:
        size = len(message.encode(errors="replace"))
        if size > MESSAGE_BYTES:
            raise PayloadTooLarge("the message of a progress", size, MESSAGE_BYTES)
        facts["message"] = message
    try:
        return msgspec.json.encode(facts)
    except ValueError as error:  # the message is no valid Unicode, or an int is too large
        raise ValueError(f"a progress cannot be stored: {error}") from None


def latest_progress(entry: bytes) -> Progress | None:
    """Return the progress in an entry of the key `progress`; None if there is none.

    Raises:
        ValueError: another program changed the entry.
    """
    if not entry:
        return None
    _, _, stored = entry.split(b":", 2)
    if not stored:
        return None
    at_ms, _, data = stored.partition(b":")
    found: Progress = decoded(JSON, data, Progress, "the progress of a task")
    at = int(at_ms)
    return replace(found, at=from_epoch_ms(at) if 0 < at < MAX_MS else None)


def progress_in(data: Any) -> Progress | None:
    """Return the progress in the *data* of an event; None if another program has changed it."""
    try:
        return msgspec.convert(data, Progress)
    except (msgspec.ValidationError, DecodeError):
        return None


def _shown(value: float) -> str:
    """Return *value* for an error; a large int would take thousands of digits."""
    return repr(value) if isinstance(value, float) or abs(value) < 1 << 64 else "a huge int"


def _is_finite(value: float) -> bool:
    """Return whether *value* is finite, and no int over the largest float."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _checked(value: Any, what: str) -> float:
    """Return *value* if it is a finite number, 0 or more. Do not convert an int to a float."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{what} must be a number, got {type(value).__name__}")
    if value < 0 or not _is_finite(value):
        raise ValueError(f"{what} must be 0 or more and finite, got {_shown(value)}")
    return value
