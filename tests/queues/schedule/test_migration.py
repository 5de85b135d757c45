"""The page about moving from other schedulers is right: the same fields, the same instants."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from holdfast import Cron

PAGE = Path(__file__).parents[3] / "docs" / "schedules.md"

Fields = dict[str, set[int]]

CASES: dict[str, Fields] = {
    "0 3 * * *": {"second": {0}, "minute": {0}, "hour": {3}},
    "* 3 * * *": {"second": {0}, "hour": {3}},
    "0 3 13 * *": {"second": {0}, "minute": {0}, "hour": {3}, "day": {13}},
    "0 9,12 * * *": {"second": {0}, "minute": {0}, "hour": {9, 12}},
    "0 9 * * MON": {"second": {0}, "minute": {0}, "hour": {9}, "weekday": {0}},
    "0,30 * * * * *": {"second": {0, 30}},
}
"""What Celery and arq call it: all fields must match, and a field that is not named matches."""

BEGIN = datetime(2026, 11, 1, tzinfo=UTC)


def is_due(at: datetime, fields: Fields) -> bool:
    """Return whether a crontab of Celery, or a cron job of arq, runs at this second."""
    parts = {name: getattr(at, name) for name in ("second", "minute", "hour", "day")}
    parts["weekday"] = at.weekday()
    return all(parts[name] in allowed for name, allowed in fields.items())


def seconds(count: int, step: int = 1) -> list[datetime]:
    """Return some instants after the beginning."""
    return [BEGIN + timedelta(seconds=n) for n in range(step, count * step + 1, step)]


@pytest.mark.parametrize("expression", CASES)
def test_the_same_fields_give_the_same_instants(expression: str) -> None:
    fields, cron = CASES[expression], Cron(expression)
    step = 1 if len(expression.split()) == 6 else 60
    within = seconds(16 * 86_400 // step if step > 1 else 600, step)
    expected = [at for at in within if is_due(at, fields)]
    found, at_ms = [], int(BEGIN.timestamp() * 1000)
    while (next_ms := cron.next_after(at_ms)) is not None:
        at = datetime.fromtimestamp(next_ms / 1000, UTC)
        if at > within[-1]:
            break
        found.append(at)
        at_ms = next_ms
    assert found == expected
    assert found


def test_every_expression_of_the_page_is_here() -> None:
    _, section = PAGE.read_text().split("## How do I move from another scheduler?")
    assert {*re.findall(r'Cron\("([^"]+)"', section)} == {*CASES}
