"""The check of the events of a report, which the demo makes at its end."""

from datetime import UTC, datetime
from typing import Any, cast

import pytest

from holdfast import Gap, TaskEvent
from holdfast_demo.reports import PAGES, Followed, misread

WHOLE = list(range(1, PAGES + 1))


def followed(pages: list[int]) -> Followed:
    """Return a report with these pages, of one attempt."""
    report = Followed("report", cast(Any, None))
    for number, page in enumerate(pages, 1):
        event = TaskEvent(number, "event", {"page": page}, datetime.now(UTC), 1)
        report.seen.append(event)
    return report


@pytest.mark.parametrize("before", [[], [1], [1, 2, 3], WHOLE, [1, 2, 1]])
def test_runs_that_were_given_back_are_no_fault(before: list[int]) -> None:
    assert list(misread(followed([*before, *WHOLE]))) == []


@pytest.mark.parametrize(
    "pages",
    [
        pytest.param([1, 2, 2, *WHOLE[2:]], id="twice"),
        pytest.param([1, 3, 2, *WHOLE[3:]], id="not in order"),
        pytest.param([*WHOLE[:4], *WHOLE[5:]], id="one is missing"),
        pytest.param(WHOLE[:-1], id="the last is missing"),
        pytest.param([*WHOLE, 1, 2], id="a run after the last"),
        pytest.param([], id="none"),
    ],
)
def test_pages_that_are_missing_or_come_twice_are_found(pages: list[int]) -> None:
    assert list(misread(followed(pages)))


def test_a_gap_and_wrong_numbers_are_found() -> None:
    report = followed(WHOLE)
    report.seen.insert(3, Gap(4, 4, "dropped"))
    assert list(misread(report)) == ["report had gaps"]
    del report.seen[3:5]
    assert f"the numbers of report are not 1 to {PAGES - 1}" in list(misread(report))
