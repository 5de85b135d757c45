"""Which occurrences are enqueued after an outage."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast import Cron, Every, Once, TaskRegistry
from holdfast.queues.schedule.definition import Missed, ScheduleDefinition
from holdfast.queues.schedule.firing import LATE_MS, MAX_MISSED, MAX_PER_STEP, firing
from holdfast.queues.schedule.status import ScheduleRecord
from holdfast.queues.schedule.times import Timing

tasks = TaskRegistry()


@tasks.task()
def work() -> None:
    """Do nothing."""


def definition(timing: Timing, missed: Missed = "once") -> ScheduleDefinition:
    """Return the definition of a schedule."""
    return ScheduleDefinition.checked("s", work.call(), timing, missed=missed, overlap="allow")


NONE_DONE = ScheduleRecord()
DUE = 1_000_000_000


def handled(timing: Timing, missed: Missed, now_ms: int) -> tuple[list[int], int, int | None]:
    """Return what all steps enqueue until nothing is due: instants, how many are missed, next."""
    instants: list[int] = []
    lost, due = 0, DUE
    while due is not None and due <= now_ms:
        found = firing(definition(timing, missed), NONE_DONE, due, now_ms)
        assert len(found.instants_ms) <= MAX_PER_STEP
        assert found.next_ms is None or found.next_ms > found.last_ms >= due
        instants += found.instants_ms
        lost += found.missed
        due = found.next_ms  # type: ignore[assignment]
    return instants, lost, due


@given(
    interval=st.integers(1, 100),
    late=st.integers(0, 200_000),
    policy=st.sampled_from(["once", "skip", "all"]),
)
def test_each_occurrence_is_enqueued_or_missed(interval: int, late: int, policy: Missed) -> None:
    timing, now_ms = Every(interval, phase=0), DUE + late
    first = timing.next_after(DUE - 1)
    occurrences = [*range(DUE, now_ms + 1, interval * 1000)] if first == DUE else []
    if not occurrences:
        return
    instants, missed, due = handled(timing, policy, now_ms)
    assert len(instants) + missed == len(occurrences)
    assert due == occurrences[-1] + interval * 1000
    if policy == "all":
        assert instants == occurrences[-MAX_MISSED:]
    elif policy == "once" or now_ms - occurrences[-1] <= LATE_MS:
        assert instants == occurrences[-1:]
    else:
        assert instants == []


def test_a_week_of_seconds() -> None:
    week_ms = 7 * 86_400_000
    assert handled(Every(1, phase=0), "once", DUE + week_ms)[:2] == ([DUE + week_ms], 604_800)
    instants, missed, _ = handled(Every(1, phase=0), "all", DUE + week_ms)
    assert (len(instants), missed) == (MAX_MISSED, 604_801 - MAX_MISSED)
    assert instants[-1] == DUE + week_ms
    instants, missed, _ = handled(Cron("* * * * * *"), "once", DUE + week_ms)
    assert (instants, missed) == ([DUE + week_ms], 10_000)  # it counts no further
    instants, _, due = handled(Cron("* * * * * *"), "all", DUE + week_ms)
    assert len(instants) == MAX_MISSED
    assert (instants[-1], due) == (DUE + week_ms, DUE + week_ms + 1000)


@pytest.mark.parametrize(("policy", "count"), [("once", 1), ("all", 1), ("skip", 0)])
def test_one_instant_that_is_late(policy: Missed, count: int) -> None:
    instants, missed, due = handled(Once(DUE / 1000), policy, DUE + LATE_MS + 1)
    assert (len(instants), missed, due) == (count, 1 - count, None)


@pytest.mark.parametrize("policy", ["once", "all"])
@pytest.mark.parametrize("after_ms", [-5_000, 5_000, 50_000])
def test_a_change_to_one_instant_keeps_what_is_due(policy: Missed, after_ms: int) -> None:
    """An occurrence of the earlier definition is due; the new instant is before it or later."""
    at_ms, now_ms = DUE + after_ms, DUE + 20_000
    instants, missed, due = handled(Once(at_ms / 1000), policy, now_ms)
    assert due == (at_ms if at_ms > now_ms else None)
    is_due = DUE < at_ms <= now_ms
    expected = [DUE, at_ms] if is_due else [DUE]
    assert instants == (expected if policy == "all" else expected[-1:])
    assert missed == len(expected) - len(instants)
