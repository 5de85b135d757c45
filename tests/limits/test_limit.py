"""The value `Limit`, without a server."""

from datetime import timedelta
from typing import Any

import pytest

from holdfast import Limit
from holdfast.limits.limit import checked_limits


def test_a_limit_has_an_amount_and_a_window() -> None:
    limit = Limit(90_000, per=timedelta(minutes=1), name="tokens")
    assert (limit.amount, limit.per, limit.per_ms, limit.key) == (90_000, 60.0, 60_000, "tokens")
    assert limit == Limit(90_000, 60, "tokens")
    assert {limit} == {Limit(90_000, 60.0, "tokens")}
    assert Limit(1, per=0.5).key == "requests"
    with pytest.raises(AttributeError):
        limit.amount = 2  # type: ignore[misc]


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((0, 1), ValueError, "amount must be 1 to"),
        ((10**12 + 1, 1), ValueError, "amount must be 1 to"),
        ((1.5, 1), TypeError, "amount must be an int"),
        ((True, 1), TypeError, "amount must be an int"),
        ((1, 0), ValueError, "per must be longer"),
        ((1, -1), ValueError, "per must be 0"),
        ((1, "60"), TypeError, "per must be seconds"),
        ((1, 367 * 86_400), ValueError, "at most 366 days"),
        ((1, 1, ""), ValueError, "the name of a limit"),
        ((1, 1, "a b"), ValueError, "the name of a limit"),
        ((1, 1, "a" * 33), ValueError, "the name of a limit"),
        ((1, 1, 7), TypeError, "the name of a limit"),
    ],
)
def test_a_wrong_limit_is_refused(
    arguments: tuple[Any, ...], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        Limit(*arguments)


@pytest.mark.parametrize(
    ("limits", "error"),
    [
        ([], ValueError),
        ([Limit(n, 1, f"n{n}") for n in range(1, 10)], ValueError),
        ([Limit(1, 1), Limit(2, 1)], ValueError),
        ([Limit(1, 1), Limit(2, 1, "requests")], ValueError),
        ([60], TypeError),
    ],
)
def test_limits_that_do_not_fit_together_are_refused(
    limits: list[Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        checked_limits(limits)
