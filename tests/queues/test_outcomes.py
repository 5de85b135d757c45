"""What becomes of a task that raised: outcomes by exception, groups, causes and limits."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from holdfast import GiveUp, Retry, RetryAfter, Snooze
from holdfast.queues.outcomes import Ending, ending_of

ONCE = Retry(attempts=1)
FIXED = Retry(attempts=3, delays=(7.0,))


def raised(error: BaseException, cause: BaseException | None = None) -> BaseException:
    """Return *error* as a task raises it, from *cause*."""
    error.__cause__ = cause
    return error


def group(*errors: BaseException) -> BaseException:
    """Return *errors* as an `asyncio.TaskGroup` raises them."""
    return BaseExceptionGroup("unhandled errors in a TaskGroup", errors)


def verb(error: BaseException, retry: Retry = FIXED, failures: int = 0) -> tuple[str, int]:
    ending = ending_of(error, retry, failures, 0)
    return ending.verb, ending.wait_ms


# One exception


def test_any_other_exception_is_a_failed_attempt() -> None:
    assert ending_of(ValueError("no"), FIXED, 0, 0) == Ending(
        "retry", "failed: ValueError: no", 7000
    )
    assert ending_of(ValueError("no"), FIXED, 2, 0) == Ending("dead", "failed: ValueError: no")


def test_giving_up_ends_the_task_at_once() -> None:
    ending = ending_of(GiveUp("no such address"), FIXED, 0, 0)
    assert ending == Ending("give_up", "gave-up: no such address")


def test_a_task_chooses_its_next_attempt() -> None:
    ending = ending_of(RetryAfter(30.0, "HTTP 429"), FIXED, 1, 0)
    assert ending == Ending("retry", "failed: RetryAfter: HTTP 429", 30_000)
    assert ending_of(RetryAfter(30.0), FIXED, 2, 0).verb == "dead"
    assert verb(RetryAfter(timedelta(minutes=1))) == ("retry", 60_000)
    assert verb(RetryAfter(0)) == ("retry", 0)
    assert verb(RetryAfter(7200.0), Retry(longest=1.0)) == ("retry", 7_200_000)


def test_a_snooze_is_no_failure() -> None:
    assert ending_of(Snooze(60, "busy"), ONCE, 0, 99) == Ending("snooze", "snoozed: busy", 60_000)
    assert ending_of(Snooze(60), ONCE, 0, 0).reason == "snoozed: it runs again in 60 s"


@pytest.mark.parametrize(("limit", "before"), [(0, 0), (3, 3), (100, 100)])
def test_a_task_snoozes_only_so_often(limit: int, before: int) -> None:
    ending = ending_of(Snooze(1, "busy"), Retry(snoozes=limit), 0, before)
    assert ending == Ending("dead", f"snoozed: the limit of {limit} is reached: busy")


@pytest.mark.parametrize("kind", [RetryAfter, Snooze])
@pytest.mark.parametrize(
    ("seconds", "error"),
    [(-1, ValueError), (float("nan"), ValueError), (1e9, ValueError), ("5", TypeError)],
)
def test_seconds_are_checked_where_they_are_raised(
    kind: Any, seconds: Any, error: type[Exception]
) -> None:
    with pytest.raises(error, match=kind.__name__):
        kind(seconds)


# Causes


def test_only_what_is_raised_counts_not_its_cause() -> None:
    assert verb(raised(ValueError("no"), GiveUp("never"))) == ("retry", 7000)
    assert verb(raised(ValueError("no"), Snooze(60))) == ("retry", 7000)
    assert verb(raised(GiveUp("never"), Snooze(60))) == ("give_up", 0)
    never = Retry(attempts=3, never=(KeyError,))
    assert ending_of(raised(ValueError("no"), KeyError("k")), never, 0, 0).verb == "retry"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (GiveUp(), "gave-up: OSError: refused"),
        (GiveUp("gone"), "gave-up: gone"),
        (RetryAfter(1), "failed: RetryAfter: OSError: refused"),
        (RetryAfter(1, "busy"), "failed: RetryAfter: busy"),
        (Snooze(1), "snoozed: OSError: refused"),
        (Snooze(1, "busy"), "snoozed: busy"),
    ],
)
def test_without_a_reason_the_cause_is_the_reason(error: BaseException, reason: str) -> None:
    assert ending_of(raised(error, OSError("refused")), FIXED, 0, 0).reason == reason


def test_without_reason_and_cause_the_reason_says_so() -> None:
    assert ending_of(GiveUp(), FIXED, 0, 0).reason == "gave-up: it gave no reason"


# Groups


def test_giving_up_is_stronger_than_anything_in_its_group() -> None:
    for errors in (
        [GiveUp("gone")],
        [ValueError("no"), GiveUp("gone")],
        [Snooze(1), RetryAfter(1), GiveUp("gone"), GiveUp("second")],
        [group(ValueError("no"), group(GiveUp("gone")))],
    ):
        assert ending_of(group(*errors), FIXED, 0, 0) == Ending("give_up", "gave-up: gone")


def test_a_group_snoozes_if_all_in_it_do() -> None:
    assert verb(group(Snooze(1), Snooze(60), group(Snooze(2)))) == ("snooze", 60_000)
    assert verb(group(Snooze(1), ValueError("no"))) == ("retry", 7000)
    assert verb(group(Snooze(60), ValueError("no"))) == ("retry", 60_000)
    assert verb(group(Snooze(60), RetryAfter(1))) == ("retry", 60_000)


def test_a_group_waits_for_the_longest_time_in_it() -> None:
    assert verb(group(RetryAfter(1), RetryAfter(2))) == ("retry", 2000)
    assert verb(group(RetryAfter(1), ValueError("no"))) == ("retry", 7000)
    assert verb(group(RetryAfter(60), ValueError("no"))) == ("retry", 60_000)
    assert verb(group(RetryAfter(60), ValueError("no")), failures=2) == ("dead", 0)


def test_the_reason_of_a_group_says_what_is_in_it() -> None:
    reason = ending_of(group(ValueError("no"), OSError("off")), FIXED, 0, 0).reason
    title = "failed: ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)"
    assert reason == f"{title}; ValueError: no; OSError: off"
    many = ending_of(group(*[ValueError("x" * 200) for _ in range(50)]), FIXED, 0, 0).reason
    assert len(many) == 500


# Which exceptions are retried


@pytest.mark.parametrize(
    ("error", "options", "retried"),
    [
        (OSError(), {"on": OSError}, True),
        (ConnectionError(), {"on": (OSError,)}, True),
        (ValueError(), {"on": [OSError]}, False),
        (ValueError(), {"on": (OSError, ValueError)}, True),
        (ValueError(), {"never": ValueError}, False),
        (UnicodeError(), {"never": (ValueError,)}, False),
        (OSError(), {"never": (ValueError,)}, True),
        (FileNotFoundError(), {"on": OSError, "never": FileNotFoundError}, False),
        (SystemExit(1), {"never": SystemExit}, False),
        (RetryAfter(1), {"on": OSError}, True),
        (group(OSError(), OSError()), {"on": OSError}, True),
        (group(OSError(), ValueError()), {"on": OSError}, False),
        (group(OSError(), ValueError()), {"on": ExceptionGroup}, True),
        (group(OSError(), RetryAfter(1)), {"on": OSError}, True),
        (group(OSError(), ValueError()), {"never": ValueError}, False),
        (group(group(OSError(), ValueError())), {"never": ValueError}, False),
        (group(OSError()), {"never": BaseExceptionGroup}, False),
        (group(OSError()), {"on": Exception}, True),
    ],
)
def test_only_some_exceptions_are_retried(
    error: BaseException, options: dict[str, Any], retried: bool
) -> None:
    ending = ending_of(error, Retry(attempts=2, **options), 0, 0)
    assert ending.verb == ("retry" if retried else "dead")
    assert ending.reason.startswith("failed: ")


@pytest.mark.parametrize("what", ["on", "never"])
@pytest.mark.parametrize("wrong", [[int], ("OSError",), OSError(), [None], 5])
def test_only_exception_classes_are_accepted(what: str, wrong: Any) -> None:
    with pytest.raises(TypeError, match=f"{what} takes exception classes"):
        Retry(**{what: wrong})


# Exceptions of other authors


class NoSuchAddress(GiveUp):
    def __init__(self, address: str) -> None:
        self.address = address


class Throttled(RetryAfter):
    def __init__(self) -> None:
        super().__init__(30.0)


class Unfinished(Snooze):
    def __init__(self) -> None:
        pass


class Hostile(Snooze):
    @property
    def seconds(self) -> float:  # type: ignore[override]
        raise KeyboardInterrupt

    @seconds.setter
    def seconds(self, value: float) -> None: ...


class Uncomparable(RetryAfter):
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise SystemExit


def test_a_subclass_counts_as_its_base() -> None:
    assert ending_of(NoSuchAddress("x@y"), FIXED, 0, 0) == Ending("give_up", "gave-up: x@y")
    assert verb(Throttled()) == ("retry", 30_000)


@pytest.mark.parametrize("error", [Unfinished(), Hostile(5)])
def test_an_outcome_without_readable_seconds_is_a_failure(error: BaseException) -> None:
    assert verb(error) == ("retry", 7000)
    assert verb(group(error)) == ("retry", 7000)


def test_an_exception_with_a_hostile_comparison_is_an_exception() -> None:
    assert verb(group(Uncomparable(1), Uncomparable(2), ValueError())) == ("retry", 7000)


# Delays


def test_explicit_delays_are_exact() -> None:
    retry = Retry(delays=(1, timedelta(seconds=5), 30.5))
    assert retry.attempts == 4
    assert [retry.wait_ms(n) for n in (1, 2, 3, 4)] == [1000, 5000, 30_500, None]


def test_the_last_delay_repeats() -> None:
    retry = Retry(attempts=6, delays=[1, 5])
    assert [retry.wait_ms(n) for n in (1, 2, 3, 4, 5, 6)] == [1000, 5000, 5000, 5000, 5000, None]
    assert [Retry(attempts=2, delays=[1, 5]).wait_ms(n) for n in (1, 2)] == [1000, None]


@pytest.mark.parametrize(
    ("delays", "error", "problem"),
    [
        ("123", TypeError, "sequence of seconds"),
        (5, TypeError, "sequence of seconds"),
        ([-1], ValueError, "0 seconds or more"),
        (["1"], TypeError, "must be seconds"),
        ([1] * 101, ValueError, "at most 100 delays, got 101"),
        ([1e9], ValueError, "over 30 years"),
    ],
)
def test_senseless_delays_are_refused(delays: Any, error: type[Exception], problem: str) -> None:
    with pytest.raises(error, match=problem):
        Retry(delays=delays)


def test_a_retry_is_a_value() -> None:
    assert Retry(on=OSError) == Retry(on=(OSError,)) != Retry()
    assert hash(Retry(delays=[1])) == hash(Retry(delays=(1.0,)))
    assert Retry() == Retry(5, 2.0, 3600.0)
