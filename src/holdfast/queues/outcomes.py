"""Exceptions by which a task decides how its run ends, and the decision for every exception."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from ..core.clock import Duration, not_early_ms
from ..core.error_text import described, error_text, is_kind, leaves_of, type_name
from .retry import Retry, from_now_s
from .steps.interrupts import StepRefused

REASON_LIMIT: Final = 500
"""Characters of a reason that are stored; the log has the rest."""

_SHOWN_LEAVES: Final = 5


class GiveUp(Exception):
    """Raise it in a task that no further attempt can help: the task is dead-lettered at once.

    Args:
        reason: why; without one, the exception that it was raised from.
    """

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = reason


class RetryAfter(Exception):
    """Raise it in a task to choose when the next attempt starts. This attempt has failed.

    The task is dead-lettered if it has used up the attempts of its `Retry`.

    Args:
        seconds: until the next attempt, at the earliest (or a timedelta); instead of the backoff.
        reason: why; without one, the exception that it was raised from.
        scope: `task`; or `key`: until then, no task starts that has the same limit key (see
            `PerKey`), for example after an HTTP status 429. Running tasks continue. For a task
            without limits and without `fair_by`, it is the same as `task`.

    Raises:
        ValueError: *seconds* is negative, or over 30 years; or the *scope* is unknown.
    """

    def __init__(
        self, seconds: Duration, reason: str = "", *, scope: Literal["task", "key"] = "task"
    ) -> None:
        if scope not in ("task", "key"):
            raise ValueError(f"scope must be 'task' or 'key', got {scope!r}")
        wait_s = from_now_s(seconds, "RetryAfter")
        super().__init__(wait_s, reason)
        self.seconds: float = wait_s
        self.reason = reason
        self.scope = scope

    def __str__(self) -> str:
        return self.reason or f"the next attempt starts in {self.seconds:g} s"


class Snooze(Exception):
    """Raise it in a task that cannot work yet: it runs again later, and no attempt is counted.

    A task may do so as often as the `snoozes` of its `Retry`; then it is dead-lettered.

    Args:
        seconds: until it runs again, at the earliest (or a timedelta).
        reason: why; without one, the exception that it was raised from.

    Raises:
        ValueError: *seconds* is negative, or over 30 years.
    """

    def __init__(self, seconds: Duration, reason: str = "") -> None:
        wait_s = from_now_s(seconds, "Snooze")
        super().__init__(wait_s, reason)
        self.seconds: float = wait_s
        self.reason = reason

    def __str__(self) -> str:
        return self.reason or f"it runs again in {self.seconds:g} s"


@dataclass(frozen=True, slots=True)
class Ending:
    """How a task that raised an exception is settled.

    Attributes:
        verb: the verb of its settlement.
        reason: why; the first word names the kind.
        wait_ms: until it runs again.
        pause_ms: for how long no task with the same limit key starts; None: it is not paused.
    """

    verb: Literal["retry", "snooze", "dead", "give_up"]
    reason: str
    wait_ms: int = 0
    pause_ms: int | None = None


def ending_of(error: BaseException, retry: Retry, failures: int, snoozes: int) -> Ending:
    """Return how a task that raised *error* is settled.

    In an exception group, `GiveUp` is stronger than any other exception, and the others are
    stronger than `Snooze`. Causes and contexts of exceptions do not count.

    Args:
        error: what it raised.
        retry: the retry policy of the task.
        failures: earlier attempts that failed.
        snoozes: how often it has snoozed before.
    """
    leaves = leaves_of(error)
    for leaf in leaves:
        if is_kind(leaf, GiveUp):
            return Ending("give_up", reason_of("gave-up", _text(leaf)))
        if is_kind(leaf, StepRefused):
            return Ending("dead", reason_of("refused", str(leaf)))
    asked = [_seconds(leaf, Snooze) for leaf in leaves]
    if None not in asked:
        longest_s = max(seconds or 0.0 for seconds in asked)
        return _snoozed(_text(leaves[0]), longest_s, retry, snoozes)
    return _failed(error, leaves, retry, failures)


def reason_of(kind: str, text: str) -> str:
    """Return a reason as it is stored: short, and valid UTF-8."""
    reason = f"{kind}: {text}"[:REASON_LIMIT].encode(errors="backslashreplace").decode()
    return reason[:REASON_LIMIT]


def _snoozed(text: str, seconds: float, retry: Retry, snoozes: int) -> Ending:
    if snoozes < retry.snoozes:
        return Ending("snooze", reason_of("snoozed", text), not_early_ms(seconds))
    return Ending(
        "dead", reason_of("snoozed", f"the limit of {retry.snoozes:,} is reached: {text}")
    )


def _failed(
    error: BaseException, leaves: Sequence[BaseException], retry: Retry, failures: int
) -> Ending:
    asked = [_seconds(leaf, RetryAfter, Snooze) for leaf in leaves]
    others = [leaf for leaf, seconds in zip(leaves, asked, strict=True) if seconds is None]
    reason = reason_of("failed", _described(error, leaves))
    wait_ms = retry.wait_ms(failures + 1)
    pause_ms = _pause_ms(leaves)
    if wait_ms is None or (others and not retry.covers(error, others)):
        return Ending("dead", reason, pause_ms=pause_ms)
    asked_ms = max(not_early_ms(seconds or 0.0) for seconds in asked)
    return Ending("retry", reason, max(asked_ms, wait_ms if others else 0), pause_ms)


def _pause_ms(leaves: Sequence[BaseException]) -> int | None:
    """Return for how long the limit key is paused; None if no exception asks for it."""
    asked = [_seconds(leaf, RetryAfter) for leaf in leaves if getattr(leaf, "scope", None) == "key"]
    found = [not_early_ms(seconds) for seconds in asked if seconds is not None]
    return max(found, default=None)


def _seconds(error: BaseException, *kinds: type[BaseException]) -> float | None:
    """Return the seconds that *error* asks for; None if it is of no such kind, or unreadable."""
    if not any(is_kind(error, kind) for kind in kinds):
        return None
    try:
        return from_now_s(error.seconds, "seconds")  # type: ignore[attr-defined]
    except BaseException:  # noqa: BLE001 (a subclass may do anything)
        return None


def _text(error: BaseException) -> str:
    """Return the reason that the task gave; without one, what it raised the exception from."""
    with contextlib.suppress(BaseException):  # a subclass may do anything
        if not error.reason and error.__cause__ is not None:  # type: ignore[attr-defined]
            return described(error.__cause__, REASON_LIMIT)
    return error_text(error, REASON_LIMIT) or "it gave no reason"


def _described(error: BaseException, leaves: Sequence[BaseException]) -> str:
    """Return the text of a failure; for an exception group, with the texts of its first *leaves*.

    The message of a group does not name the exceptions in it.
    """
    if leaves[0] is error:
        return _line(error)
    return "; ".join([_line(error), *map(_line, leaves[:_SHOWN_LEAVES])])


def _line(error: BaseException) -> str:
    if is_kind(error, RetryAfter) or is_kind(error, Snooze):
        return f"{type_name(type(error))}: {_text(error)}"
    return described(error, REASON_LIMIT)
